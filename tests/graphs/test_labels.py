from __future__ import annotations

import math

import pytest
import torch

from gsina.errors import InputError
from gsina.graphs.labels import TargetKind, read_labels
from gsina.graphs.task import Task

ROWS = range(2, 100)


def labels(cells: str, kind: TargetKind = "auto"):  # type: ignore[no-untyped-def]
    values = cells.split(" ")
    return read_labels({"t": values}, ROWS[: len(values)], kind=kind)


def test_two_values_are_binary() -> None:
    found = labels("0 1.0 1 0.0  nan NA ?")
    assert found.task == Task("binary", 1, "roc_auc")
    assert found.class_names == ("0", "1")
    assert found.y[:4, 0].tolist() == [0, 1, 1, 0]
    assert found.y[4:].isnan().all()
    assert found.warnings == ("4 of 8 rows have no label and do not count.",)
    assert found.strata[:, 0].tolist() == [0, 1, 1, 0, -1, -1, -1, -1]


def test_text_is_mapped_in_sorted_order_and_said() -> None:
    found = labels("toxic safe toxic ?")
    assert found.class_names == ("safe", "toxic")
    assert found.y[:3, 0].tolist() == [1, 0, 1]
    assert "'safe' = 0, 'toxic' = 1" in found.warnings[0]


def test_more_values_are_multiclass_in_the_order_of_numbers() -> None:
    found = labels("10 9 2 10 9 2 ?", "classification")
    assert found.task == Task("multiclass", 3, "accuracy")
    assert found.class_names == ("2", "9", "10")
    assert found.y.tolist() == [2, 1, 0, 2, 1, 0, -1]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("0 1 0", "binary"),
        ("3 7 7", "binary"),
        ("0 1 2 0 1 2", "multiclass"),
        ("1 2 3 4 5", "regression"),  # every number once
        ("0.5 1 0", "regression"),
        ("1e3 2.5 nan", "regression"),
        ("a b c a b c", "multiclass"),
        (" ".join(map(str, [*range(21), *range(21)])), "regression"),
    ],
)
def test_the_automatic_choice(cells: str, kind: str) -> None:
    assert labels(cells).task.kind == kind


def test_guessed_classes_are_said() -> None:
    assert (
        '(in Python kind="regression") if they are quantities' in labels("0 1 2 0 1 2").warnings[0]
    )
    assert labels("0 1 2 0 1 2", "classification").warnings == ()


def test_regression_keeps_numbers_and_gaps() -> None:
    found = labels("1 2.5 ? -3e2", "regression")
    assert found.task == Task("regression", 1, "rmse")
    assert found.class_names == ()
    assert torch.allclose(found.y, torch.tensor([[1], [2.5], [math.nan], [-300]]), equal_nan=True)


def test_many_targets() -> None:
    found = read_labels({"a": ["0", "1", ""], "b": ["no", "yes", "yes"]}, ROWS[:3])
    assert found.task == Task("binary", 2, "roc_auc")
    assert (found.target_names, found.class_names) == (("a", "b"), ())
    assert found.y.nan_to_num(-1).tolist() == [[0, 0], [1, 1], [-1, 1]]
    numbers = read_labels({"a": ["0", "1", ""], "b": ["0.1", "2", "3"]}, ROWS[:3])
    assert numbers.task == Task("regression", 2, "scaled_rmse")


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        (
            {"t": ["1", "2.5", "high"]},
            "regression",
            "row 4: target 't' is 'high'; expected a number",
        ),
        ({"t": ["1", "inf", "2"]}, "regression", "row 3: target 't' is 'inf'"),
        ({"t": ["1", "2", "1e300"]}, "regression", "row 4: target 't' is 1e300, which is too"),
        ({"t": ["", "nan", "?"]}, "auto", "target 't' is missing in all 3 rows"),
        ({"t": ["1", "1", ""]}, "auto", "one class only, '1', in all 2 labelled rows"),
        ({"t": list("abc"), "u": list("010")}, "auto", "'t' has 3 different values; expected two"),
        ({"t": [f"m{i}" for i in range(30)]}, "auto", "'t' has 30 different values in 30 rows"),
        ({}, "auto", "got no target"),
        ({"t": ["0"]}, "regresion", "did you mean 'regression'"),
    ],
)
def test_bad_targets(cells: dict[str, list[str]], kind: TargetKind, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_labels(cells, ROWS[: len(next(iter(cells.values()), []))], kind=kind)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("5.1 <1646 12.5 7", "row 3: target 'y' is '<1646', expected a number .* it is a bound"),
        ("1,5 2,7 3,1 2,7", "row 2: target 'y' is '1,5', expected a number .* a decimal comma"),
        ("a b inf b", "row 4: target 'y' is 'inf', which is no finite number; correct"),
        ("1 0 1e400 1", "row 4: target 'y' is '1e400', which is no finite number"),
    ],
)
def test_what_is_neither_a_number_nor_a_class(cells: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels({"y": cells.split()}, range(2, 6))


def test_bounds_alone_are_classes() -> None:
    assert read_labels({"y": ["<10", ">20", "<10"]}, range(3)).class_names == ("<10", ">20")
    found = read_labels({"y": ["1,5", "2,5", "1,5"]}, range(3), kind="classification")
    assert found.class_names == ("1,5", "2,5")
    with pytest.raises(InputError, match=r"expected a number for regression, .*; it is a bound"):
        read_labels({"y": ["1", "<2", "3"]}, range(3), kind="regression")
