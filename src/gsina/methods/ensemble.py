"""`Ensemble`: several trained methods that answer as one, by the mean of their answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.nn.attention import Attention


class MeanOutput(Output):
    """The mean of several outputs, which remembers the logits that it is the mean of.

    Attributes:
        members: Logits of every member ``[G, members, outputs]``.
    """

    members: Tensor

    @classmethod
    def of(cls, outputs: Sequence[Output], task: Task) -> MeanOutput:
        """The mean of what members say of one batch.

        Weights of edges and nodes are averaged as they are. The scores behind them have no unit
        that members share, so there are none of the mean.
        """
        each = torch.stack([output.logits for output in outputs], dim=1)
        attended = [output.attention for output in outputs if output.attention is not None]
        attention = None
        if len(attended) == len(outputs):
            nodes = [one.node for one in attended if one.node is not None]
            attention = Attention(
                torch.stack([one.edge for one in attended]).mean(0),
                torch.stack(nodes).mean(0) if len(nodes) == len(attended) else None,
            )
        made = cls(mean_logits(each, task), attention)
        made.members = each
        return made


class Ensemble(Method):
    """Trained methods of one kind, whose answers are averaged.

    Its states (:attr:`last_layer`, ``predictor``) and settings are those of the first member. It is
    not trained itself: its members are, each by itself.

    Args:
        members: Two or more methods for one task.
    """

    def __init__(self, members: Sequence[Method]) -> None:
        super().__init__(members[0].task)
        self.members = nn.ModuleList(members)
        self.batch_invariant = all(member.batch_invariant for member in members)
        self.keeps_top_share = members[0].keeps_top_share
        self.config = members[0].config

    @property
    def last_layer(self) -> nn.Module | None:
        """The layer of the first member that makes logits of states."""
        return self._first.last_layer

    @property
    def predictor(self) -> nn.Module | None:
        """The predictor of the first member, if it has one."""
        return getattr(self._first, "predictor", None)

    @property
    def _first(self) -> Method:
        first = self.members[0]
        assert isinstance(first, Method)
        return first

    def forward(self, batch: Batch) -> Output:
        """The mean of the members' answers."""
        return MeanOutput.of([member(batch) for member in self.members], self.task)


def mean_logits(each: Tensor, task: Task) -> Tensor:
    """Logits of the mean probabilities, or mean values, of members ``[G, outputs]``.

    Logits, so that whatever works on those of one network works on these: temperatures, thresholds.

    Args:
        each: Logits or values of every member ``[G, members, outputs]``.
        task: Says which.
    """
    if task.kind == "regression":
        return each.mean(1)
    if task.kind == "multiclass":
        return each.log_softmax(-1).logsumexp(1) - math.log(each.size(1))
    return F.logsigmoid(each).logsumexp(1) - F.logsigmoid(-each).logsumexp(1)
