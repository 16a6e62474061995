"""Labels of files and of Python become the same tensors, and come back."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gsina.errors import InputError
from gsina.graphs.classes import Classes, Numbers, as_array, missing, only
from gsina.graphs.task import Task


def test_two_classes_are_one_output_and_more_are_several() -> None:
    two = Classes.of(as_array(["b", "a", None], 3, "graphs"))
    assert (two.names, two.task) == (("a", "b"), Task("binary", 1, "roc_auc"))
    assert two.encode(np.array(["b", "a"])).tolist() == [[1], [0]]
    three = Classes.of(np.array([7.0, 3.0, math.nan, 9.0]), "node")
    assert (three.names, three.task) == ((3, 7, 9), Task("multiclass", 3, "accuracy", "node"))
    assert three.encode(np.array([9, math.nan, 3])).tolist() == [2, -1, 0]


def test_a_multiclass_task_of_two_classes_stays_one() -> None:
    classes = Classes((0, 1), Task("multiclass", 2))
    assert classes.encode(classes.read(["1.0", "?", "0"])).tolist() == [1, -1, 0]


@pytest.mark.parametrize("names", [("no", "yes"), (3, 7, 9), (("a", 1), 4.5, None.__class__)])
def test_labels_come_back(names: tuple[object, ...]) -> None:
    classes = Classes.named(names)
    labels = np.empty(len(names) + 1, dtype=object)
    labels[:] = [*names, None]
    codes = classes.encode(labels)
    assert classes.decode(codes.flatten()).tolist() == [*names, None]
    assert classes.decode(codes[:-1].flatten()).tolist() == list(names)


def test_cells_are_read_by_text_and_by_number() -> None:
    assert Classes.named((2, 10)).read(["10.0", "2", "3", "", "x"]).tolist() == [10, 2, *[None] * 3]
    assert Classes.named(("1.0", "a")).read(["1.0", "1", "a"]).tolist() == ["1.0", None, "a"]


def test_several_targets() -> None:
    values = np.array([[0, 1], [math.nan, math.nan], [1, math.nan]])
    assert Classes.of(values).task == Task("binary", 2, "roc_auc")
    assert missing(values).tolist() == [False, True, False]
    assert missing(only(values, np.array([False, True, True]))).tolist() == [True, True, False]


def test_numbers() -> None:
    values = as_array([1, None, 2.5], 3, "graphs")
    numbers = Numbers.of(values)
    assert numbers.task == Task("regression", 1, "rmse")
    assert numbers.encode(values).nan_to_num(-1).tolist() == [[1], [-1], [2.5]]
    assert torch.equal(numbers.encode(numbers.read(["1", "2.50"])), torch.tensor([[1], [2.5]]))
    assert np.isnan(numbers.read(["?", "x"])).all()


def test_a_label_that_no_file_can_hold_is_refused_before_training() -> None:
    with pytest.raises(InputError, match=r"label 'a.ud800' has half of a character"):
        Classes.of(np.array(["a\ud800", "b"]))
