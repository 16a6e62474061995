"""The pages of results: a short one per benchmark, its finding first."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.report.pages import (
    ELSEWHERE,
    FURTHER,
    PAGES,
    RUNTIME,
    all_tables,
    list_text,
    page_text,
    read_findings,
    tables_shown,
    write_pages,
)
from gsina.paper.tables import TABLES

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    return tables_shown(Results(ROOT / "results"))


def test_every_table_has_its_place() -> None:
    placed = [name for page in PAGES for name in page.tables]
    assert sorted([*placed, *ELSEWHERE]) == sorted([*TABLES, RUNTIME])


def test_the_pages_are_what_the_result_files_say(shown: dict[str, str]) -> None:
    """Otherwise: gsina report --out docs/results.md."""
    findings = read_findings(DOCS / "results")
    assert (DOCS / "results.md").read_text(encoding="utf-8") == list_text(shown, findings)
    written = [page for page in PAGES if any(name in shown for name in page.tables)]
    assert {page.name for page in written} == {one.stem for one in (DOCS / "results").glob("*.md")}
    for page in written:
        text = (DOCS / "results" / f"{page.name}.md").read_text(encoding="utf-8")
        assert text == page_text(page, shown, findings[page.name])


def test_every_finding_begins_with_one_claim() -> None:
    for name, text in read_findings(DOCS / "results").items():
        claim = text.split("\n\n")[0]
        assert claim.startswith("**"), name
        assert claim.count("**") == 2, name
    for name in FURTHER:
        assert (DOCS / f"{name}.md").exists()


def test_without_runs_the_list_says_what_is_missing(tmp_path: Path) -> None:
    assert "share with other tables: `gsat`" in all_tables(Results(tmp_path))
    path = tmp_path / "page.md"
    assert write_pages(path, Results(tmp_path)) == [path]
    assert "share with other tables: `gsat`" in path.read_text(encoding="utf-8")


def test_a_finding_stands_before_the_tables_and_in_the_list() -> None:
    page, shown = PAGES[0], {"gsat": "## A table\n", "draws": "## Another\n"}
    text = page_text(page, shown, "**GSINA wins.** Often.\n\n* By [much](../much.md).\n")
    order = [text.index(part) for part in (page.title, "GSINA wins", "## A table", "## Another")]
    assert order == sorted(order)
    listed = list_text(shown, {page.name: "**GSINA [wins](../much.md).** Often.\n\n* By much.\n"})
    row = f"| [{page.title}](results/{page.name}.md) | GSINA [wins](much.md). Often. |"
    assert row in listed
    assert PAGES[1].title not in listed
