"""Rows divided into folds: each is tested once, groups stay together, classes are in proportion."""

from __future__ import annotations

import numpy as np
import pytest

from gsina.graphs.folds import Fold, fold_parts
from gsina.graphs.labels import Labels, read_labels
from gsina.graphs.splits import finish


def labels(cells: list[str], kind: str = "classification") -> Labels:
    return read_labels({"y": cells}, range(len(cells)), kind=kind)


def every(given: Labels, of: int, groups: list[str] | None = None) -> list[dict]:
    return [fold_parts(Fold(number, of), given, 0, groups) for number in range(of)]


def assert_each_row_is_tested_once(parts: list[dict], rows: int) -> None:
    assert np.sort(np.concatenate([one["test"] for one in parts])).tolist() == list(range(rows))
    for one in parts:
        assert np.sort(np.concatenate(list(one.values()))).tolist() == list(range(rows))
        assert len(one["train"])


def test_random_folds_have_every_class_in_proportion():
    given = labels(["a"] * 20 + ["b"] * 10 + ["c"] * 7)
    parts = every(given, 5)
    assert_each_row_is_tested_once(parts, 37)
    assert sorted(len(one["test"]) for one in parts) == [7, 7, 7, 8, 8]
    for one in parts:
        counts = np.bincount(given.y[one["test"]], minlength=3)
        assert counts[0] == 4
        assert counts[1] == 2
        assert counts[2] in (1, 2)
        assert set(given.y[one["val"]].tolist()) == {0, 1, 2}


def test_groups_are_on_one_side_of_every_fold():
    groups = [f"group {number}" for number in range(9) for _ in range(number + 1)]
    parts = every(labels(["a", "b"] * 22 + ["a"]), 3, groups)
    assert_each_row_is_tested_once(parts, 45)
    for one in parts:
        sides = [{groups[row] for row in rows} for rows in one.values()]
        assert sum(map(len, sides)) == 9
        assert 14 <= len(one["test"]) <= 16
        assert 0 < len(one["val"]) < len(one["train"])


def test_of_two_groups_validation_is_drawn_from_the_other():
    groups = ["one"] * 10 + ["two"] * 10
    given = labels(["a", "b"] * 10)
    parts = fold_parts(Fold(0, 2), given, 0, groups)
    assert len(parts["val"]) == 0
    split = finish(parts, given, rule="column", fold=Fold(0, 2))
    assert {"train", "val", "test"} <= split.parts.keys()
    assert split.source["fold"] == [0, 2]
    assert "drawn at random" in " ".join(split.warnings)


def test_a_fold_that_leaves_one_class_to_train_on_is_refused():
    given = labels(["a"] * 10 + ["b"] * 10)
    parts = fold_parts(Fold(0, 2), given, 0, ["one"] * 10 + ["two"] * 10)
    with pytest.raises(ValueError, match=r"fold 1 of 2 by 'column' cannot be used: .* 'b' only"):
        finish(parts, given, rule="column", fold=Fold(0, 2))


@pytest.mark.parametrize("rule", ["size", "time", "own"])
def test_rules_with_one_test_have_no_folds(rule):
    assert Fold.check(None, rule) is None
    with pytest.raises(ValueError, match=f"{rule!r} says which rows are the test"):
        Fold.check([0, 5], rule)


def test_numbers_that_are_no_fold():
    assert Fold.check([4, 5], "random") == Fold(4, 5)
    for wrong in ([5, 5], [0, 1], [-1, 3], [1], [0, 1, 2]):
        with pytest.raises(ValueError, match="a fold is two numbers"):
            Fold.check(wrong, "random")
    with pytest.raises(ValueError, match="3 rows cannot be divided into 5 folds"):
        fold_parts(Fold(0, 5), labels(["a", "b", "a"]), 0)
    with pytest.raises(ValueError, match="2 groups cannot be divided into 3 folds"):
        fold_parts(Fold(0, 3), labels(["a", "b"] * 3), 0, ["x", "y"] * 3)


def test_numbers_are_divided_too():
    parts = every(labels([str(0.5 * row) for row in range(11)], "regression"), 4)
    assert_each_row_is_tested_once(parts, 11)
