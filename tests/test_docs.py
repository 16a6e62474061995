"""Links of the documentation lead somewhere, and its numbers come from files."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.report.leaderboard import collect, leaderboard_page
from gsina.paper.report.properties import properties_page, rows_of
from gsina.paper.report.results_page import results_page

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not link.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / link).exists(), link


def test_every_page_is_in_the_reading_order() -> None:
    """With a line that says what the reader will know."""
    folder = ROOT / "docs"
    listed = re.findall(r"^\| \[[^]]+\]\(([^)]+)\) \|", (folder / "README.md").read_text(), re.M)
    pages = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted({*pages, "examples/README.md"})


def test_the_files_that_contributors_are_told_of_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.]+/[\w.]+\.(?:py|c|js|json|md))`|`(\w+\.py)`", text)
    for name in {first or second for first, second in named}:
        base = ROOT if name.startswith(("tests/", "docs/", "results/")) else ROOT / "src" / "gsina"
        short = "/" not in name  # a file that the sentence before has named in full
        if "yours" not in name:
            assert list(base.rglob(name)) if short else (base / name).exists(), name


def test_the_results_page_is_what_the_result_files_say() -> None:
    findings = (ROOT / "docs" / "results.findings.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == results_page(Results(ROOT / "results"), findings)


def test_the_leaderboard_is_what_the_result_files_say() -> None:
    results = Results(ROOT / "results")
    findings = ROOT / "docs" / "leaderboard.findings.md"
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    assert page == leaderboard_page(collect(results), results, text)


def test_the_page_of_speed_is_what_the_benchmarks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.report import speed_page

    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert page == speed_page(ROOT / "results" / "bench")


def test_the_table_of_attacks_is_what_was_tried() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "reliability.py"), run_name="reliability")
    page = made["PAGE"].read_text(encoding="utf-8")
    result = json.loads(made["RESULT"].read_text())
    assert made["BEGIN"] in page
    assert page == made["with_table"](page, result)
    assert made["table"](result | {"seed": result["seed"] + 1}) not in page
    assert all(one["tried"] == one["survived"] for one in result["families"])


def test_the_page_of_properties_is_what_its_numbers_say() -> None:
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    numbers = json.loads((ROOT / "results" / "separability.json").read_text())["runs"]
    assert page == properties_page(rows_of(numbers))
