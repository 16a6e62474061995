"""Soft top-r: weights in [0, 1] whose mean over each group is exactly r.

An optimal-transport relaxation of "keep the best r N of N": for scores s and temperature tau, the
weights are ``sigmoid(2 s / tau + dual)`` with the entropic regulariser, ``clip(s / tau + dual, 0,
1)`` with the quadratic one, and one number ``dual`` per group fixed by the constraint. As tau goes
to 0 they approach the hard selection, as tau grows they approach r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import torch
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.ops.checks import check_input
from gsina.ops.groups import Groups
from gsina.ops.host import at_hand, is_exporting, widest
from gsina.ops.solvers.dual import solve_dual
from gsina.ops.solvers.dual32 import solve_dual32
from gsina.ops.solvers.quadratic import project, quadratic_weights
from gsina.ops.solvers.sinkhorn import sinkhorn
from gsina.ops.triton import weights as triton

Regulariser = Literal["entropic", "quadratic"]
REGULARISERS = ("entropic", "quadratic")
Solver = Literal["exact", "sinkhorn"]
SOLVERS = ("exact", "sinkhorn")


@dataclass(frozen=True)
class Diagnostics:
    """How a solution was found.

    Attributes:
        dual: The dual of each group ``[G]``, float64.
        iterations: Newton steps, sweeps, or steps of the quadratic search used.
        residual: Error of each group's mean ``[G]``, float64; NaN for an empty group.
        slope: g of each group ``[G]``: a Sinkhorn sweep near the solution shrinks the error by
            the factor 1 - g; NaN for an empty group. With the quadratic regulariser the share of
            the elements whose weights lie strictly between 0 and 1.
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
    regulariser: Regulariser = ...,
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
    regulariser: Regulariser = ...,
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
    regulariser: Regulariser = "entropic",
    solver: Solver = "exact",
    iterations: int = 10,
    return_diagnostics: bool = False,
) -> Tensor | tuple[Tensor, Diagnostics]:
    """Give every element a weight in [0, 1]; each group's weights have the mean ``ratio``.

    Differentiable with respect to scores, ratio and temperature (twice, with the exact solver by
    the implicit function theorem: no iteration is recorded). The result for a group does not depend
    on the other groups.

    Under ``torch.compile`` the check of the input makes one graph break (two if ``num_groups`` is
    not given); the exact solver itself is a single operator to the compiler, and makes none.

    Args:
        scores: Scores ``[N]``, at most 1e9 times the temperature; larger is kept. Half precision is
            computed, and returned, in float32, because half precision cannot hold the constraint.
        ratio: Share r to keep, 0 < r <= 1: a number, or one per group ``[G]``. At 1 every weight is
            exactly 1 (and the gradient 0).
        index: Group of every element ``[N]``, int64, in any order. ``None``: one group.
        temperature: Softness tau > 0.
        num_groups: Number of groups G; by default ``index.max() + 1``. Groups may be empty.
        regulariser: ``entropic``, the paper's, whose weights are never exactly 0 or 1; or
            ``quadratic``, whose weights are exactly 0 and exactly 1 (with gradient 0) for scores
            that lie more than a temperature apart.
        solver: ``exact``, or ``sinkhorn`` for a fixed number of the paper's sweeps (entropic).
        iterations: Number of sweeps of ``sinkhorn``.
        return_diagnostics: Also return how the solution was found.

    Returns:
        Weights ``[N]``, or the pair of weights and :class:`Diagnostics`.

    Raises:
        InputError: For scores, ratio, temperature or index that are not as above.

    Example:
        >>> soft_top_r(torch.tensor([3.0, 1.0, 2.0, 0.0]), 0.5, temperature=0.1)
        tensor([1.0000e+00, 4.5398e-05, 9.9995e-01, 9.3576e-14])
        >>> soft_top_r(torch.tensor([3.0, 1.0, 2.0, 0.0]), 0.5, regulariser="quadratic")
        tensor([1., 0., 1., 0.])
    """
    check_regulariser(regulariser, solver)
    if solver == "sinkhorn" and iterations < 1:
        raise InputError(f"sinkhorn needs at least 1 iteration, got {iterations}.")
    groups = check_input(scores, ratio, index, temperature, num_groups)
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.float()
    scaled = scores / temperature
    wide = widest(scaled.device)
    shares = torch.as_tensor(ratio, dtype=wide, device=scaled.device).expand(groups.num)
    history = None
    if regulariser == "quadratic":
        weights = quadratic_weights(scaled, shares, groups)
    elif solver == "exact":
        weights = exact_weights(2 * scaled, shares, groups)
    else:
        weights, history = sinkhorn_weights(scaled, shares, groups, iterations)
    if not return_diagnostics:
        return weights
    if wide != torch.float64:
        raise InputError(
            f"diagnostics are computed in float64, which {scaled.device.type} does not have; ask "
            "for them on the CPU."
        )
    if regulariser == "quadratic":
        return weights, _diagnose_quadratic(scaled.detach(), shares.detach(), groups)
    return weights, _diagnose(scaled.detach(), shares.detach(), groups, history)


