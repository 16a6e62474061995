"""Columns of numbers with gaps, and of categories, as features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gsina.errors import InputError
from gsina.formats.encoding import MOST_CATEGORIES, Encoding, Encodings, FeatureColumns

TABLE = Path("t.csv")


def columns(*blocks: list[list[str]], names: str = "ab", **more: object) -> FeatureColumns:
    found = FeatureColumns(list(names), TABLE, "fill it in", **more)  # type: ignore[arg-type]
    row = 2
    for block in blocks:
        found.add(block, list(range(row, row + len(block))))
        row += len(block)
    return found


def test_blocks_are_one_table() -> None:
    found = columns([["x", "1"], ["y", "NA"]], [["x", "3"], ["5", ""]])
    how = found.find(np.arange(3))
    assert how == [Encoding("a", ["x"]), Encoding("b", mean=2.0, gaps=True)]
    assert found.encode(how).tolist() == [[1, 0, 1, 0], [0, 1, 2, 1], [1, 0, 3, 0], [0, 1, 2, 1]]


def test_the_first_block_decides_what_a_column_is() -> None:
    with pytest.raises(InputError, match=r"row 4 of t\.csv: the feature 'b' is 'old', expected a"):
        columns([["x", "1"], ["y", "2"]], [["x", "old"]])


def test_what_a_model_keeps_is_json() -> None:
    found = columns([["x", "1"], ["x", ""]])
    how = Encodings(tuple(found.find(np.arange(2))), (Encoding("w"),))
    assert Encodings.of_json(json.loads(json.dumps(how.json()))) == how
    assert Encodings.of_json(None) is None
    scaling = {"node": {"mean": [5.0] * 4, "scale": [7.0] * 4}, "edge": {"mean": [1], "scale": [2]}}
    assert how.without_marks(scaling) == {
        "node": {"mean": [0, 0, 5, 0], "scale": [1, 1, 7, 1]},
        "edge": {"mean": [1], "scale": [2]},
    }


def test_new_rows_are_read_as_those_of_training() -> None:
    how = [Encoding("a", ["1"]), Encoding("b", mean=4.0)]
    found = columns([["1", ""], ["2", "5"]], known=how)
    assert found.encode(how).tolist() == [[1, 0, 4], [0, 1, 5]]
    assert found.notes(how) == (
        "empty cells of t.csv count as the training mean: b (1).",
        "categories of t.csv that are rare or not in the training rows are taken together: a (1 "
        "rows).",
    )
    with pytest.raises(InputError, match="the feature 'b' is empty, expected a number; fill it in"):
        columns([["1", ""]], known=how, strict=True)


def test_free_text_is_left_out_unless_it_is_asked_for() -> None:
    rows = [[f"t{i}", str(i)] for i in range(3 * MOST_CATEGORIES)]
    found = columns(rows)
    assert found.drop_free_text(asked=False) == {"a": 300}
    assert found.names == ["b"]
    assert found.encode(found.find(np.arange(3))).shape == (300, 1)
    with pytest.raises(InputError, match=r"'a' of t\.csv has 300 different texts in 300 rows"):
        columns(rows).drop_free_text(asked=True)
