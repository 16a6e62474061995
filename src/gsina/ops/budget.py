"""`Budget`: what an attention may keep, a share of the edges or a number of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from gsina.errors import InputError

#: A share below is less than one of all the edges that a machine can hold, and 0 in float32.
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Budget:
    """A share of the edges of every graph, or a number of them; exactly one is given.

    Attributes:
        share: Share r of the edges, 0 < r <= 1.
        count: Number of edges per graph, above 0, both directions of an undirected edge counted
            once; it need not be whole. A graph with no more edges than that keeps them all.
    """

    share: float | None = None
    count: float | None = None

    def __post_init__(self) -> None:
        if (self.share is None) == (self.count is None):
            raise InputError(
                f"a budget is a share of the edges or a number of them, got share {self.share} "
                f"and count {self.count}; give one of the two."
            )
        if self.share is not None and not 0 < self.share <= 1:
            raise InputError(f"ratio must lie in (0, 1], got {self.share}.")
        if self.share is not None and self.share < LEAST_SHARE:
            raise InputError(f"ratio must be at least {LEAST_SHARE:g}, got {self.share}.")
        if self.count is not None and not 0 < self.count < math.inf:
            raise InputError(f"budget must be a number of edges above 0, got {self.count}.")

    @classmethod
    def of(cls, ratio: float | None = None, budget: float | None = None) -> Budget:
        """From a user's values: the number of edges ``budget`` if it is given, else the share."""
        return cls(share=ratio) if budget is None else cls(count=budget)

    @classmethod
    def of_settings(cls, settings: object) -> Budget | None:
        """That of a method's settings, or ``None`` if they know neither ratio nor budget."""
        ratio, budget = getattr(settings, "ratio", None), getattr(settings, "budget", None)
        return None if ratio is None and budget is None else cls.of(ratio, budget)

    def ratios(self, sizes: Tensor) -> Tensor | float:
        """The share of each group: r for all, or ``min(1, count / size)`` ``[G]``.

        Args:
            sizes: Edges of each group ``[G]``, float64; an empty group has the share 1.
        """
        if self.count is not None:
            return (self.count / sizes).clamp(max=1)
        assert self.share is not None
        return self.share

    @property
    def symbol(self) -> str:
        """In short, as in tables: ``r = 0.3`` or ``8 edges``."""
        return str(self) if self.share is None else f"r = {self.share:g}"

    def __str__(self) -> str:
        if self.share is not None:
            return f"{100 * self.share:g} % of the edges"
        return f"{self.count:g} edge{'' if self.count == 1 else 's'}"


def both_given(ratio: object, budget: object) -> InputError:
    """What to say if a user gives a share of the edges beside a number of them."""
    return InputError(
        f"expected a ratio or a budget, got ratio {ratio} and budget {budget}; leave one out."
    )
