from __future__ import annotations

import pytest

from gsina.graphs.cells import is_missing, number, plain


@pytest.mark.parametrize("text", ["1_000", "nan", "inf", "x", "", "0x1f"])
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None


def test_what_a_cell_means() -> None:
    assert number(" 1e0") == 1
    assert plain(1.0) == plain(1e0) == "1"
    assert plain(0.1 + 0.2) == "0.3"
    assert is_missing(" N/A ")
    assert not is_missing("0")
