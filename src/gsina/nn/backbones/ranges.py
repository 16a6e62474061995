"""Which values the settings of networks may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gsina.errors import InputError

#: Settings that count something: the smallest number.
LEAST = {"hidden_channels": 1, "num_layers": 1, "heads": 1, "hops": 0}
#: Settings that are a share, from 0 to below 1.
SHARES = ("dropout", "propagation_dropout")


def check_ranges(options: Mapping[str, Any]) -> None:
    """Refuse settings of a network that are out of range.

    Raises:
        InputError: With the name, what it must be, and the value.
    """
    for name, value in options.items():
        if name in LEAST and not value >= LEAST[name]:
            raise InputError(f"{name} must be {LEAST[name]} or more, got {value}.")
        if name in SHARES and not 0 <= value < 1:
            raise InputError(f"{name} must lie between 0 and below 1, got {value}.")
