"""Answers before and after something is taken away: probabilities, decisions, divergences."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gsina.models.answers import target_names
from gsina.models.model import Model


@dataclass(frozen=True)
class Answers:
    """What a model answers to the graphs as they are, to compare with.

    Attributes:
        model: The model.
        logits: ``[G, outputs]``; at node level ``[N, outputs]``.
    """

    model: Model
    logits: Tensor

    @property
    def numbers(self) -> bool:
        """Whether the answers are numbers, and no classes."""
        return self.model.task.kind == "regression"

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of several targets, whose answers are taken together; ``()`` for a single one."""
        task = self.model.task
        several = task.outputs > 1 and task.kind != "multiclass"
        return tuple(target_names(self.model)) if several else ()

    def sure(self, logits: Tensor) -> Tensor:
        """Probability of the answer that the whole graph gets ``[..., G]``.

        Of several yes-or-no targets it is the mean over these; of numbers it is the number, or the
        mean of several.

        Args:
            logits: Logits ``[..., G, outputs]``, of the same graphs or parts of them.
        """
        if self.numbers:
            return logits.mean(-1)
        share = self.model.probabilities(logits)
        answer = self.model.classes(self.logits)
        if self.model.task.kind == "multiclass":
            return share.gather(-1, answer.expand(share.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return torch.where(answer.bool(), share, 1 - share).mean(-1)

    def changed(self, logits: Tensor) -> Tensor:
        """Share of the targets that get another answer ``[..., G]``: 0 or 1 with one target.

        Numbers have no other answer: NaN.
        """
        if self.numbers:
            return torch.full(logits.shape[:-1], torch.nan)
        other = self.model.classes(logits) != self.model.classes(self.logits)
        other = other if other.dim() == logits.dim() else other.unsqueeze(-1)
        return other.double().mean(-1)

    def unfaithfulness(self, logits: Tensor) -> Tensor:
        """``1 - exp(-KL)`` of the probabilities of all classes ``[..., G]``, as PyG has it.

        The divergence is that of the masked answer from the whole one. PyG's is always 0 for one
        yes-or-no output, whose softmax is 1; here such an output has two classes.
        """
        if self.numbers:
            return torch.full(logits.shape[:-1], torch.nan)
        if self.model.task.kind == "multiclass":
            whole, part = self.logits.log_softmax(-1), logits.log_softmax(-1)
            distance = (part.exp() * (part - whole)).sum(-1)
        else:
            distance = torch.zeros_like(logits)
            for sign in (1, -1):  # yes and no
                whole, part = (F.logsigmoid(sign * one) for one in (self.logits, logits))
                distance = distance + part.exp() * (part - whole)
            distance = distance.mean(-1)
        return 1 - torch.exp(-distance)
