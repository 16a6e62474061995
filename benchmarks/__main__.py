"""Run benchmarks, print a Markdown report, and keep the numbers as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import benchmarks
from benchmarks.report import Report, markdown, speed_page
from benchmarks.timing import threads
from gsina.ops.memory import reuse_memory
from gsina.runs.provenance import commit, hardware
from gsina.training.versions import versions

FOLDER = Path(__file__).parent.parent / "results" / "bench"


def names() -> list[str]:
    """The modules of this package that have a function ``run``."""
    found = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    return [name for name in found if name != "__main__" and hasattr(_load(name), "run")]


def save(name: str, report: Report, quick: bool, folder: Path) -> Path:
    """Write ``folder/name.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    with threads():
        machine = hardware()
    content = {
        "benchmark": name,
        "quick": quick,
        **asdict(report),
        "claims": [asdict(claim) | {"holds": claim.holds} for claim in report.claims],
        "versions": versions(),
        "hardware": machine,
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


def main() -> None:
    available = names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(available)}; all if none")
    quick = "fewer rounds and smaller sizes, under three minutes in all; not kept"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the JSON files")
    page = "write the page of what is kept in --out, such as docs/speed.md, and measure nothing"
    parser.add_argument("--page", type=Path, help=page)
    options = parser.parse_args()
    if options.page:
        options.page.write_text(speed_page(options.out), encoding="utf-8")
        return
    unknown = set(options.names) - set(available)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {available}")
    reuse_memory()  # as the command does
    missed: list[str] = []
    for name in options.names or available:
        with threads():
            report = _load(name).run(options.quick)
        print(markdown(name, report))
        if options.quick and options.out == FOLDER:
            print("A quick run is not kept; give --out to keep it elsewhere.\n", flush=True)
        else:
            print(f"Kept in {save(name, report, options.quick, options.out)}\n", flush=True)
        missed += [claim.text for claim in report.claims if not claim.holds]
    if missed and not options.quick:
        raise SystemExit(f"missed: {'; '.join(missed)}")


def _load(name: str):  # type: ignore[no-untyped-def]
    return importlib.import_module(f"benchmarks.{name}")


if __name__ == "__main__":
    main()
