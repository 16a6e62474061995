"""The page of what decides: its questions are about rows that exist."""

from __future__ import annotations

from pathlib import Path

from gsina.paper.grid.results import Results
from gsina.paper.report.what_decides import (
    QUESTIONS,
    count_parameters,
    equal,
    what_decides_page,
    write_what_decides,
)
from gsina.paper.tables import make_table

ROOT = Path(__file__).parents[3]
RECIPES = {cell.row: cell.recipe for cell in make_table("factors").cells}


def test_questions_are_about_rows_of_the_study() -> None:
    for question in QUESTIONS:
        for pair in question.pairs:
            assert {*pair} <= RECIPES.keys(), pair


def test_what_rows_have_in_common() -> None:
    def same(row: str, against: str) -> str:
        return equal(row, against, RECIPES)

    plain = "plain network, depth 4, max"
    assert same(plain, "plain network, depth 4, sum") == "depth and parameters"
    assert same(plain, "plain network, depth 6, max") == ""
    assert same("GSINA, raw, r 0.5, depth 4, max", plain) == "depth"
    assert count_parameters(RECIPES["plain network, depth 2, sum"]) == 25_859


def test_selection_is_compared_at_equal_depth_and_once_at_equal_parameters() -> None:
    (selection,) = [one for one in QUESTIONS if "selection" in one.text]
    found = [equal(*pair, RECIPES) for pair in selection.pairs]
    assert all("depth" in one for one in found)
    assert "depth and parameters" in found


def test_an_empty_folder_gives_a_page_that_says_so(tmp_path: Path) -> None:
    page = what_decides_page(Results(tmp_path))
    assert page.count("Not run yet.") == len(QUESTIONS)
    (tmp_path / "page.findings.md").write_text("Depth decides.\n")
    write_what_decides(tmp_path / "page.md", Results(tmp_path))
    assert (tmp_path / "page.md").read_text().startswith("# What decides\n\nDepth decides.\n")


def test_the_page_is_what_the_result_files_say() -> None:
    findings = (ROOT / "docs" / "what-decides.findings.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "what-decides.md").read_text(encoding="utf-8")
    assert page == what_decides_page(Results(ROOT / "results"), findings)
