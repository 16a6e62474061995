from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsina.graphs.labels import Labels, read_labels
from gsina.graphs.split_rules import Parts, at_random, by_groups, by_marks, by_order, times
from gsina.graphs.splits import check_rule, finish


def labels(cells: str | list[str], kind: str = "classification") -> Labels:
    return read_labels({"t": list(cells)}, range(2, len(cells) + 2), kind=kind)  # type: ignore[arg-type]


def sizes(parts: Parts) -> dict[str, int]:
    return {name: len(ids) for name, ids in parts.items()}


def whole(parts: Parts, count: int) -> bool:
    ids = np.concatenate(list(parts.values()))
    return sorted(ids.tolist()) == list(range(count))


def test_the_smallest_groups_are_held_out() -> None:
    parts = by_groups(list("aaaaaaaabc"))
    assert parts is not None
    assert {name: ids.tolist() for name, ids in parts.items()} == {
        "train": [0, 1, 2, 3, 4, 5, 6, 7],
        "test": [8],
        "val": [9],
    }


@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=60))
def test_no_group_is_on_two_sides(groups: list[str]) -> None:
    parts = by_groups(groups)
    if len(set(groups)) == 1:
        assert parts is None
        return
    assert parts is not None
    assert whole(parts, len(groups))
    assert len(parts["train"])
    assert len(parts["test"])
    sides = [{groups[i] for i in ids} for ids in parts.values()]
    assert sum(map(len, sides)) == len(set(groups))


def test_an_order_is_cut_between_different_keys() -> None:
    parts = by_order(np.array([1.0, 1, 1, 1, 1, 1, 1, 2, 2, 3]))
    assert sizes(parts) == {"train": 7, "val": 2, "test": 1}
    assert sizes(by_order(np.ones(10))) == {"train": 8, "val": 1, "test": 1}
    assert parts["test"].tolist() == [9]


@given(st.lists(st.integers(0, 6), min_size=3, max_size=40))
def test_an_order_never_leaves_a_side_empty(keys: list[int]) -> None:
    values = np.array(keys, dtype=np.float64)
    parts = by_order(values)
    assert whole(parts, len(keys))
    assert all(len(ids) for ids in parts.values())
    assert values[parts["train"]].max() <= values[parts["val"]].min()
    assert values[parts["val"]].max() <= values[parts["test"]].min()


def test_random_has_every_class_on_every_side() -> None:
    found = labels("a" * 30 + "b" * 4)
    parts = at_random(found, 0)
    assert whole(parts, 34)
    for ids in parts.values():
        assert set(found.strata[ids, 0]) == {0, 1}
    again, other = at_random(found, 0), at_random(found, 1)
    assert all((parts[name] == again[name]).all() for name in parts)
    assert any(parts[name].tolist() != other[name].tolist() for name in parts)


def test_own_words_and_an_unknown_one() -> None:
    parts = by_marks(["Train", "valid", " test ", "id_test"], range(2, 6), "fold")
    assert {name: ids.tolist() for name, ids in parts.items()} == {
        "train": [0],
        "val": [1],
        "test": [2],
        "id_test": [3],
    }
    with pytest.raises(ValueError, match="row 3: column 'fold' is 'holdout'; expected train"):
        by_marks(["train", "holdout"], range(2, 4), "fold")
    with pytest.raises(ValueError, match="marks no row as test"):
        by_marks(["train", "val"], range(2, 4), "fold")


def test_times_are_numbers_or_dates() -> None:
    assert times(["3", "1.5"], (2, 3), "t").tolist() == [3, 1.5]
    dates = ["2024-02-01", "2023-12-31T23:00:00Z", "2024-01"]
    assert times(dates, range(3), "t").argsort().tolist() == [1, 2, 0]
    for dates in (
        ["31.01.2024", "1.2.2024", "30.12.2023 23:00"],
        ["01/31/2024", "02/01/2024", "12/30/2023"],
        ["31/01/2024", "01/02/2024", "30/12/2023"],
        ["2024/01/31", "2024/02/01", "2023/12/30"],
        ["31 Jan 2024", "1 Feb 2024", "30 Dec 2023"],
        ["Jan 31, 2024", "Feb 1, 2024", "Dec 30, 2023"],
    ):
        assert times(dates, range(3), "t").argsort().tolist() == [2, 0, 1], dates
    assert times(["01/01/2024", "01/01/2023"], (2, 3), "t").argsort().tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"d\.csv: column 't' .* either way round; write them as"):
        times(["01/02/2024", "03/04/2024"], (2, 3), "t", "d.csv")
    with pytest.raises(ValueError, match="row 3: column 't' is 'soon'; expected a date"):
        times(["31.01.2024", "soon"], (2, 3), "t")
    with pytest.raises(ValueError, match="row 3: column 't' is '31/12/2024'; expected a date"):
        times(["2024-01-01", "31/12/2024"], (2, 3), "t")
    with pytest.raises(ValueError, match="row 3: column 't' is ''; expected a number"):
        times(["1", ""], (2, 3), "t")


