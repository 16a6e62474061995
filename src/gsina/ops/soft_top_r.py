"""Soft top-r: weights in [0, 1] whose mean over each group is exactly r.

The entropic optimal-transport relaxation of "keep the best r N of N": for scores s and temperature
tau, the weights are ``sigmoid(2 s / tau + dual)``, with one number ``dual`` a group fixed by the
constraint. As tau goes to 0 they approach the hard selection, as tau grows they approach r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import torch
from torch import Tensor

from gsina.names import check_name
from gsina.ops.dual import solve_dual
from gsina.ops.groups import Groups
from gsina.ops.sinkhorn import sinkhorn

Solver = Literal["exact", "sinkhorn"]
SOLVERS = ("exact", "sinkhorn")


@dataclass(frozen=True)
class Diagnostics:
    """How a solution was found.

    Attributes:
        dual: The dual of each group ``[G]``, float64.
        iterations: Newton steps or sweeps used.
        residual: Error of each group's mean ``[G]``, float64; NaN for an empty group.
        slope: g of each group ``[G]``: a Sinkhorn sweep near the solution shrinks the error by
            the factor 1 - g; NaN for an empty group.
        dual_history: The dual after every sweep ``[sweeps, G]``; only for ``sinkhorn``.
        error_history: The error of the mean after every sweep ``[sweeps, G]``; only ``sinkhorn``.
    """

    dual: Tensor
    iterations: int
    residual: Tensor
    slope: Tensor
    dual_history: Tensor | None = None
    error_history: Tensor | None = None


@overload
def soft_top_r(
    scores: Tensor,
    ratio: float | Tensor,
    index: Tensor | None = None,
    *,
    temperature: float | Tensor = ...,
    num_groups: int | None = ...,
    solver: Solver = ...,
    iterations: int = ...,
    return_diagnostics: Literal[False] = ...,
) -> Tensor: ...
@overload
def soft_top_r(
    scores: Tensor,
    ratio: float | Tensor,
    index: Tensor | None = None,
    *,
    temperature: float | Tensor = ...,
    num_groups: int | None = ...,
    solver: Solver = ...,
    iterations: int = ...,
    return_diagnostics: Literal[True],
) -> tuple[Tensor, Diagnostics]: ...
def soft_top_r(
    scores: Tensor,
    ratio: float | Tensor,
    index: Tensor | None = None,
    *,
    temperature: float | Tensor = 1.0,
    num_groups: int | None = None,
    solver: Solver = "exact",
    iterations: int = 10,
    return_diagnostics: bool = False,
) -> Tensor | tuple[Tensor, Diagnostics]:
    """Give every element a weight in [0, 1]; each group's weights have the mean ``ratio``.

    Differentiable with respect to scores, ratio and temperature (twice, with the exact solver by
    the implicit function theorem: no iteration is recorded). The result for a group does not depend
    on the other groups.

    Args:
        scores: Scores ``[N]``, finite; larger is kept. Half precision is computed, and returned,
            in float32, because half precision cannot hold the constraint.
        ratio: Share r to keep, 0 < r <= 1: a number, or one a group ``[G]``. At 1 every weight is
            exactly 1 (and the gradient 0).
        index: Group of every element ``[N]``, int64, in any order. ``None``: one group.
        temperature: Softness tau > 0.
        num_groups: Number of groups G; by default ``index.max() + 1``. Groups may be empty.
        solver: ``exact``, or ``sinkhorn`` for a fixed number of the paper's sweeps.
        iterations: Number of sweeps of ``sinkhorn``.
        return_diagnostics: Also return how the solution was found.

    Returns:
        Weights ``[N]``, or the pair of weights and :class:`Diagnostics`.

    Raises:
        ValueError: For scores, ratio, temperature or index that are not as above.

    Example:
        >>> soft_top_r(torch.tensor([3.0, 1.0, 2.0, 0.0]), 0.5, temperature=0.1)
        tensor([1.0000e+00, 4.5398e-05, 9.9995e-01, 9.3576e-14])
    """
    check_name(solver, SOLVERS, "solver")
    groups = _check(scores, ratio, index, temperature, num_groups, solver, iterations)
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.float()
    scaled = scores / temperature
    shares = torch.as_tensor(ratio, dtype=scaled.dtype, device=scaled.device).expand(groups.num)
    if solver == "exact":
        weights = exact_weights(2 * scaled, shares, groups)
        history = None
    else:
        weights, history = sinkhorn_weights(scaled, shares, groups, iterations)
    if not return_diagnostics:
        return weights
    return weights, _diagnose(scaled.detach(), shares.detach(), groups, history)


def exact_weights(logits: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
    """The exact solution without checks: for callers that know their input is right.

    Args:
        logits: ``2 * scores / temperature`` ``[N]``, float32 or float64.
        ratio: Shares ``[G]`` in (0, 1].
        groups: Group of every element.
    """
    weights: Tensor = _ExactWeights.apply(logits, ratio, groups)  # type: ignore[no-untyped-call]
    return weights


class _ExactWeights(torch.autograd.Function):
    """Weights with the gradient of the implicit function theorem.

    With v = w (1 - w) and brackets for sums over a group,
    ``dw = v (dx - <v, dx> / <v>) + dr N v / <v>``. The backward pass is written in terms of the
    output, so that it can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
        solution = solve_dual(logits.double(), ratio.double(), groups, _tolerance(logits.dtype))
        weights = solution.logits.sigmoid_().to(logits.dtype)
        ctx.groups = groups
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (weights,) = ctx.saved_tensors
        groups: Groups = ctx.groups
        v = weights * (1 - weights)
        total = groups.sum(v).clamp(min=torch.finfo(v.dtype).tiny)
        pull = groups.sum(v * grad) / total
        grad_ratio = groups.counts(pull) * pull if ctx.needs_input_grad[1] else None
        return v * (grad - groups.spread(pull)), grad_ratio, None


