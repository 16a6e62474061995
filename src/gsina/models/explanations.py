"""Explanations of a model's answers, one PyG object per graph."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import k_hop_subgraph

from gsina.errors import InputError
from gsina.explainers.explanation import Explanation
from gsina.explainers.frozen import Explainer
from gsina.explainers.weights import Weighed, cut_off, weigh
from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling
from gsina.methods.base import Method
from gsina.methods.trees import WithTrees
from gsina.nn.neighbours import NeighbourSum
from gsina.ops.budget import Budget
from gsina.training.evaluate import Predictions

if TYPE_CHECKING:
    from gsina.models.model import Model

#: What a model is called with besides nodes and edges, as PyG's metrics have to know.
EXTRA = ("edge_attr", "graph_attr")


def weigh_edges(
    model: Model,
    graphs: PackedGraphs,
    found: Predictions | None = None,
    explainer: str | Explainer | None = None,
    *,
    train: PackedGraphs | None = None,
    seed: int = 0,
) -> Weighed:
    """:func:`~gsina.explainers.weights.weigh` for graphs as a model is given them.

    Trees beside a network see no edges, so explainers are asked about the network alone.

    Args:
        model: The model.
        graphs: The graphs.
        found: Its predictions for these; by default they are made.
        explainer: A post-hoc explainer; by default the model's own attention, or else
            GNNExplainer.
        train: Training graphs, for explainers that learn.
        seed: Seeds the explainer.
    """
    found = model.predict(graphs) if found is None else found
    scaling = model.featuriser.get("scaling", {})
    (scaled,) = apply_scaling(scaling, graphs)
    if train is not None:
        (train,) = apply_scaling(scaling, train)
    network = model.network_alone().method
    return weigh(network, scaled, found, explainer, train=train, seed=seed)


def explain(
    model: Model,
    graphs: PackedGraphs,
    explainer: str | Explainer | None = None,
    *,
    index: int | Sequence[int] | Tensor | None = None,
    train: PackedGraphs | None = None,
    seed: int = 0,
) -> list[Explanation]:
    """One explanation per graph; see :meth:`gsina.models.model.Model.explain`."""
    weighed = weigh_edges(model, graphs, None, explainer, train=train, seed=seed)
    weighed = cut_off(model.method, graphs, weighed)
    found = weighed.predictions
    per_node = model.task.level == "node"
    if index is not None and (not per_node or len(graphs) != 1):
        raise InputError(
            f"got index={index!r}, which is for the nodes of one graph, with {len(graphs)} graphs "
            f"and a model that predicts {model.task.level}s; leave it out."
        )
    answers = found.logits if model.task.kind == "regression" else model.classes(found.logits)
    if answers.dim() == 2 and answers.size(1) == 1 and model.task.kind == "binary":
        answers = answers[:, 0]
    budget = Budget.of_settings(model.method.config)
    about: dict[str, Any] = {}
    if isinstance(model.method, WithTrees):
        share = f"{100 * model.method.share:.0f} %"
        about["about"] = f"the network alone, which is {share} of the answer beside trees"
    made = []
    for graph in range(len(graphs)):
        rows = graphs.rows_of(graph)
        label = rows["node" if per_node else "graph"]
        parts: dict[str, Any] = take(graphs, rows)
        if per_node:
            parts["y"] = parts.pop("node_y", None)
        assert found.edge is not None
        explanation = Explanation(
            **{name: value for name, value in parts.items() if value is not None},
            edge_mask=found.edge[rows["edge"]],
            prediction=found.logits[label],
            target=answers[label],
            explainer=weighed.explainer,
            budget=budget,
            **about,
        )
        if found.node is not None:
            explanation.node_mask = found.node[rows["node"]].unsqueeze(-1)
        if found.scores is not None:
            explanation.edge_score = found.scores[rows["edge"]]
        explanation._model_args = [name for name in EXTRA if name in explanation]
        if index is not None:
            only_around(explanation, _nodes(index), hops(model.method))
        made.append(explanation)
    return made


def _nodes(index: int | Sequence[int] | Tensor) -> Tensor:
    """Numbers of nodes ``[M]``; a mask or a name is none."""
    found = None
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        found = torch.as_tensor(index).view(-1)
    if found is None or found.is_floating_point() or found.dtype == torch.bool:
        raise InputError(f"index must be the number of a node, or several of them; got {index!r}.")
    return found


def hops(method: Method) -> int:
    """How many steps along edges an answer can see.

    A layer that sends messages makes one, or as many as it says by ``hops``.
    """
    layers = (one for one in method.modules() if isinstance(one, (MessagePassing, NeighbourSum)))
    return sum(getattr(layer, "hops", 1) for layer in layers)


def only_around(explanation: Explanation, index: Tensor, steps: int) -> None:
    """Take the weights from all edges and nodes that the answers to some nodes cannot see.

    Args:
        explanation: Of a whole graph; it is changed.
        index: The nodes ``[M]``.
        steps: How far an answer can see.
    """
    count = explanation.num_nodes
    if index.numel() == 0 or int(index.min()) < 0 or int(index.max()) >= count:
        raise InputError(f"index must hold nodes between 0 and {count - 1}, got {index.tolist()}.")
    nodes, _, _, edges = k_hop_subgraph(index, steps, explanation.edge_index, num_nodes=count)
    explanation.edge_mask = explanation.edge_mask * edges
    if "node_mask" in explanation:
        inside = torch.zeros(count, 1, dtype=explanation.node_mask.dtype)
        inside[nodes] = 1
        explanation.node_mask = explanation.node_mask * inside
    explanation.index = index
