"""Post-hoc explanations of a trained model: GNNExplainer, PGExplainer and GraphMask.

The algorithms are those of ``torch_geometric.explain``; each file beside this one says what it
changes. They explain what the model itself predicts, right or wrong, and see no ground truth.
"""

from __future__ import annotations

import json
from dataclasses import fields

import torch
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.explainers.frozen import Explainer, FrozenModel, OnProgress
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.explainers.graphmask import GraphMask
from gsina.explainers.pg_explainer import PGExplainer
from gsina.graphs.packed import PackedGraphs
from gsina.methods.base import Method
from gsina.ops.host import kept_generators

__all__ = ["EXPLAINERS", "Explainer", "explain_split", "make_explainer", "sample_graphs"]

#: The post-hoc explainers, by name.
EXPLAINERS: dict[str, type[Explainer]] = {
    "gnnexplainer": GNNExplainer,
    "pgexplainer": PGExplainer,
    "graphmask": GraphMask,
}


def make_explainer(explainer: str | Explainer) -> Explainer:
    """An explainer by name, with the settings of its paper, or as it is given.

    A name may be followed by numbers that differ: ``"gnnexplainer,steps=500,learning_rate=0.1"``.
    """
    if not isinstance(explainer, str):
        return explainer
    name, *settings = explainer.split(",")
    kind = EXPLAINERS[check_name(name, EXPLAINERS, "explainer")]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    values = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        values[check_name(key, known, f"setting of {name}")] = json.loads(value)
    return kind(**values)


def sample_graphs(graphs: PackedGraphs, limit: int | None, seed: int = 0) -> PackedGraphs:
    """``limit`` graphs drawn without replacement, in their order; all if there are no more."""
    if limit is None or limit >= len(graphs):
        return graphs
    if limit < 1:
        raise InputError(f"limit must be at least 1, or None for all graphs; got {limit}.")
    drawn = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed))
    return graphs[drawn[:limit].sort().values]


def explain_split(
    method: Method,
    graphs: PackedGraphs,
    explainer: str | Explainer,
    *,
    train: PackedGraphs | None = None,
    limit: int | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
) -> Tensor:
    """Score every edge of a split by its share in what a trained model predicts.

    Args:
        method: The trained model; it is not changed.
        graphs: The graphs to explain. Their labels and truth are not used.
        explainer: ``gnnexplainer``, ``pgexplainer`` or ``graphmask``, or one of these classes with
            settings: ``GNNExplainer(steps=500, learning_rate=0.1)``.
        train: Graphs that ``pgexplainer`` and ``graphmask`` are trained on.
        limit: Explain only that many graphs: those of ``sample_graphs(graphs, limit, seed)``.
        seed: Seeds the sample, the masks and the explainer's training; nothing else is touched.
        progress: Called with the steps done and in all.

    Returns:
        Scores ``[E]`` in [0, 1], in the order of the edges of ``graphs`` (of the sample, if there
        is a ``limit``). The two directions of an undirected edge share the mean of their scores.

    Raises:
        InputError: The explainer is unknown or needs ``train``.
    """
    chosen = sample_graphs(graphs, limit, seed)
    if len(chosen) == 0:
        raise InputError("got a split without graphs, expected at least one to explain.")
    model = FrozenModel(method)
    with kept_generators(model.device):
        torch.manual_seed(seed)
        scores = make_explainer(explainer).explain(model, chosen, train, progress)
    if chosen.reverse is None:
        return scores
    start = chosen.edge_ptr[:-1].repeat_interleave(chosen.edge_ptr.diff())
    return (scores + scores[chosen.reverse + start]) / 2
