"""Features without units: mean 0 and standard deviation 1 over the training rows.

A scaling is plain JSON, so that it can be kept with a model: ``{"node": {"mean": [F], "scale":
[F]}}``, and ``"edge"`` and ``"graph"`` likewise where edges or graphs have features. Categories,
which are integers, have no units.

Features of whole graphs may be missing, or larger than all others by orders of magnitude, as
descriptors of molecules are. Their mean and scale are those of the values between the first and the
last hundredth; ``"clip"`` limits what comes out, and a missing value becomes the mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from gsina.graphs.fields import GraphFields
from gsina.graphs.packed import PackedGraphs

#: Packed graphs, or a batch.
Graphs = TypeVar("Graphs", bound=GraphFields)
Scaling = Mapping[str, Mapping[str, list[float]]]
#: Whose features are in which tensor of the graphs.
TENSORS = {"node": "x", "edge": "edge_attr", "graph": "graph_attr"}
#: Standard deviations from the mean that a feature of a whole graph has at most.
CLIP = 10.0
#: The values that mean and scale of features of whole graphs look at.
QUANTILES = (0.01, 0.99)


def find_scaling(graphs: PackedGraphs) -> dict[str, dict[str, list[float]]]:
    """Mean and scale of all features of the training graphs; at node level of masked nodes only.

    The features of edges are those of all edges of the graphs.
    """
    found = {}
    for what, name in TENSORS.items():
        values = getattr(graphs, name)
        if values is not None and what == "node" and graphs.mask is not None:
            values = values[graphs.mask]
        if values is not None and values.numel() and values.is_floating_point():
            found[what] = (_find_robust if what == "graph" else _find)(values.double())
    return found


def apply_scaling(scaling: Scaling, *graphs: Graphs) -> list[Graphs]:
    """The graphs with features without units; what they share is made once and shared again."""
    made: dict[int, Tensor] = {}

    def apply(values: Tensor, moments: Mapping[str, list[float]]) -> Tensor:
        if id(values) not in made:
            mean, scale = (torch.tensor(moments[k], dtype=torch.double) for k in ("mean", "scale"))
            mean, scale = mean.to(values.device), scale.to(values.device)
            scaled = (values.double() - mean).div_(scale)
            if "clip" in moments:
                (limit,) = moments["clip"]
                scaled.nan_to_num_(0, limit, -limit).clamp_(-limit, limit)
            made[id(values)] = scaled.float()
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


def _find_robust(values: Tensor) -> dict[str, list[float]]:
    """Mean and scale of columns with gaps and outliers; columns of 0 and 1 stay as they are."""
    numbers = torch.where(values.isfinite(), values, torch.nan).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a number
        low, high = np.nanquantile(numbers, QUANTILES, axis=0)
        rare = low == high  # nearly constant: the few other values decide
        usual = np.asarray(np.where(rare, numbers, np.clip(numbers, low, high)))
        mean, scale = np.nanmean(usual, axis=0), np.nanstd(usual, axis=0)
    plain = (np.isin(numbers, (0, 1)) | np.isnan(numbers)).all(axis=0)
    mean[plain], scale[plain | (scale == 0)] = 0, 1
    return {"mean": mean.tolist(), "scale": scale.tolist(), "clip": [CLIP]}