def check_regulariser(regulariser: str, solver: str) -> None:
    """Refuse names that are not known, and sweeps for anything but the entropic regulariser."""
    check_name(solver, SOLVERS, "solver")
    if check_name(regulariser, REGULARISERS, "regulariser") != "entropic" and solver != "exact":
        raise InputError(
            f"solver {solver!r} is for the entropic regulariser, got {regulariser!r}; use "
            "solver='exact'."
        )


def exact_weights(logits: Tensor, ratio: Tensor, groups: Groups) -> Tensor:
    """The exact solution without checks: for callers that know their input is right.

    Args:
        logits: ``2 * scores / temperature`` ``[N]``, float32 or float64.
        ratio: Shares ``[G]`` in (0, 1].
        groups: Group of every element.
    """
    if is_exporting():  # for programs that run without this package
        return _solve(logits, ratio, groups)[0]
    function = _ExactWeights if torch.compiler.is_compiling() else _Composable
    weights, _ = function.apply(logits, ratio, groups)  # type: ignore[no-untyped-call]
    return weights  # type: ignore[no-any-return]


class _ExactWeights(torch.autograd.Function):
    """Weights with the gradient of the implicit function theorem.

    With v = w (1 - w) and brackets for sums over a group,
    ``dw = v (dx - <v, dx> / <v>) + dr N v / <v>``. Both w and its complement 1 - w are outputs: the
    difference would lose all digits where w is nearly 1. The backward pass is written in terms of
    the outputs, so that it can be differentiated again.
    """

    @staticmethod
    def forward(logits: Tensor, ratio: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
        if torch.compiler.is_compiling():
            return _solve_op(logits, ratio, groups.index, groups.num)  # type: ignore[no-any-return]
        return _solve(logits, ratio, groups)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, Tensor]) -> None:
        ctx.groups = inputs[2]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor | None, grad_complement: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None]:
        weights, complement = ctx.saved_tensors
        if grad_complement is not None:
            grad = -grad_complement if grad is None else grad - grad_complement
        if grad is None:
            return None, None, None
        groups: Groups = ctx.groups
        if not torch.compiler.is_compiling():
            runs, order = groups.in_runs
            groups = runs if order is None else groups  # quicker sums
        once = not torch.is_grad_enabled() and not ctx.needs_input_grad[1]
        if once and triton.available(weights):
            found = triton.gradient(weights, complement, grad, ctx.groups)
            if found is not None:
                return found, None, None
        v = weights * complement
        total = groups.sum(v).clamp(min=torch.finfo(v.dtype).tiny)
        pull = groups.sum(v * grad) / total
        grad_ratio = groups.counts(pull) * pull if ctx.needs_input_grad[1] else None
        return v * (grad - groups.spread(pull)), grad_ratio, None


class _Composable(_ExactWeights):
    """The same inside ``torch.func``: forward derivatives by the same formula, and ``vmap``.

    ``torch.compile`` knows no functions with these.
    """

    @staticmethod
    def jvp(
        ctx: Any, of_logits: Tensor | None, of_ratio: Tensor | None, _: None
    ) -> tuple[Tensor, Tensor]:
        weights, complement = ctx.saved_tensors
        groups: Groups = ctx.groups
        v = weights * complement
        total = groups.sum(v).clamp(min=torch.finfo(v.dtype).tiny)
        change = torch.zeros_like(v)
        if of_logits is not None:
            change = v * (of_logits - groups.spread(groups.sum(v * of_logits) / total))
        if of_ratio is not None:
            share = groups.counts(total) * of_ratio.to(v.dtype) / total
            change = change + v * groups.spread(share)
        return change, -change

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, logits: Tensor, ratio: Tensor, groups: Groups
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """As many groups as there are problems, each with its own."""
        size = info.batch_size
        given = (logits, in_dims[0], groups.size), (ratio, in_dims[1], groups.num)
        flat = [
            (one.expand(size, *one.shape) if dim is None else one.movedim(dim, 0)).reshape(-1)
            for one, dim, _ in given
        ]
        device = logits.device
        index = torch.zeros(groups.size, dtype=torch.long, device=device)
        index = index if groups.index is None else groups.index
        index = index + groups.num * torch.arange(size, device=device).unsqueeze(1)
        several = Groups(index.flatten(), size * groups.num, size * groups.size)
        found = _Composable.apply(*flat, several)  # type: ignore[no-untyped-call]
        weights, complement = (one.view(size, groups.size) for one in found)
        return (weights, complement), (0, 0)