def test_id_test_comes_from_the_training_side() -> None:
    found = labels("ab" * 50)
    raw = by_groups([f"g{i // 10}" for i in range(100)])
    assert raw is not None
    split = finish(raw, found, rule="scaffold")
    assert sizes(split.parts) == {"train": 72, "test": 10, "val": 10, "id_test": 8}
    assert whole(split.parts, 100)
    assert set(split.parts["id_test"]) <= set(raw["train"])
    assert len(split.warnings) == 1
    assert split.source["used"] == "scaffold"
    assert split.source["sizes"] == sizes(split.parts)
    assert "id_test" not in finish(at_random(found, 0), found, rule="random").parts


def test_a_split_with_few_labels_of_a_class_is_told() -> None:
    found = labels("ab" * 50)
    raw = by_groups([f"g{i // 10}" for i in range(100)])
    assert finish(raw, found, rule="scaffold").warnings == (
        "fewer than 6 labels of a class are too few to judge by, so scores there are mostly "
        "chance: val has 5 of class 'a', test has 5 of class 'a'.",
    )
    raw = by_groups([f"g{i // 20}" for i in range(200)])
    assert finish(raw, labels("ab" * 100), rule="scaffold").warnings == ()
    numbers = labels([f"{i / 7}" for i in range(20)], "regression")
    (note,) = finish(at_random(numbers, 0), numbers, rule="random").warnings
    assert note.startswith("fewer than 6 labels are too few")
    assert note.endswith("val has 2, test has 2.")


def test_of_several_targets_those_with_few_labels_are_named() -> None:
    cells = {"even": list("01" * 100), "odd": ["1", *"0" * 49] * 4}
    several = read_labels(cells, range(200), kind="classification")
    raw = by_groups([f"g{i // 20}" for i in range(200)])
    notes = finish(raw, several, rule="scaffold").warnings
    assert "test in 1 of 2 targets (odd)" in " ".join(notes)


def test_validation_without_a_class_is_drawn_anew() -> None:
    found = labels("ab" * 8 + "aaaa")
    raw = by_order(np.arange(20.0))
    split = finish(raw, found, rule="time")
    assert set(found.strata[split.parts["val"], 0]) == {0, 1}
    assert split.parts["test"].tolist() == raw["test"].tolist()
    assert (
        "leaves validation without class 'b', so validation is drawn at random" in split.warnings[0]
    )
    assert "the split test has no row of class 'b'" in split.warnings[1]
    assert whole(split.parts, 20)


def test_ones_own_validation_is_kept_while_it_can_judge() -> None:
    order = by_order(np.arange(20.0), (0.6, 0.2))
    most = labels("abc" * 4 + "abab" + "abca")
    assert finish(order, most, rule="own").parts["val"].tolist() == [12, 13, 14, 15]
    assert finish(order, most, rule="time").parts["val"].tolist() != [12, 13, 14, 15]
    one = labels("abc" * 4 + "aaaa" + "abca")
    assert finish(order, one, rule="own").parts["val"].tolist() != [12, 13, 14, 15]


def test_training_with_one_class_falls_back_to_random() -> None:
    found = labels("a" * 18 + "bb")
    split = finish(by_order(np.arange(20.0)), found, rule="size")
    assert "could not be made (the training side has class 'a' only)" in split.warnings[0]
    assert split.source["used"] == "random"
    assert set(found.strata[split.parts["train"], 0]) == {0, 1}
    with pytest.raises(ValueError, match="the split 'own' cannot be used"):
        finish(by_order(np.arange(20.0)), found, rule="own")


def test_one_scaffold_falls_back_to_random() -> None:
    split = finish(by_groups(["x"] * 10), labels("ab" * 5), rule="scaffold")
    assert "it has one group only" in split.warnings[0]
    assert set(split.parts) == {"train", "val", "test"}


def test_two_groups_give_validation_from_training() -> None:
    split = finish(by_groups(["x"] * 10 + ["y"] * 5), labels("ab" * 7 + "a"), rule="column")
    assert split.parts["test"].tolist() == [10, 11, 12, 13, 14]
    assert len(split.parts["val"]) == 2
    assert "without a labelled row" in split.warnings[0]


def test_many_targets_need_one_with_two_classes_in_validation() -> None:
    cells = {"a": list("01" * 10), "b": list("1" * 9 + "0" + "1" * 10)}
    found = read_labels(cells, range(20))
    split = finish(by_order(np.arange(20.0)), found, rule="time")
    assert not [text for text in split.warnings if "drawn at random" in text]
    assert "the split val has one class only in 1 of 2 targets (b)" in " ".join(split.warnings)


def test_numbers_and_few_rows() -> None:
    numbers = labels(["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"], "regression")
    split = finish(by_order(np.arange(6.0)), numbers, rule="time")
    assert {"train", "val", "test"} <= set(split.parts)
    assert all(len(ids) for ids in split.parts.values())
    with pytest.raises(ValueError, match="2 rows are too few to split"):
        finish(None, labels("ab"), rule="random")


@pytest.mark.parametrize(
    ("rule", "column", "message"),
    [
        ("scafold", None, "did you mean 'scaffold'"),
        ("time", None, "'time' needs a column"),
        ("random", "year", "does not use the column 'year'"),
    ],
)
def test_rules_and_columns_fit(rule: str, column: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_rule(rule, column)