def sinkhorn_weights(
    scaled: Tensor, ratio: Tensor, groups: Groups, iterations: int
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A number of the paper's sweeps without checks; ``scaled`` is ``scores / temperature``.

    Returns:
        Weights ``[N]``; the dual and the error of the mean after every sweep, ``[sweeps, G]``.
    """
    share, everything = _open_ratio(ratio)
    logits, duals, errors = sinkhorn(scaled.double(), share, groups, iterations)
    weights = torch.sigmoid(logits).to(scaled.dtype)
    weights = weights.masked_fill(groups.spread(everything).expand_as(weights), 1.0)
    return weights, (duals, errors)


def _diagnose(
    scaled: Tensor, ratio: Tensor, groups: Groups, history: tuple[Tensor, Tensor] | None
) -> Diagnostics:
    """Solve once more, outside autograd, and measure."""
    share, everything = _open_ratio(ratio)
    if history is None:
        found = solve_dual(2 * scaled.double(), share, groups, _tolerance(scaled.dtype))
        dual, iterations, logits = found.dual, found.iterations, found.logits
    else:
        dual, iterations = history[0][-1], history[0].size(0)
        logits = 2 * scaled.double() + groups.spread(dual)
    weights = torch.sigmoid(logits)
    counts = groups.counts(weights)
    mean = groups.sum(weights) / counts
    slope = groups.sum(weights * (1 - weights)) / counts / (mean * (1 - mean))
    zero = torch.zeros_like(mean)
    return Diagnostics(
        dual=torch.where(everything, torch.inf, dual),
        iterations=iterations,
        residual=torch.where(everything, zero, (mean - share).abs()),
        slope=torch.where(everything, zero, slope),
        dual_history=None if history is None else history[0],
        error_history=None if history is None else history[1],
    )


def _open_ratio(ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Replace shares of 1, which have no finite dual, by 1/2 and say where they were."""
    everything = ratio.detach() >= 1
    return torch.where(everything, 0.5, ratio.double()), everything


def _tolerance(dtype: torch.dtype) -> float:
    return 1e-9 if dtype == torch.float32 else 1e-13


def _check(
    scores: Tensor,
    ratio: float | Tensor,
    index: Tensor | None,
    temperature: float | Tensor,
    num_groups: int | None,
    solver: str,
    iterations: int,
) -> Groups:
    """Refuse bad input with one sentence; return the groups."""
    if scores.dim() != 1 or not scores.is_floating_point():
        raise ValueError(
            f"scores must be a floating-point tensor of shape [N], got {scores.dtype} of shape "
            f"{list(scores.shape)}."
        )
    bad = ~scores.detach().isfinite()
    if bool(bad.any()):
        where = int(bad.nonzero()[0])
        raise ValueError(
            f"scores must be finite, got {scores[where].item()} at position {where} "
            f"({int(bad.sum())} such values in all)."
        )
    if not bool(torch.as_tensor(temperature > 0)):
        raise ValueError(f"temperature must be above 0, got {float(temperature)}.")
    if solver == "sinkhorn" and iterations < 1:
        raise ValueError(f"sinkhorn needs at least 1 iteration, got {iterations}.")
    groups = _check_index(scores, index, num_groups)
    share = torch.as_tensor(ratio).detach()
    if share.dim() > 1 or (share.dim() == 1 and share.numel() != groups.num):
        raise ValueError(
            f"ratio must be a number or one a group, that is shape [{groups.num}], got shape "
            f"{list(share.shape)}."
        )
    wrong = ~((share > 0) & (share <= 1))
    if bool(wrong.any()):
        raise ValueError(f"ratio must lie in (0, 1], got {float(share[wrong].flatten()[0])}.")
    return groups


def _check_index(scores: Tensor, index: Tensor | None, num_groups: int | None) -> Groups:
    if index is None:
        if num_groups not in (None, 1):
            raise ValueError(f"without an index there is 1 group, got num_groups={num_groups}.")
        return Groups.whole(scores.numel())
    if index.dtype != torch.long or index.shape != scores.shape:
        raise ValueError(
            f"index must be int64 of the scores' shape {list(scores.shape)}, got {index.dtype} of "
            f"shape {list(index.shape)}."
        )
    low, high = (int(index.min()), int(index.max())) if index.numel() else (0, -1)
    num = high + 1 if num_groups is None else num_groups
    if low < 0 or high >= num:
        raise ValueError(f"index must lie in 0 .. {num - 1}, got values from {low} to {high}.")
    return Groups(index, num, scores.numel())
