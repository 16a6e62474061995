"""Bad input gets one sentence that says what was got and what was expected."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch

from gsina import soft_top_r

SCORES = torch.tensor([0.1, -0.4, 2.0, 1.0])
INDEX = torch.tensor([0, 0, 1, 1])


@pytest.mark.parametrize("solver", ["exact", "sinkhorn"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scores": torch.tensor([0.0, math.nan, 1.0, math.inf])},
            "scores must be finite, got nan at position 1 (2 such values in all).",
        ),
        (
            {"scores": torch.tensor([0.0, 1.0, -math.inf, 1.0])},
            "scores must be finite, got -inf at position 2 (1 such values in all).",
        ),
        (
            {"scores": torch.tensor([0.0, 3e30, 0.0, 1.0]), "temperature": 2},
            "scores must be at most 1e+09 times the temperature 2, got 3e+30; scale",
        ),
        (
            {"scores": torch.tensor([0.0, 1.0, 2.0, 1.0]), "temperature": 1e-30},
            "scores must be at most 1e+09 times the temperature 1e-30, got 2; scale",
        ),
        (
            {"scores": torch.zeros(2, 2)},
            "scores must be a floating-point tensor of shape [N], got torch.float32",
        ),
        (
            {"scores": torch.zeros(4, dtype=torch.long)},
            "scores must be a floating-point tensor of shape [N], got torch.int64 of shape [4].",
        ),
        ({"ratio": 0}, "ratio must lie in (0, 1], got 0.0."),
        ({"ratio": -0.5}, "ratio must lie in (0, 1], got -0.5."),
        ({"ratio": 1.01}, "ratio must lie in (0, 1], got 1.01."),
        ({"ratio": math.nan}, "ratio must lie in (0, 1], got nan."),
        ({"ratio": torch.tensor([0.5, 2.0])}, "ratio must lie in (0, 1], got 2.0."),
        (
            {"ratio": torch.tensor([0.5, 0.5, 0.5])},
            "ratio must be a number or one per group, that is shape [2], got shape [3].",
        ),
        (
            {"ratio": torch.full((2, 1), 0.5)},
            "ratio must be a number or one per group, that is shape [2], got shape [2, 1].",
        ),
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0."),
        ({"temperature": -1}, "temperature must be above 0, got -1.0."),
        ({"temperature": math.nan}, "temperature must be above 0, got nan."),
        ({"temperature": torch.tensor(-2.0)}, "temperature must be above 0, got -2.0."),
        ({"temperature": torch.ones(2)}, "temperature must be one number, got shape [2]."),
        (
            {"index": torch.tensor([0, 1])},
            "index must be int64 of the scores' shape [4], got torch.int64 of shape [2].",
        ),
        (
            {"index": INDEX.int()},
            "index must be int64 of the scores' shape [4], got torch.int32 of shape [4].",
        ),
        (
            {"index": torch.tensor([0, -1, 1, 1])},
            "index must be at least 0 and below the number of groups, 2, got values from -1 to 1.",
        ),
        (
            {"index": torch.tensor([0, 0, 1, 2]), "num_groups": 2},
            "index must be at least 0 and below the number of groups, 2, got values from 0 to 2.",
        ),
        (
            {"index": torch.full((4,), -3)},
            "index must be at least 0 and below the number of groups, 0, got values from -3 to -3.",
        ),
        (
            {"index": INDEX, "num_groups": 0},
            "index must be at least 0 and below the number of groups, 0, got values from 0 to 1.",
        ),
        (
            {"index": None, "num_groups": 2},
            "without an index there is 1 group, got num_groups=2.",
        ),
        ({"num_groups": -1}, "num_groups must be a whole number, 0 or more, got -1."),
        ({"num_groups": 2.0}, "num_groups must be a whole number, 0 or more, got 2.0."),
        ({"ratio": "a"}, "ratio must be a number or a tensor, got 'a'."),
        ({"ratio": None}, "ratio must be a number or a tensor, got None."),
        ({"temperature": [1.0]}, "temperature must be a number or a tensor, got [1.0]."),
    ],
)
def test_one_sentence(change: dict[str, Any], message: str, solver: str) -> None:
    arguments = {"scores": SCORES, "ratio": 0.5, "index": INDEX} | change
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        soft_top_r(**arguments, solver=solver)
    text = str(raised.value)
    assert "\n" not in text
    assert text.endswith(".")


def test_unknown_solver() -> None:
    with pytest.raises(ValueError, match=r"sinkhorn"):
        soft_top_r(SCORES, 0.5, solver="sinkhom")  # type: ignore[call-overload]


def test_no_sweeps() -> None:
    with pytest.raises(ValueError, match=r"sinkhorn needs at least 1 iteration, got 0\."):
        soft_top_r(SCORES, 0.5, solver="sinkhorn", iterations=0)


def test_errors_reach_code_that_records_gradients() -> None:
    scores = torch.tensor([0.0, math.nan], requires_grad=True)
    with pytest.raises(ValueError, match="got nan at position 1"):
        soft_top_r(2 * scores, 0.5)


def test_ids_instead_of_group_numbers_are_refused_before_they_fill_the_memory():
    with pytest.raises(ValueError, match=r"index goes up to 1000000001 for 2 scores"):
        soft_top_r(torch.zeros(2), 0.5, torch.tensor([10**9, 10**9 + 1]))


@pytest.mark.parametrize("scores", [[1.0, 2.0], "ab"])
def test_other_things_than_tensors_are_named(scores):
    with pytest.raises(ValueError, match="scores must be a torch tensor, got a"):
        soft_top_r(scores, 0.5)
