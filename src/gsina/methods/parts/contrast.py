"""Contrast: graph states of one class close together, those of others apart."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.graphs.task import Task
from gsina.ops.ragged import number_rows


def class_numbers(y: Tensor, task: Task) -> Tensor:
    """Class of every graph as a number ``[G]``, int64; -1 where a label is missing.

    Several binary labels are one class if they agree in all columns, and none if any is missing.
    """
    if task.kind == "multiclass":
        return y
    missing = y.isnan().any(1)
    return torch.where(missing, -1, number_rows(torch.where(y.isnan(), 0, y))[1])


def pairs(number: Tensor) -> tuple[Tensor, Tensor]:
    """Which pairs of two graphs are of the same class, and which of different ones.

    Args:
        number: Class of every graph ``[G]``; one that is -1 is in no pair.

    Returns:
        Two masks ``[G, G]``, bool.
    """
    known = number != -1
    both = known.unsqueeze(0) & known.unsqueeze(1)
    equal = number.unsqueeze(0) == number.unsqueeze(1)
    alone = torch.eye(number.numel(), dtype=torch.bool, device=number.device)
    return both & equal & ~alone, both & ~equal


def telling_pairs(same: Tensor, different: Tensor, mixed_up: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs that a network which follows what is spurious gets wrong.

    Args:
        same: Pairs of one class ``[G, G]``, bool.
        different: Pairs of two classes.
        mixed_up: Pairs that such a network takes for alike.

    Returns:
        Positives, of one class and told apart, and negatives, of two classes and mixed up; all
        pairs of the kind where there is none.
    """
    positive, negative = same & ~mixed_up, different & mixed_up
    return (
        torch.where(positive.any(), positive, same),
        torch.where(negative.any(), negative, different),
    )


def contrastive_loss(
    states: Tensor, positive: Tensor, negative: Tensor, temperature: float = 1.0
) -> Tensor:
    """Supervised contrastive loss.

    With s_ij the cosine of two states over the temperature, P_i and N_i the positives and negatives
    of anchor i,

        L_i = - mean_{j in P_i} [ s_ij - log sum_{k in P_i or N_i} exp s_ik ],

    averaged over the anchors that have a positive; 0 if there is none.

    Args:
        states: Graph states ``[G, H]``.
        positive: Which j are positives of anchor i ``[G, G]``, bool.
        negative: Which are negatives.
        temperature: Above 0.
    """
    unit = F.normalize(states, dim=1, eps=1e-6)
    similarity = unit @ unit.T / temperature
    # The lowest number instead of -inf: a row without any pair then has no NaN gradient.
    lowest = torch.finfo(similarity.dtype).min
    pool = similarity.masked_fill(~(positive | negative), lowest)
    gain = similarity - pool.logsumexp(1, keepdim=True)
    count = positive.sum(1)
    each = torch.where(positive, gain, 0).sum(1) / count.clamp(min=1)
    return -each.sum() / (count > 0).sum().clamp(min=1)


def class_contrast(states: Tensor, y: Tensor, task: Task, temperature: float = 1.0) -> Tensor:
    """:func:`contrastive_loss` of all pairs of labelled graphs."""
    return contrastive_loss(states, *pairs(class_numbers(y, task)), temperature)
