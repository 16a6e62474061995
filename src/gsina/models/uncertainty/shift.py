"""`Shift`: how much likelier a row is among new data than among validation data.

A logistic regression tells the two apart by the model's states; its odds are the ratio of the
densities, which weights validation rows in conformal prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError

#: Penalties that cross-validation chooses from; the first makes all rows alike.
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
#: No row counts more than this times an even one, or less than one of this.
LARGEST = 50.0
#: Fewer rows than this cannot be told apart.
FEWEST = 20
FOLDS = 5


@dataclass(frozen=True)
class Shift:
    """Density ratio of new rows over validation rows, up to a factor.

    Attributes:
        slope: Of the logarithm, by state ``[H]``.
        start: Its value at 0.
    """

    slope: Tensor
    start: float

    def weights(self, states: Tensor) -> Tensor:
        """The ratio at rows of states ``[G, H]``, as ``[G]``."""
        # Row by row: a matrix product rounds in other ways for other numbers of rows.
        odds = (states.double() * self.slope).sum(1) + self.start
        return odds.clamp(-math.log(LARGEST), math.log(LARGEST)).exp()


def find_shift(old: Tensor, new: Tensor) -> Shift:
    """Fit the ratio of the densities of two samples of states, ``[V, H]`` and ``[M, H]``.

    The penalty is the one with the best likelihood on held-out rows, so that samples that cannot be
    told apart have weights of nearly 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    if min(len(old), len(new)) < FEWEST:
        raise InputError(
            f"a shift is estimated from at least {FEWEST} validation rows and as many new ones, "
            f"got {len(old)} and {len(new)}; predict without --shift."
        )
    x = torch.cat([old, new]).double().numpy()
    centre, spread = x.mean(0), x.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled: NDArray[np.float64] = (x - centre) / spread
    side = np.repeat([0, 1], [len(old), len(new)])

    def regression(penalty: float) -> LogisticRegression:
        return LogisticRegression(C=penalty, class_weight="balanced", max_iter=1000)

    # An even number of each side in every fold; the order in the file must not matter.
    order = np.random.default_rng(0).permutation(len(side))
    scores = [
        cross_val_score(
            regression(penalty), scaled[order], side[order], cv=FOLDS, scoring="neg_log_loss"
        ).mean()
        for penalty in PENALTIES
    ]
    best = regression(PENALTIES[int(np.argmax(scores))]).fit(scaled, side)
    slope = best.coef_[0] / spread
    return Shift(torch.from_numpy(slope), float(best.intercept_[0] - (slope * centre).sum()))


class Sample:
    """Evenly spread rows of a stream of unknown length, at most twice ``most`` in memory.

    Which rows are kept depends on their place in the stream only, not on its chunks.
    """

    def __init__(self, most: int) -> None:
        self.most, self.step, self.seen = most, 1, 0
        self._kept: list[Tensor] = []

    def add(self, rows: Tensor) -> None:
        """Take the next rows ``[G, H]``."""
        places = torch.arange(self.seen, self.seen + len(rows))
        self._kept += list(rows[places % self.step == 0].clone().unbind(0))
        self.seen += len(rows)
        while len(self._kept) > 2 * self.most:
            self._kept = self._kept[::2]
            self.step *= 2

    def rows(self) -> Tensor:
        """What was kept ``[M, H]``."""
        return torch.stack(self._kept) if self._kept else torch.zeros(0, 0)
