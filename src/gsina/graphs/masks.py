"""Splits of one graph's nodes: the same graph, with the mask of each split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.cells import number
from gsina.graphs.split_rules import Parts

#: Shares of train and val among nodes; the rest is for testing.
NODE_SHARES = (0.6, 0.2)


def check_apart(masks: Mapping[str, Tensor], where: str = "") -> None:
    """Refuse masks of parts that share a node: its score would flatter the model.

    Args:
        masks: Part, such as ``train``, to mask ``[N]``.
        where: What the sentence starts with, such as the name of a file and a colon.
    """
    for (one, first), (other, second) in combinations(masks.items(), 2):
        if bool((both := first & second).any()):
            raise InputError(
                f"{where}node {int(both.nonzero()[0])} is in {one}_mask and in {other}_mask; "
                "expected every node in one of them at most."
            )


def by_environment(cells: Sequence[str], column: str) -> Parts:
    """The last environments are the test, those before them val.

    Environments are sorted as numbers, or as text if one of them is none. A fifth of them, but at
    least one, is for each of test and val; of two environments, none is for val.

    Args:
        cells: Environment of every node.
        column: Name of the column.
    """
    texts = [cell.strip() for cell in cells]
    numbers = {text: number(text) for text in set(texts)}
    plain = all(value is not None for value in numbers.values())
    order = sorted(numbers, key=lambda text: (numbers[text] if plain else 0, text))
    if len(order) < 2:
        raise InputError(
            f"column {column!r} has one environment only, {order[0]!r}; expected at least two."
        )
    held = max(1, round(NODE_SHARES[1] * len(order)))
    first = max(1, len(order) - 2 * held)
    side = dict.fromkeys(order[:first], "train")
    side |= dict.fromkeys(order[first : len(order) - held], "val")
    side |= dict.fromkeys(order[len(order) - held :], "test")
    sides = np.array([side[text] for text in texts])
    return {part: np.flatnonzero(sides == part) for part in ("train", "val", "test")}
