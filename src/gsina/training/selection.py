"""Which epoch is reported: rules by name. None of them ever sees test data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gsina.errors import check_name


class Score(NamedTuple):
    """Validation result of an epoch: the metric (larger is better) and the loss."""

    metric: float
    loss: float


@dataclass(frozen=True)
class Selection:
    """A rule that says whether an epoch beats the best so far.

    Attributes:
        patience: Stop after this many epochs in a row without a better one; ``None``: never.
        first_epoch: Epochs before this one, counted from 0, are not eligible; they never count as
            epochs without a better one.
    """

    name: ClassVar[str] = ""
    #: Whether epochs before ``first_epoch`` are eligible after all.
    early: ClassVar[bool] = False
    patience: int | None = None
    first_epoch: int = 0

    def better(self, epoch: int, new: Score, best: Score | None) -> bool:
        """Whether the epoch replaces the best so far; a NaN never does."""
        too_early = epoch < self.first_epoch and not self.early
        if too_early or new.metric != new.metric:
            return False
        return best is None or self.beats(new, best)

    def beats(self, new: Score, best: Score) -> bool:
        """The rule proper."""
        raise NotImplementedError


class LatestBest(Selection):
    """GSINA's rule: the best validation metric; of equal ones the latest."""

    name = "latest-best"

    def beats(self, new: Score, best: Score) -> bool:
        """At least as good."""
        return new.metric >= best.metric


class StrictBest(Selection):
    """GSAT's rule: the best validation metric; of equal ones the lower validation loss.

    GSAT makes only those epochs eligible in which its prior has reached the final value, and none
    of the first ten: ``first_epoch``.
    """

    name = "strict-best"

    def beats(self, new: Score, best: Score) -> bool:
        """Strictly better, or equal with a lower loss."""
        return new.metric > best.metric or (new.metric == best.metric and new.loss < best.loss)


class FirstBest(Selection):
    """GSINA's rule on the TU sets of the CIGA benchmark: the best metric; of equal ones the first.

    Its "pretraining" of 30 epochs is no phase of its own: it is ``first_epoch``.
    """

    name = "first-best"

    def beats(self, new: Score, best: Score) -> bool:
        """Strictly better."""
        return new.metric > best.metric


class CIGABest(FirstBest):
    """CIGA's rule: the same, but epochs of its "pretraining" may be selected.

    Before ``first_epoch`` only the patience is frozen. The released code starts from a best metric
    of 0, so that a run whose metric stays below reports nothing; here its best epoch counts.
    """

    name = "ciga-best"
    early = True


#: The rules that select an epoch, by name.
SELECTIONS: dict[str, type[Selection]] = {
    rule.name: rule for rule in (LatestBest, StrictBest, FirstBest, CIGABest)
}


def make_selection(name: str, patience: int | None = None, first_epoch: int = 0) -> Selection:
    """A rule by name."""
    rule = SELECTIONS[check_name(name, SELECTIONS, "selection rule")]
    return rule(patience=patience, first_epoch=first_epoch)
