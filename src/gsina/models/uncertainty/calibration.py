"""`Calibration`: how logits become probabilities and decisions, fitted on validation data.

A network that was trained to the end is too sure of itself. Dividing its logits by one number, the
temperature, mends that without a change of order (Guo et al., On calibration of modern neural
networks, 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from scipy.optimize import minimize_scalar
from torch import Tensor

from gsina.graphs.task import Task

#: Temperatures are looked for between 1/20 and 20.
WIDEST = math.log(20)
#: Fewer labels than this say nothing about a temperature.
FEWEST = 10


@dataclass(frozen=True)
class Calibration:
    """What is done to the logits of a classifier; the default is nothing.

    Attributes:
        temperature: What logits are divided by: one number, of several targets one each.
        offset: Added to the logits before that ``[outputs]``: minus the logarithm of the weights
            that classes had in the loss, so that probabilities are those of the data; ``()``: 0.
        cut: The logit, as the network gives it, above which a yes-or-no output says yes
            ``[outputs]``; ``()``: 0.
        share: Where there were too few labels to choose a cut by, the share of training labels that
            are yes, which it gives on validation data ``[outputs]``; elsewhere 0.
    """

    temperature: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = ()
    cut: tuple[float, ...] = ()
    share: tuple[float, ...] = ()

    def apply(self, logits: Tensor) -> Tensor:
        """Logits of calibrated probabilities, in the shape of ``logits``."""
        shifted = logits + torch.tensor(self.offset) if self.offset else logits
        return (shifted / torch.tensor(self.temperature)).to(logits.dtype)

    def decided(self, logits: Tensor) -> Tensor:
        """Logits whose sign is the decision of a yes-or-no output."""
        return logits - torch.tensor(self.cut, dtype=logits.dtype) if self.cut else logits


def fit_temperature(logits: Tensor, y: Tensor, task: Task) -> tuple[float, ...]:
    """The temperature with the smallest loss on labels: one number, of several targets one each.

    It is 1 where there are fewer than 10 labels, or all are of one class. A label of a class with
    ``n`` counts as sure to ``(n + 1) / (n + 2)`` only (Platt, Probabilistic outputs for support
    vector machines, 1999), so that a few rows that are all told apart do not make the model sure of
    everything. The loss is convex in the inverse temperature.

    Args:
        logits: ``[G, outputs]``, with offsets added.
        y: Labels, as the task says.
        task: The task; not regression.
    """
    if task.kind == "multiclass":
        known = y >= 0
        return (_one_temperature(logits[known], y[known], task),)
    found = []
    for values, labels in zip(logits.T, y.T, strict=True):
        known = ~labels.isnan()
        pair = values[known].unsqueeze(1), labels[known].unsqueeze(1)
        found.append(_one_temperature(*pair, task))
    return tuple(found)


def _one_temperature(logits: Tensor, y: Tensor, task: Task) -> float:
    if len(y) < FEWEST or bool((y == y[0]).all()):
        return 1.0

    scores, classes = logits.double(), y
    if task.kind != "multiclass":
        scores = torch.cat([torch.zeros_like(scores), scores], dim=1)
        classes = y[:, 0].long()
    doubt = 1 / (torch.bincount(classes)[classes] + 2.0).unsqueeze(1)
    own = F.one_hot(classes, scores.size(1)).double()
    target = own * (1 - doubt) + (1 - own) * doubt / (scores.size(1) - 1)

    def loss(log_temperature: float) -> float:
        return float(F.cross_entropy(scores / math.exp(log_temperature), target))

    best = minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded")
    return math.exp(float(best.x)) if best.fun < loss(0.0) else 1.0
