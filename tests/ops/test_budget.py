"""`Budget`: shares and numbers of edges, and what is neither."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from gsina.methods import make_config
from gsina.ops import Budget


def test_a_share_is_one_number_for_all() -> None:
    budget = Budget.of(ratio=0.3)
    assert budget == Budget(share=0.3)
    assert budget.ratios(torch.ones(4)) == 0.3
    assert (str(budget), budget.symbol) == ("30 % of the edges", "r = 0.3")


def test_a_number_of_edges_is_a_share_of_every_group() -> None:
    budget = Budget.of(ratio=0.5, budget=8)
    assert budget == Budget(count=8)
    found = budget.ratios(torch.tensor([16.0, 0.0, 8.0, 3.0, 1.0], dtype=torch.float64))
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [0.5, 1, 1, 1, 1]
    assert (str(budget), budget.symbol) == ("8 edges", "8 edges")
    assert [str(Budget(count=count)) for count in (1, 2.5)] == ["1 edge", "2.5 edges"]


def test_what_a_method_keeps() -> None:
    kept = {name: Budget.of_settings(make_config(name, {})) for name in ("gsina", "dir", "gsat")}
    assert kept == {"gsina": Budget(share=0.5), "dir": Budget(share=0.25), "gsat": None}
    assert Budget.of_settings(make_config("gsina", {"budget": 4})) == Budget(count=4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "share None and count None; give one of the two"),
        ({"share": 0.5, "count": 8}, "got share 0.5 and count 8; give one of the two"),
        *(({"share": bad}, rf"ratio must lie in \(0, 1\], got {bad}") for bad in (0, -1, 2)),
        ({"share": 1e-300}, "ratio must be at least 1e-12, got 1e-300"),
        ({"share": math.nan}, r"ratio must lie in \(0, 1\], got nan"),
        *(({"count": bad}, f"number of edges above 0, got {bad}") for bad in (0, -3)),
        *(({"count": bad}, f"above 0, got {bad}") for bad in (math.nan, math.inf)),
    ],
)
def test_bad_values(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Budget(**values)
