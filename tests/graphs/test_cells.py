from __future__ import annotations

import pytest

from gsina.graphs.cells import inert, is_infinite, is_missing, not_a_number, number, plain


@pytest.mark.parametrize("text", ["1_000", "nan", "inf", "x", "", "0x1f"])
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None


def test_what_a_cell_means() -> None:
    assert number(" 1e0") == 1
    assert plain(1.0) == plain(1e0) == "1"
    assert plain(0.1 + 0.2) == "0.3"
    assert is_missing(" N/A ")
    assert not is_missing("0")


def test_what_only_a_person_reads_as_a_number() -> None:
    for text in ("1,5", "-0,25", "1.234,5", " 3,2e-4"):
        assert "decimal comma" in not_a_number(text), text
    for text in ("<1646", "> 3.5", "<=2", "~7", "≥0,1"):
        assert "a bound" in not_a_number(text), text
    for text in ("", "1.5", "a,b", "<b>", "1,", "<", "2024-01-31"):
        assert not_a_number(text) == "", text


def test_infinity_has_many_names() -> None:
    assert all(map(is_infinite, ("inf", "-Infinity", "1e400")))
    assert not any(map(is_infinite, ("1e300", "nan", "information", "")))


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", " =1"])
def test_formulas_become_text(cell: str) -> None:
    assert inert(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "-1.5", "+3", "1e-5", "C=O", "[O-]", "a@b", "-1e-07", "-inf"])
def test_other_cells_stay(cell: str) -> None:
    assert inert(cell) == cell
