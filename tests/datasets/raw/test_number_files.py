from __future__ import annotations

import numpy as np
import pytest

from gsina.datasets.raw.number_files import read_column, read_table


def test_commas_and_blanks() -> None:
    assert read_table(b"1, 2\n3,4\n", "f").tolist() == [[1, 2], [3, 4]]
    assert read_table(b"1 2\n3  4", "f", delimiter=None).tolist() == [[1, 2], [3, 4]]
    assert read_table(b"0.5,-1e3\n", "f", np.float32).tolist() == [[0.5, -1000.0]]


def test_one_line_stays_a_table() -> None:
    assert read_table(b"7\n", "f").shape == (1, 1)
    assert read_column(b"7\n", "f").tolist() == [7]


@pytest.mark.parametrize("text", [b"", b"  \n", b"1, 2\n3\n", b"1, x\n", b"1.5, 2\n"])
def test_bad_text_names_the_file(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"folder/file\.txt"):
        read_table(text, "folder/file.txt")


def test_column_checks_width_and_rows() -> None:
    with pytest.raises(ValueError, match=r"f\.txt has 2 numbers per line"):
        read_column(b"1 2\n", "f.txt")
    with pytest.raises(ValueError, match=r"f\.txt has 2 lines .* ask for 3"):
        read_column(b"1\n2\n", "f.txt", rows=3)
