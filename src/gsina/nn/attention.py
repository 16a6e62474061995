"""`GraphSinkhornAttention`: a soft invariant subgraph from node embeddings."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from gsina.errors import InputError, check_name
from gsina.nn.checks import (
    Transport,
    check_expected,
    check_graph,
    check_lowest_ratio,
    check_numbers,
    check_reverse,
    check_scores,
    check_transport,
)
from gsina.nn.node_weights import NODE_ATTENTIONS, NodeAttention, node_attention
from gsina.nn.scorer import make_scorer
from gsina.ops.budget import Budget, both_given
from gsina.ops.compiled import Graphs, attend, is_torch_alone
from gsina.ops.draws.noise import Uniform, negative_gumbel, own_noise
from gsina.ops.draws.systematic import systematic_sample
from gsina.ops.edges import count_edges, edge_groups_of, reverse_edges, symmetrise
from gsina.ops.groups import Groups
from gsina.ops.host import widest
from gsina.ops.instance_norm import standardise as standardise
from gsina.ops.shared import whole_batch
from gsina.ops.soft_top_r import (
    Regulariser,
    Solver,
    exact_weights,
    sinkhorn_weights,
    tolerance,
)
from gsina.ops.solvers.padded import padded_weights
from gsina.ops.solvers.quadratic import quadratic_weights
from gsina.ops.triton import attention as triton

Scope = Literal["graph", "batch"]
SCOPES = ("graph", "batch")
#: Added to the variance where the released code adds nothing, and has NaN for equal scores.
NO_EPS = 1e-30


class Attention(NamedTuple):
    """What an extractor returns.

    Attributes:
        edge: Weight of every edge ``[E]`` in [0, 1] (of ``transport="padded"`` now and then above).
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
        regulariser: ``entropic``, or ``quadratic`` for weights that are exactly 0 and exactly 1
            for most edges; see :func:`~gsina.soft_top_r`.
        solver: ``exact``, or ``sinkhorn`` for the paper's sweeps.
        iterations: Number of sweeps of ``sinkhorn``.
        eps: Added to the variance of the scores when they are standardised.
        hard: Whether in training the weights are 0 and 1: a draw of
            :func:`~gsina.ops.draws.systematic.systematic_sample` with the soft weights as
            probabilities and their gradient, and as many edges as these add up to, or one more.
        lowest_ratio: If given, training draws the share of every graph, evenly from this one to 1,
            so that one model knows all shares. Only with ``scope="graph"``.
        expected: Whether evaluation has the weights that edges have on average over the noise of
            training, in place of those without noise; see :attr:`evaluation_temperature`. Only for
            the entropic regulariser and the exact transport.
        transport: ``exact``, or ``padded`` to reproduce numbers of the released research code: its
            plans are padded to the longest graph of the batch, see
            :mod:`gsina.ops.solvers.padded`, so that a graph's weights hang on its batch and do not
            add up to its share; noise is drawn for each direction of an edge, whose two weights are
            averaged at the end; scores are standardised without ``eps``, and isolated nodes have
            weight 0. ``iterations`` sweeps are made, and ``solver`` is not used.
    """

    saved_temperature: Tensor | None

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
        regulariser: Regulariser = "entropic",
        solver: Solver = "exact",
        iterations: int = 10,
        eps: float = 1e-6,
        hard: bool = False,
        lowest_ratio: float | None = None,
        expected: bool = False,
        transport: Transport = "exact",
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
        self.register_buffer("saved_temperature", None)
        self._temperature = temperature
        self.noise = noise
        self.scope = check_name(scope, SCOPES, "scope")
        self.node = check_name(node, NODE_ATTENTIONS, "node attention")
        check_transport(transport, regulariser, solver)
        self.regulariser, self.solver, self.transport = regulariser, solver, transport
        self.iterations = iterations
        self.eps = eps
        self.hard = hard
        self.lowest_ratio = check_lowest_ratio(lowest_ratio, scope)
        self.expected = check_expected(expected, transport, regulariser)

    @property
    def temperature(self) -> float:
        """Softness tau; it may be set at any time."""
        saved = self.saved_temperature
        return self._temperature if saved is None else float(saved)

    @temperature.setter
    def temperature(self, value: float) -> None:
        if self.saved_temperature is None:
            self._temperature = value
        else:
            self.saved_temperature.fill_(value)

    @property
    def evaluation_temperature(self) -> float:
        """Softness of the weights in evaluation; with ``expected`` it makes up for the noise.

        Gumbel noise adds a number of variance v = (2 sigma / tau)^2 pi^2 / 6 to the logit a of a
        weight, and the mean of sigmoid(a + noise) is nearly sigmoid(a / sqrt(1 + pi v / 8)): mean
        weights are those of the temperature sqrt(tau^2 + pi^3 sigma^2 / 12). At tau itself, weights
        without noise are sharper than what a predictor has learnt from.
        """
        if not self.expected:
            return self.temperature
        return math.hypot(self.temperature, self.noise * math.sqrt(math.pi**3 / 12))

    def save_temperature(self) -> None:
        """Make the temperature part of the state, for those who change it in training."""
        self.saved_temperature = torch.tensor(self._temperature, dtype=torch.float64)

    def _apply(self, *given: Any) -> Self:
        """Move all but the temperature: the host reads it in every step."""
        saved, self.saved_temperature = self.saved_temperature, None
        super()._apply(*given)  # type: ignore[no-untyped-call]
        self.saved_temperature = saved
        return self

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
        scores, _, problem = self._problem(h, edge_index, batch, num_graphs, edge_groups, reverse)
        return self.select(scores, *problem)

    def draws(
        self, count: int, h: Tensor, edge_index: Tensor, batch: Tensor | None = None, **known: Any
    ) -> tuple[Attention, list[Attention]]:
        """What :meth:`forward` returns, and besides it ``count`` draws with noise.

        The noise of a draw is a function of the graph's edges and of the number of the draw, so
        that the draws are the same at any time and in any batch; with ``hard`` their weights are 0
        and 1. The other arguments are those of :meth:`forward`.
        """
        scores, graphs, problem = self._problem(h, edge_index, batch, **known)
        noises = (own_noise(edge_index, graphs, number) for number in range(count))
        drawn = [self.select(scores, *problem, noise) for noise in noises]
        return self.select(scores, *problem), drawn

    def _problem(
        self,
        h: Tensor,
        edge_index: Tensor,
        batch: Tensor | None,
        num_graphs: int | None = None,
        edge_groups: Groups | None = None,
        reverse: Tensor | str | None = "find",
    ) -> tuple[Tensor, Groups, tuple[Graphs, float | Tensor, float | Tensor]]:
        """Scores ``[E]``, the edges of each graph, and what :meth:`select` has to know besides."""
        if h.dim() != 2 or h.size(1) != self.in_channels:
            raise InputError(
                f"this attention was made for node embeddings of width {self.in_channels}, got "
                f"shape {list(h.shape)}."
            )
        if edge_groups is None:  # otherwise the graph comes from a checked batch
            check_graph(h, edge_index, batch, num_graphs)
            check_reverse(reverse, edge_index)
        elif not isinstance(edge_groups, Groups):
            raise InputError(
                f"edge_groups must be gsina.ops.Groups, got a {type(edge_groups).__name__}; leave "
                "it out to have them found."
            )
        if isinstance(reverse, str):
            reverse = reverse_edges(edge_index, h.size(0))
        graphs = edge_groups or edge_groups_of(edge_index, batch, num_graphs)
        groups = graphs if self.scope == "graph" else whole_batch(edge_index.size(1))
        scores = self.scorer(h, edge_index, graphs)
        if edge_groups is None:
            check_scores(scores)
        known = Graphs(groups, edge_index, reverse, h.size(0))
        return scores, graphs, (known, *self._ratios(known, graphs.num, batch))

    def _ratios(
        self, graphs: Graphs, num_graphs: int, batch: Tensor | None
    ) -> tuple[float | Tensor, float | Tensor]:
        """Shares of the groups ``[G]`` and of the nodes' groups ``[N]``; or one number for all."""
        device = graphs.edge_index.device
        if self.training and self.lowest_ratio is not None:
            drawn = torch.rand(num_graphs, dtype=widest(device), device=device)
            ratio = self.lowest_ratio + (1 - self.lowest_ratio) * drawn
        elif self.budget.share is not None:
            return self.budget.share, self.budget.share
        else:
            sizes = count_edges(graphs.groups, graphs.reverse, device)
            if self.scope == "batch":  # the mean size of its graphs, those of all processes too
                sizes = sizes / graphs.groups.sum(sizes.new_full((1,), num_graphs)).clamp(min=1)
            ratio = torch.as_tensor(self.budget.ratios(sizes))
        if ratio.size(0) == 1:
            return ratio, ratio.expand(graphs.num_nodes)
        if batch is None:
            raise InputError("shares per graph need the graph of every node; pass batch, too.")
        return ratio, ratio.index_select(0, batch)

    def select(
        self,
        scores: Tensor,
        graphs: Graphs,
        ratio: float | Tensor,
        isolated: float | Tensor,
        uniform: Uniform | None = None,
    ) -> Attention:
        """What follows the scores: in one compiled step where that can be had.

        Args:
            scores: Scores of the edges ``[E]``.
            graphs: The graphs.
            ratio: Share r to keep, or one per group ``[G]``, float64.
            isolated: Weight of a node without edges, or one per node ``[N]``, float64.
            uniform: Numbers to make the noise of; by default they are drawn in training, and in
                evaluation there is no noise.
        """
        drawn = self.training or uniform is not None
        noise = self._negative_noise(scores, uniform) if drawn and self.noise > 0 else None
        groups, edge_index, reverse, num_nodes = graphs
        hard = self.hard and drawn
        temperature = self.temperature if drawn else self.evaluation_temperature
        found = None
        if self._is_compiled():
            known: dict[str, Any] = {
                "ratio": ratio,
                "temperature": temperature,
                "noise": noise,
                "sigma": self.noise,
                "eps": self.eps,
                "isolated": isolated if self.node == "max" and not hard else None,
            }
            found = attend(scores, graphs, **known, near=tolerance(scores.dtype) ** 0.5)
            if found is None and not is_torch_alone():
                found = triton.attend(scores, graphs, **known)
        if found is not None and not hard:
            return Attention(*found)
        if found is not None:
            edge, _, standard = found
        elif self.transport == "padded":
            standard, isolated = standardise(scores, groups, NO_EPS), 0.0
            weights = padded_weights(
                standard,
                _per_group(ratio, groups, standard),
                groups,
                temperature=temperature,
                sweeps=self.iterations,
                noise=None if noise is None else -noise,
                sigma=self.noise,
                uniform=None if uniform is None else uniform.group[: groups.num],
                whole=self.scope == "batch",
            )
            edge = symmetrise(weights, reverse)
        else:
            standard = standardise(symmetrise(scores, reverse), groups, self.eps)
            edge = self._disturb(standard, noise, reverse)
            edge = self._weights(edge, groups, ratio, temperature)
        if hard:
            places = None if uniform is None else (uniform.order, uniform.group[: groups.num])
            taken = systematic_sample(edge, groups, reverse, noise=places)
            edge = taken.to(edge.dtype) + (edge - edge.detach())  # the gradient of the soft ones
        node = node_attention(edge, edge_index, num_nodes, isolated, self.node)
        return Attention(edge, node, standard.detach())

    def _negative_noise(self, scores: Tensor, uniform: Uniform | None) -> Tensor:
        """Gumbel noise ``[E]`` with its sign turned."""
        kind = torch.promote_types(scores.dtype, torch.float32)  # half precision has steps too wide
        if uniform is not None:
            return negative_gumbel(uniform.each.clone()).to(kind)
        return negative_gumbel(torch.rand(scores.shape, dtype=kind, device=scores.device))

    def _disturb(self, scores: Tensor, negative: Tensor | None, reverse: Tensor | None) -> Tensor:
        if negative is None:
            return scores
        if reverse is not None:  # one draw for both directions
            first = torch.minimum(reverse, torch.arange(reverse.numel(), device=reverse.device))
            negative = negative.index_select(0, first)
        return scores.sub(negative, alpha=self.noise)

    def _is_compiled(self) -> bool:
        """Whether the kernels know these settings."""
        plain = self.regulariser == "entropic" and self.transport == "exact"
        return plain and self.solver == "exact" and self.node != "mean"

    def _weights(
        self, scores: Tensor, groups: Groups, ratio: float | Tensor, temperature: float
    ) -> Tensor:
        ratio = _per_group(ratio, groups, scores)
        if self.regulariser == "quadratic":
            return quadratic_weights(scores / temperature, ratio, groups)
        if self.solver == "exact":
            return exact_weights(scores * (2 / temperature), ratio, groups)
        return sinkhorn_weights(scores / temperature, ratio, groups, self.iterations)[0]

    def extra_repr(self) -> str:
        """The settings, for ``print(module)``."""
        share, count = self.budget.share, self.budget.count
        return (
            f"{f'budget={count}' if share is None else f'ratio={share}'}, "
            f"temperature={self.temperature}, noise={self.noise}, "
            f"scope={self.scope}, node={self.node}, regulariser={self.regulariser}, "
            f"solver={self.solver}, transport={self.transport}"
        )


def _per_group(ratio: float | Tensor, groups: Groups, like: Tensor) -> Tensor:
    """Shares ``[G]``, float64."""
    if isinstance(ratio, Tensor):
        return ratio
    return like.new_full((groups.num,), ratio, dtype=widest(like.device))
