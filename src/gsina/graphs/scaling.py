"""Features without units: mean 0 and standard deviation 1 over the training rows.

A scaling is plain JSON, so that it can be kept with a model: ``{"node": {"mean": [F], "scale":
[F]}}``, and ``"edge"`` likewise where edges have features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gsina.graphs.packed import PackedGraphs

Scaling = Mapping[str, Mapping[str, list[float]]]
#: Whose features are in which tensor of the graphs.
TENSORS = {"node": "x", "edge": "edge_attr"}


def find_scaling(graphs: PackedGraphs) -> dict[str, dict[str, list[float]]]:
    """Mean and scale of all features of the training graphs; at node level of masked nodes only.

    The features of edges are those of all edges of the graphs.
    """
    found = {}
    for what, name in TENSORS.items():
        values = getattr(graphs, name)
        if values is not None and what == "node" and graphs.mask is not None:
            values = values[graphs.mask]
        if values is not None and values.numel():
            found[what] = _find(values.double())
    return found


def apply_scaling(scaling: Scaling, *graphs: PackedGraphs) -> list[PackedGraphs]:
    """The graphs with features without units; what they share is made once and shared again."""
    made: dict[int, Tensor] = {}

    def apply(values: Tensor, moments: Mapping[str, list[float]]) -> Tensor:
        if id(values) not in made:
            mean, scale = (torch.tensor(moments[k], dtype=torch.double) for k in ("mean", "scale"))
            mean, scale = mean.to(values.device), scale.to(values.device)
            made[id(values)] = ((values.double() - mean) / scale).float()
        return made[id(values)]

    changed = []
    for one in graphs:
        changes: dict[str, Any] = {
            name: apply(getattr(one, name), scaling[what])
            for what, name in TENSORS.items()
            if what in scaling and getattr(one, name) is not None
        }
        changed.append(replace(one, **changes) if changes else one)
    return changed


def _find(values: Tensor) -> dict[str, list[float]]:
    mean, scale = values.mean(dim=0), values.std(dim=0, unbiased=False)
    constant = values.amin(dim=0) == values.amax(dim=0)
    # A constant becomes 1 rather than 0: sums of it over neighbours still count them.
    ones = values[0] - (values[0] != 0).double()
    return {
        "mean": torch.where(constant, ones, mean).tolist(),
        "scale": torch.where(constant, torch.ones_like(scale), scale).tolist(),
    }