def _solve(logits: Tensor, ratio: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    """The weights and their complements; on devices in a fixed number of steps of float32."""
    if triton.available(logits):
        solved = triton.solve(logits, ratio, groups)
        if solved is not None:
            return solved
    if logits.dtype == torch.float32 and not at_hand(logits):
        found = solve_dual32(logits, ratio, groups)
    else:
        found = solve_dual(logits.double(), ratio.double(), groups, tolerance(logits.dtype)).logits
    complement = torch.sigmoid(-found)
    return found.sigmoid_().to(logits.dtype), complement.to(logits.dtype)


# A loop that ends when the numbers say so cannot be traced, so torch.compile sees one operator.
@torch.library.custom_op(
    "gsina::solve_soft_top_r",
    mutates_args=(),
    schema="(Tensor logits, Tensor ratio, Tensor? index, SymInt num) -> (Tensor, Tensor)",
)
def _solve_op(
    logits: Tensor, ratio: Tensor, index: Tensor | None, num: int
) -> tuple[Tensor, Tensor]:
    return _solve(logits, ratio, Groups(index, num, logits.numel()))


@_solve_op.register_fake
def _(logits: Tensor, ratio: Tensor, index: Tensor | None, num: int) -> tuple[Tensor, Tensor]:
    return torch.empty_like(logits), torch.empty_like(logits)


def sinkhorn_weights(
    scaled: Tensor, ratio: Tensor, groups: Groups, iterations: int
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A number of the paper's sweeps without checks; ``scaled`` is ``scores / temperature``.

    Returns:
        Weights ``[N]``; the dual and the error of the mean after every sweep, ``[sweeps, G]``.
    """
    # A share of 1 has no finite dual: solve for 1/2 and shift the logits to infinity.
    everything = ratio.detach() >= 1
    wide = widest(scaled.device)
    share = torch.where(everything, 0.5, ratio.to(wide))
    logits, duals, errors = sinkhorn(scaled.to(wide), share, groups, iterations)
    beyond = torch.where(everything, torch.inf, 0.0)
    weights = torch.sigmoid(logits + groups.spread(beyond)).to(scaled.dtype)
    return weights, (duals + beyond, errors.masked_fill(everything, 0.0))


def _diagnose(
    scaled: Tensor, ratio: Tensor, groups: Groups, history: tuple[Tensor, Tensor] | None
) -> Diagnostics:
    """Solve once more, outside autograd, and measure."""
    x = 2 * scaled.double()
    if history is None:
        logits, dual, iterations = solve_dual(x, ratio, groups, tolerance(scaled.dtype))
    else:
        dual, iterations = history[0][-1], history[0].size(0)
        logits = x + groups.spread(dual)
    runs, order = groups.in_runs
    logits = logits if order is None else logits[order]
    weights = torch.sigmoid(logits)
    counts = runs.counts(weights)
    mean = runs.sum(weights) / counts
    slope = runs.sum(weights * torch.sigmoid(-logits)) / counts / (mean * (1 - mean))
    return Diagnostics(
        dual=dual,
        iterations=iterations,
        residual=(mean - ratio).abs(),
        slope=slope.masked_fill((ratio >= 1) & (counts > 0), 0.0),
        dual_history=None if history is None else history[0],
        error_history=None if history is None else history[1],
    )


def _diagnose_quadratic(scaled: Tensor, ratio: Tensor, groups: Groups) -> Diagnostics:
    """Solve once more, outside autograd, and measure."""
    weights, dual, iterations = project(scaled.double(), ratio, groups)
    counts = groups.counts(weights)
    band = (weights > 0) & (weights < 1)
    return Diagnostics(
        dual=dual,
        iterations=iterations,
        residual=(groups.sum(weights) / counts - ratio).abs(),
        slope=groups.sum(band.double()) / counts,
    )


def tolerance(dtype: torch.dtype) -> float:
    """Largest error of the dual that weights of this type do not show."""
    return 1e-9 if dtype == torch.float32 else 1e-13
