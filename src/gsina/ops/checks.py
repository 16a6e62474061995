"""What :func:`~gsina.soft_top_r` accepts, and one sentence for what it does not."""

from __future__ import annotations

from numbers import Integral, Real

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.ops.groups import Groups
from gsina.ops.host import is_mapped, widest

#: Largest score in units of the temperature; beyond it the weights lose their exactness.
LARGEST = 1e9
#: Most groups per score where their number is not given: more are surely ids of something.
MOST_GROUPS = 10_000


def check_input(
    scores: Tensor,
    ratio: float | Tensor,
    index: Tensor | None,
    temperature: float | Tensor,
    num_groups: int | None,
) -> Groups:
    """Refuse bad input with a ``ValueError``; return the groups.

    Inside ``torch.func.vmap`` numbers cannot be looked at, and are taken to be right.

    All numbers are looked at in one question to the device, and again only to say what is wrong.
    """
    for name, value in (("scores", scores), ("index", index)):
        if value is not None and not isinstance(value, Tensor):
            raise InputError(f"{name} must be a torch tensor, got a {type(value).__name__}.")
    if scores.dim() != 1 or not scores.is_floating_point():
        raise InputError(
            f"scores must be a floating-point tensor of shape [N], got {scores.dtype} of shape "
            f"{list(scores.shape)}."
        )
    for name, number in (("ratio", ratio), ("temperature", temperature)):
        if not isinstance(number, (Real, Tensor)):
            raise InputError(f"{name} must be a number or a tensor, got {number!r}.")
    groups = _groups(scores, index, num_groups)
    tau = torch.as_tensor(temperature, dtype=widest(scores.device), device=scores.device).detach()
    share = torch.as_tensor(ratio, dtype=widest(scores.device), device=scores.device).detach()
    if tau.dim() > 0:
        raise InputError(f"temperature must be one number, got shape {list(tau.shape)}.")
    if share.dim() > 1 or (share.dim() == 1 and share.numel() != groups.num):
        raise InputError(
            f"ratio must be a number or one per group, that is shape [{groups.num}], got shape "
            f"{list(share.shape)}."
        )
    values = scores.detach()
    good = [tau > 0, ((share > 0) & (share <= 1)).all()]
    if values.numel():
        good.append(values.abs().max() <= LARGEST * tau)
        if index is not None:
            low, high = index.aminmax()
            good.append((low >= 0) & (high < groups.num))
    well = torch.stack(good).all()
    mapped = not torch.compiler.is_compiling() and is_mapped(well)
    if not mapped and not bool(well):
        _explain(values, share, tau, groups)
    return groups


def _groups(scores: Tensor, index: Tensor | None, num_groups: int | None) -> Groups:
    if num_groups is not None and not (isinstance(num_groups, Integral) and num_groups >= 0):
        raise InputError(f"num_groups must be a whole number, 0 or more, got {num_groups!r}.")
    if index is None:
        if num_groups not in (None, 1):
            raise InputError(f"without an index there is 1 group, got num_groups={num_groups}.")
        return Groups.single(scores.numel())
    if index.dtype != torch.long or index.shape != scores.shape:
        raise InputError(
            f"index must be int64 of the scores' shape {list(scores.shape)}, got {index.dtype} of "
            f"shape {list(index.shape)}."
        )
    if num_groups is None:
        num_groups = int(index.max()) + 1 if index.numel() else 0
        if num_groups > MOST_GROUPS * (index.numel() + 1):
            raise InputError(
                f"index goes up to {num_groups - 1} for {index.numel()} scores, which looks like "
                "ids; number the groups by torch.unique(ids, return_inverse=True)[1], or pass "
                "num_groups."
            )
    return Groups(index, max(num_groups, 0), scores.numel())


def _explain(scores: Tensor, share: Tensor, tau: Tensor, groups: Groups) -> None:
    """Raise the ``ValueError`` that names the first wrong number."""
    if not bool(tau > 0):
        raise InputError(f"temperature must be above 0, got {float(tau)}.")
    wrong = ~((share > 0) & (share <= 1))
    if bool(wrong.any()):
        raise InputError(f"ratio must lie in (0, 1], got {float(share[wrong].flatten()[0])}.")
    bad = ~scores.isfinite()
    if bool(bad.any()):
        where = int(bad.nonzero()[0])
        raise InputError(
            f"scores must be finite, got {scores[where].item()} at position {where} "
            f"({int(bad.sum())} such values in all)."
        )
    if groups.index is not None:
        low, high = (int(bound) for bound in groups.index.aminmax())
        if low < 0 or high >= groups.num:
            raise InputError(
                f"index must be at least 0 and below the number of groups, {groups.num}, got "
                f"values from {low} to {high}."
            )
    raise InputError(
        f"scores must be at most {LARGEST:.0e} times the temperature {float(tau):g}, got "
        f"{float(scores.abs().max()):g}; scale them down or raise the temperature."
    )
