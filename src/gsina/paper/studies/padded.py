"""GSINA's attention as a padded loop over graphs: what it would cost the straightforward way.

For the runtime table. The scores of every graph are cut out by a mask and written into a padded
plan, one graph after the other; the sweeps run on the whole plan; the weights are cut out again,
one graph after the other. Padding gets no mass here, so the weights are those of
``solver="sinkhorn"``. (In the released code it gets mass: ``transport="padded"`` of GSINA, where it
is counted and not stored, as :mod:`gsina.ops.solvers.padded` says.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.methods.gsina import GSINA
from gsina.nn.attention import GraphSinkhornAttention
from gsina.ops.groups import Groups


def padded_loop(
    scores: Tensor, ratio: float | Tensor, index: Tensor, graphs: int, sweeps: int = 10
) -> Tensor:
    """Weights ``[E]`` by sweeps on padded plans, graph by graph in and out.

    Args:
        scores: One score per edge ``[E]``.
        ratio: Share to keep, or one per graph ``[G]``.
        index: Graph of every edge ``[E]``.
        graphs: Number of graphs.
        sweeps: Number of sweeps.
    """
    masks = [index == graph for graph in range(graphs)]
    sizes = [int(mask.sum()) for mask in masks]
    plan = scores.new_full((graphs, 2, max([*sizes, 1])), -torch.inf)
    for graph, (mask, size) in enumerate(zip(masks, sizes, strict=True)):
        own = scores[mask]
        plan[graph, 0, :size] = -own
        plan[graph, 1, :size] = own
    padding = torch.isneginf(plan[:, :1])
    counts = scores.new_tensor(sizes).view(-1, 1)
    shares = torch.as_tensor(ratio).to(scores).view(-1, 1)
    targets = (counts * torch.cat([1 - shares, shares], 1)).clamp(min=1e-30).log().unsqueeze(2)
    plan = plan.masked_fill(padding, 0.0)
    for _ in range(sweeps):
        rows = plan.masked_fill(padding, -1e30).logsumexp(2, keepdim=True)
        plan = plan - rows + targets
        plan = plan - plan.logsumexp(1, keepdim=True)
    weights = torch.empty_like(scores)
    for graph, (mask, size) in enumerate(zip(masks, sizes, strict=True)):
        weights[mask] = plan[graph, 1, :size].exp()
    return weights


class PaddedLoopAttention(GraphSinkhornAttention):
    """:class:`~gsina.nn.GraphSinkhornAttention` per graph, with :func:`padded_loop` as solver."""

    def _weights(
        self, scores: Tensor, groups: Groups, ratio: float | Tensor, temperature: float
    ) -> Tensor:
        if groups.index is None:
            return super()._weights(scores, groups, ratio, temperature)
        scaled = scores / temperature
        return padded_loop(scaled, ratio, groups.index, groups.num, self.iterations)


def use_padded_loop(method: GSINA) -> GSINA:
    """Put the padded loop in place of GSINA's operator, with a fresh scorer; the same object."""
    old = method.attention
    method.attention = PaddedLoopAttention(
        old.in_channels,
        method.config.ratio,
        old.temperature,
        old.noise,
        "graph",
        budget=method.config.budget,
        scorer=method.config.scorer,
        node=old.node,  # type: ignore[arg-type]
        solver="sinkhorn",  # the exact solver may be compiled, and then asks for no weights here
        iterations=old.iterations,
        eps=old.eps,
    )
    return method
