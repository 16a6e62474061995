"""`GraphSinkhornAttention`: a soft invariant subgraph from node embeddings."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from gsina.errors import InputError, check_name
from gsina.nn.scorer import make_scorer
from gsina.ops.budget import Budget, both_given
from gsina.ops.checks import MOST_GROUPS
from gsina.ops.compiled import Graphs, attend
from gsina.ops.edges import count_edges, reverse_edges, symmetrise
from gsina.ops.groups import Groups
from gsina.ops.instance_norm import instance_norm
from gsina.ops.shared import whole_batch
from gsina.ops.soft_top_r import SOLVERS, Solver, exact_weights, sinkhorn_weights, tolerance

Scope = Literal["graph", "batch"]
NodeAttention = Literal["max", "mean", "none"]
SCOPES = ("graph", "batch")
NODE_ATTENTIONS = ("max", "mean", "none")
#: In place of 0, which float32 draws once in 2^24 times.
SMALLEST = 2.0**-25


class Attention(NamedTuple):
    """What an extractor returns.

    Attributes:
        edge: Weight of every edge ``[E]`` in [0, 1].
        node: Weight of every node ``[N]`` in [0, 1], or ``None`` for no node attention.
        scores: The scores behind the edge weights ``[E]``, without noise and without gradient;
            ``None`` if there are none. From those of GSINA the weights can be solved again for
            another ratio or temperature.
    """

    edge: Tensor
    node: Tensor | None = None
    scores: Tensor | None = None


class GraphSinkhornAttention(nn.Module):
    """Soft, differentiable selection of a share of the edges of every graph, or a number of them.

    Scores of the edges from the embeddings of their ends, standardised, with Gumbel noise in
    training, go through :func:`~gsina.soft_top_r`; the weight of a node is the largest weight of
    its edges.

    The two directions of an undirected edge share one score (the mean of the two), one noise and
    so one weight. An isolated node has weight ``ratio``; so has the edge of a one-edge graph, and
    so have all edges when their scores are equal.

    With a ``budget`` of k edges, a graph of P edges (both directions of one counted once) has the
    ratio min(1, k / P): the weights of its P edges add up to k, or are all exactly 1 if P <= k.
    In a graph where only some edges have an opposite, the mean over all stored edges is k / P, so
    that the P weights add up to k only nearly.

    Args:
        in_channels: Width H of the node embeddings.
        ratio: Share r of the edges to keep, 0 < r <= 1; by default 0.5. Not beside a ``budget``.
        temperature: Softness tau > 0.
        noise: Factor sigma of the Gumbel noise in training; 0 for none.
        scope: Whether the share holds in every ``graph`` (the paper's micro) or over the whole
            ``batch`` (macro), where a budget is that of a graph on average.
        budget: Number of edges to keep per graph, above 0, in place of a share.
        scorer: ``normed`` (the GSAT benchmark's), ``plain`` (the paper's text), or a module that
            maps ``[E, 2H]`` to one score per edge.
        node: Node weights from edge weights: ``max``, ``mean`` or ``none``.
        solver: ``exact``, or ``sinkhorn`` for the paper's sweeps.
        iterations: Number of sweeps of ``sinkhorn``.
        eps: Added to the variance of the scores when they are standardised.
    """

    def __init__(
        self,
        in_channels: int,
        ratio: float | None = None,
        temperature: float = 1.0,
        noise: float = 1.0,
        scope: Scope = "graph",
        *,
        budget: float | None = None,
        scorer: str | nn.Module = "normed",
        node: NodeAttention = "max",
        solver: Solver = "exact",
        iterations: int = 10,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        if ratio is not None and budget is not None:
            raise both_given(ratio, budget)
        self.budget = Budget.of(0.5 if ratio is None else ratio, budget)
        check_numbers(temperature, noise, iterations)
        if not eps > 0:
            raise InputError(f"eps must be above 0, got {eps}.")
        self.in_channels = in_channels
        self.scorer = make_scorer(scorer, in_channels)
        self.temperature = temperature
        self.noise = noise
        self.scope = check_name(scope, SCOPES, "scope")
        self.node = check_name(node, NODE_ATTENTIONS, "node attention")
        self.solver = check_name(solver, SOLVERS, "solver")
        self.iterations = iterations
        self.eps = eps

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        num_graphs: int | None = None,
        edge_groups: Groups | None = None,
        reverse: Tensor | Literal["find"] | None = "find",
    ) -> Attention:
        """Weigh the edges and nodes of a batch of graphs.

        Args:
            h: Node embeddings ``[N, H]``.
            edge_index: Edges ``[2, E]``.
            batch: Graph of every node ``[N]``; ``None`` for one graph.
            num_graphs: Number of graphs; by default ``batch.max() + 1``.
            edge_groups: The edges of each graph, if they are known; by default from ``batch``.
            reverse: Opposite of every edge ``[E]`` as from :func:`~gsina.ops.reverse_edges`, or
                ``None`` if edges have no opposites. By default it is found, which costs a sort;
                compute it once for a graph that comes again.
        """
        if h.dim() != 2 or h.size(1) != self.in_channels:
            raise InputError(
                f"this attention was made for node embeddings of width {self.in_channels}, got "
                f"shape {list(h.shape)}."
            )
        if edge_groups is None:  # otherwise the graph comes from a checked batch
            _check_graph(h, edge_index, batch, num_graphs)
            _check_reverse(reverse, edge_index)
        elif not isinstance(edge_groups, Groups):
            raise InputError(
                f"edge_groups must be gsina.ops.Groups, got a {type(edge_groups).__name__}; leave "
                "it out to have them found."
            )
        if isinstance(reverse, str):
            reverse = reverse_edges(edge_index, h.size(0))
        graphs = edge_groups or _edge_groups(edge_index, batch, num_graphs)
        groups = graphs if self.scope == "graph" else whole_batch(edge_index.size(1))
        scores = self.scorer(h, edge_index, graphs)
        known = Graphs(groups, edge_index, reverse, h.size(0))
        return self.select(scores, known, *self._ratios(known, graphs.num, batch))

    def _ratios(
        self, graphs: Graphs, num_graphs: int, batch: Tensor | None
    ) -> tuple[float | Tensor, float | Tensor]:
        """Shares of the groups ``[G]`` and of the nodes' groups ``[N]``; or one number for all."""
        if self.budget.share is not None:
            return self.budget.share, self.budget.share
        sizes = count_edges(graphs.groups, graphs.reverse, graphs.edge_index.device)
        if self.scope == "batch":  # the mean size of its graphs, those of all processes included
            sizes = sizes / graphs.groups.sum(sizes.new_full((1,), num_graphs)).clamp(min=1)
        ratio = torch.as_tensor(self.budget.ratios(sizes))
        if len(ratio) == 1:
            return ratio, ratio.expand(graphs.num_nodes)
        if batch is None:
            raise InputError("a budget in edges needs the graph of every node; pass batch, too.")
        return ratio, ratio.index_select(0, batch)

    def select(
        self, scores: Tensor, graphs: Graphs, ratio: float | Tensor, isolated: float | Tensor
    ) -> Attention:
        """What follows the scores: in one compiled step where that can be had.

        Args:
            scores: Scores of the edges ``[E]``.
            graphs: The graphs.
            ratio: Share r to keep, or one per group ``[G]``, float64.
            isolated: Weight of a node without edges, or one per node ``[N]``, float64.
        """
        noise = self._negative_noise(scores)
        if self.solver == "exact" and self.node != "mean":
            found = attend(
                scores,
                graphs,
                ratio=ratio,
                temperature=self.temperature,
                noise=noise,
                sigma=self.noise,
                eps=self.eps,
                near=tolerance(scores.dtype) ** 0.5,
                isolated=isolated if self.node == "max" else None,
            )
            if found is not None:
                return Attention(*found)
        groups, edge_index, reverse, num_nodes = graphs
        scores = standardise(symmetrise(scores, reverse), groups, self.eps)
        edge = self._weights(self._disturb(scores, noise, reverse), groups, ratio)
        node = node_attention(edge, edge_index, num_nodes, isolated, self.node)
        return Attention(edge, node, scores.detach())

    def _negative_noise(self, scores: Tensor) -> Tensor | None:
        """Gumbel noise ``[E]`` with its sign turned, in training."""
        if not self.training or self.noise == 0:
            return None
        kind = torch.promote_types(scores.dtype, torch.float32)  # half precision has steps too wide
        uniform = torch.rand(scores.shape, dtype=kind, device=scores.device)
        return uniform.clamp_(min=SMALLEST).log_().neg_().log_()

    def _disturb(self, scores: Tensor, negative: Tensor | None, reverse: Tensor | None) -> Tensor:
        if negative is None:
            return scores
        if reverse is not None:  # one draw for both directions
            first = torch.minimum(reverse, torch.arange(reverse.numel(), device=reverse.device))
            negative = negative.index_select(0, first)
        return scores.sub(negative, alpha=self.noise)

    def _weights(self, scores: Tensor, groups: Groups, ratio: float | Tensor) -> Tensor:
        if not isinstance(ratio, Tensor):
            ratio = scores.new_full((groups.num,), ratio, dtype=torch.float64)
        if self.solver == "exact":
            return exact_weights(scores * (2 / self.temperature), ratio, groups)
        return sinkhorn_weights(scores / self.temperature, ratio, groups, self.iterations)[0]

    def extra_repr(self) -> str:
        """The settings, for ``print(module)``."""
        share, count = self.budget.share, self.budget.count
        return (
            f"{f'budget={count}' if share is None else f'ratio={share}'}, "
            f"temperature={self.temperature}, noise={self.noise}, "
            f"scope={self.scope}, node={self.node}, solver={self.solver}"
        )


def check_numbers(temperature: float, noise: float, iterations: int) -> None:
    """Refuse settings of :class:`GraphSinkhornAttention` that are out of range."""
    if not temperature > 0:
        raise InputError(f"temperature must be above 0, got {temperature}.")
    if not noise >= 0:
        raise InputError(f"noise must be 0 or more, got {noise}.")
    if iterations < 1:
        raise InputError(f"iterations must be 1 or more, got {iterations}.")


def standardise(scores: Tensor, groups: Groups, eps: float) -> Tensor:
    """Scores ``[E]`` with mean 0 and unbiased variance 1 in every group; 0 where all are equal."""
    scores = scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
    runs, order = groups.in_runs
    return instance_norm(scores, groups if order is not None else runs, eps, correction=1)


def node_attention(
    edge: Tensor, edge_index: Tensor, num_nodes: int, isolated: float | Tensor, how: str
) -> Tensor | None:
    """Weight of every node ``[N]`` from the weights of the edges that start or end there.

    Args:
        edge: Weight of every edge ``[E]``.
        edge_index: Edges ``[2, E]``.
        num_nodes: Number of nodes N.
        isolated: Weight of a node without edges, or one per node ``[N]``.
        how: ``max``, ``mean``, or ``none`` (returns ``None``).
    """
    if how == "none":
        return None
    ends, weights = edge_index.reshape(-1), edge.repeat(2)
    if not isinstance(isolated, Tensor):
        isolated = edge.new_full((num_nodes,), isolated)
    start = isolated.to(edge.dtype)
    if how == "mean":
        return start.scatter_reduce(0, ends, weights, "mean", include_self=False)
    # From `isolated` on, a weight equal to it would share its gradient with the start.
    largest = edge.new_full((num_nodes,), -1.0).scatter_reduce(0, ends, weights, "amax")
    return torch.where(largest < 0, start, largest)


def _check_graph(
    h: Tensor, edge_index: Tensor, batch: Tensor | None, num_graphs: int | None
) -> None:
    """Refuse what would end in an error of torch, or silently in nonsense."""
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.long:
        raise InputError(
            f"edge_index must be int64 of shape [2, E], got {edge_index.dtype} of shape "
            f"{list(edge_index.shape)}."
        )
    if batch is not None and (batch.dtype != torch.long or batch.shape != h.shape[:1]):
        raise InputError(
            f"batch must be int64 with one graph per node, shape [{h.size(0)}], got {batch.dtype} "
            f"of shape {list(batch.shape)}."
        )
    if batch is not None and batch.numel():
        low, high = (int(bound) for bound in batch.aminmax())
        most = MOST_GROUPS * (batch.numel() + 1) if num_graphs is None else num_graphs
        if low < 0 or high >= most:
            raise InputError(
                f"batch must number the graphs from 0 to {most - 1}, got values from {low} to "
                f"{high}; torch.unique(ids, return_inverse=True)[1] numbers graphs with other ids."
            )
    if edge_index.numel() and bool(((edge_index < 0) | (edge_index >= h.size(0))).any()):
        raise InputError(
            f"edge_index must lie in 0 .. {h.size(0) - 1}, got values from {int(edge_index.min())} "
            f"to {int(edge_index.max())}."
        )
    if batch is not None and not torch.equal(*batch[edge_index]):
        raise InputError("an edge joins two graphs; both its ends must have the same batch number.")
    if not bool(h.isfinite().all()):
        raise InputError("node embeddings must be finite, got NaN or infinite values.")


def _check_reverse(reverse: Tensor | str | None, edge_index: Tensor) -> None:
    """Refuse what does not pair edges with their opposites."""
    advice = "leave it out, or take it from gsina.ops.reverse_edges(edge_index, num_nodes)."
    if isinstance(reverse, str):
        if reverse != "find":
            raise InputError(f"reverse must be 'find', None or a tensor, got {reverse!r}; {advice}")
        return
    if reverse is None:
        return
    edges = edge_index.size(1)
    if reverse.dtype != torch.long or reverse.shape != (edges,):
        raise InputError(
            f"reverse must be int64 of shape [{edges}], one per edge, got {reverse.dtype} of shape "
            f"{list(reverse.shape)}; {advice}"
        )
    position = torch.arange(edges, device=reverse.device)
    known = (reverse >= 0) & (reverse < edges)
    partner = torch.where(known, reverse, position)
    pairs = known & (partner.index_select(0, partner) == position)
    opposite = (edge_index.index_select(1, partner) == edge_index.flip(0)).all(0)
    if not bool((pairs & (opposite | (partner == position))).all()):
        raise InputError(f"reverse must pair edges with their opposites, and does not; {advice}")


def _edge_groups(edge_index: Tensor, batch: Tensor | None, num_graphs: int | None) -> Groups:
    num_edges = edge_index.size(1)
    if batch is None:
        return Groups.single(num_edges)
    if num_graphs is None:
        num_graphs = int(batch.max()) + 1 if batch.numel() else 0
    return Groups(batch.index_select(0, edge_index[0]), num_graphs, num_edges)
