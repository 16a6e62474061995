"""The table of docs/reliability.md from results/attack.json: ``python -m docs.reliability``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE, RESULT = ROOT / "docs" / "reliability.md", ROOT / "results" / "attack.json"
BEGIN, END = "<!-- from results/attack.json -->", "<!-- end -->"


def table(result: dict[str, Any]) -> str:
    """What was tried and what survived, family by family, and under which conditions."""
    lines = ["| attack | promise | tried | survived | seconds |", "|---|---:|---:|---:|---:|"]
    for one in result["families"]:
        counts = f"{one['tried']:,} | {one['survived']:,} | {one['seconds']:,.0f}"
        if one.get("skipped"):
            counts = f"not tried: {one['skipped']} | | "
        lines.append(f"| {one['family']} | {one['promise']} | {counts} |")
    tried, survived, seconds = (
        sum(one[name] for one in result["families"]) for name in ("tried", "survived", "seconds")
    )
    lines.append(f"| **all** | | **{tried:,}** | **{survived:,}** | {seconds:,.0f} |")
    made, day = result["hardware"], result["finished"][:10]
    lines.append("")
    lines.append(
        f"Seed {result['seed']}, {day}, commit {result['commit'][:10] or 'unknown'}, one core of "
        f"{made['cpu']}, torch {result['versions']['torch']}."
    )
    return "\n".join(lines)


def with_table(page: str, result: dict[str, Any]) -> str:
    """The page with a fresh table."""
    return re.sub(
        rf"{re.escape(BEGIN)}.*{re.escape(END)}",
        lambda _: f"{BEGIN}\n\n{table(result)}\n\n{END}",
        page,
        flags=re.S,
    )


def main() -> None:
    """Write the table into the page."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
