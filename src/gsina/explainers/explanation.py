"""`Explanation`: what one answer rests on, in PyG's own type."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import torch_geometric.explain
from torch import Tensor

from gsina.errors import InputError
from gsina.explainers.drawing import draw_svg
from gsina.explainers.marked import touched
from gsina.ops.budget import Budget
from gsina.ops.edges import count_edges, reverse_edges
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r


class Explanation(torch_geometric.explain.Explanation):  # type: ignore[misc]
    """The weights of the edges and nodes of one graph, with the graph and the answer.

    All of PyG's own works on it: ``get_explanation_subgraph``, ``threshold``, ``visualize_graph``,
    ``validate``, and its metrics. Besides those of the graph (``x``, ``edge_index``, ...) it has

    Attributes:
        edge_mask: Weight of every edge ``[E]`` in [0, 1].
        node_mask: Weight of every node ``[N, 1]`` in [0, 1]; missing if the method weighs none.
        prediction: What the model says ``[1, outputs]``: logits, or values in the units of the
            target; at node level ``[N, outputs]``.
        target: The class that it answers ``[1]`` (of several yes-or-no targets ``[1, outputs]``,
            of numbers the values); at node level one row per node.
        index: The nodes that were asked about; missing if all were, as in PyG.
        explainer: Who found the weights: ``"attention"`` and ``"cut"`` are the model's own, any
            other name is that of a post-hoc explainer.
        about: What the weights are about where that is not all of the model, as beside trees.
        budget: How much of a graph the model itself keeps, ``None`` if it does not say.
        edge_truth: Whether an edge is in the true explanation ``[E]``, bool, where that is known.
        node_truth: The same of nodes ``[N]``.
        edge_score: Scores behind the weights ``[E]``, where the method has some.
    """

    def top(self, share: float | None = None, *, count: float | None = None) -> Self:
        """The explanation without weights outside its largest ones.

        ``explanation.top(0.2).get_explanation_subgraph()`` is the part of the graph with a fifth
        of the edges. Both directions of an edge count once; nodes without a kept edge have
        weight 0.

        Args:
            share: Share of the edges to keep, rounded up to whole edges.
            count: Number of edges to keep, in place of a share. Without either, as much as the
                model itself keeps.

        Raises:
            InputError: Neither is given and the model does not say, or both are.
        """
        budget = self.get("budget")
        if share is not None or count is not None:
            budget = Budget(share, count)
        if budget is None:
            raise InputError(
                "this explanation comes without a budget of its own; give a share, such as "
                "top(0.2), or a number of edges, such as top(count=5)."
            )
        edges, weights = self.edge_index, self.edge_mask
        reverse = reverse_edges(edges, self.num_nodes)
        groups = Groups.single(edges.size(1))
        ratio = budget.ratios(count_edges(groups, reverse, weights.device).clamp(min=1))
        kept = hard_top_r(weights, ratio, groups, reverse)
        made = copy.copy(self)
        made.edge_mask = weights * kept
        nodes = touched(kept, edges, self.num_nodes).to(weights.dtype).unsqueeze(-1)
        mask = self.get("node_mask")
        made.node_mask = nodes if mask is None else mask * nodes
        return made

    def __getitem__(self, key: Any) -> Any:
        """An attribute by its name; 0 is the explanation itself, as it was in lists of one."""
        if isinstance(key, int) and key == 0:
            _warn("explain(graph)[0]", "explain(graph), which is no list any more")
            return self
        return super().__getitem__(key)

    @property
    def edge(self) -> Tensor:
        """The earlier name of ``edge_mask``."""
        _warn(".edge of an explanation", ".edge_mask")
        weights: Tensor = self.edge_mask
        return weights

    @property
    def node(self) -> Tensor | None:
        """The earlier name of ``node_mask``, which was flat ``[N]``."""
        _warn(".node of an explanation", ".node_mask")
        weights: Tensor | None = self.get("node_mask")
        return None if weights is None else weights.squeeze(-1)

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        about = self.get("about")
        words = f"<p>The weights are about {about}.</p>" if about else ""
        return words + draw_svg(
            self.num_nodes,
            self.edge_index,
            self.edge_mask,
            node=self.get("node_mask"),
            truth=self.get("edge_truth"),
        )


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated; use {new}.", DeprecationWarning, stacklevel=3)
