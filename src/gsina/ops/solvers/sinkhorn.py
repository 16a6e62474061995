"""The paper's own iterations: alternate row and column normalisation of the transport plan.

With two rows a sweep reduces to one number per group. After the row and the column step of sweep k
the invariant row of the plan is ``sigmoid(2 s / tau + dual_k)`` with

    dual_1 = logit(r) - logsumexp(s / tau) + logsumexp(-s / tau)
    dual_k+1 = dual_k + logit(r) - logit(mean of the weights of sweep k),

so every column sums to 1 exactly and the row sums converge. Nothing is padded. The gradient is that
of the unrolled sweeps; its memory grows with their number (the exact solver's does not).
"""

from __future__ import annotations

import torch
from torch import Tensor

from gsina.ops.groups import Groups


def sinkhorn(
    scores: Tensor, ratio: Tensor, groups: Groups, iterations: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Run ``iterations`` sweeps, each row-then-column.

    Args:
        scores: Scores over temperature ``[N]``, float64.
        ratio: Shares ``[G]``, float64, in (0, 1).
        groups: Group of every element.
        iterations: Number of sweeps, at least 1.

    Returns:
        Logits of the weights ``[N]``; the dual after every sweep ``[iterations, G]``; the error of
        the group mean after every sweep ``[iterations, G]`` (NaN for empty groups).
    """
    counts = groups.counts(scores)
    target = torch.logit(ratio)
    full = counts > 0
    zero = torch.zeros_like(target)
    first = groups.logsumexp(-scores) - groups.logsumexp(scores)
    dual = target + torch.where(full, first, zero)
    duals, errors = [], []
    for sweep in range(iterations):
        logits = 2 * scores + groups.spread(dual)
        mean = groups.sum(torch.sigmoid(logits)) / counts
        duals.append(dual.detach())
        errors.append((mean.detach() - ratio).abs())
        if sweep + 1 < iterations:
            dual = dual + torch.where(full, target - torch.logit(mean), zero)
    return logits, torch.stack(duals), torch.stack(errors)
