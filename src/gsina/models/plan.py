"""`Plan`: what to train and how, and the trainings that it consists of."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from gsina.errors import InputError, check_name
from gsina.methods import METHODS, make_config
from gsina.nn.predictor import NetworkSpec
from gsina.ops.budget import both_given
from gsina.training.loop import Settings
from gsina.training.selection import Selection, StrictBest

#: The shares of the edges that ``ratio="auto"`` tries.
RATIOS = (0.3, 0.5, 0.7)


@dataclass(frozen=True)
class Plan:
    """What to train and how.

    Attributes:
        spec: How to make the networks.
        method: Name of the method.
        options: Its settings.
        auto_ratio: Train once with each of :data:`RATIOS` and keep the best on validation data.
        settings: Optimisation.
        selection: Which epoch is selected, and when to stop.
        seed: Seed of initialisation, shuffling, dropout and noise.
        threshold: Choose the thresholds of yes-or-no answers on validation data.
        ensemble: Members of the model, trained with ``seed``, ``seed + 1``, ...; the ratio is
            chosen by the first of them.
        trees: Whether boosted trees on the features of whole graphs answer beside the network,
            which then sees the graph alone.
    """

    spec: NetworkSpec
    method: str = "gsina"
    options: dict[str, Any] = field(default_factory=dict)
    auto_ratio: bool = False
    settings: Settings = field(default_factory=Settings)
    selection: Selection = field(default_factory=StrictBest)
    seed: int = 0
    threshold: bool = False
    ensemble: int = 1
    trees: bool = False

    def __post_init__(self) -> None:
        if self.auto_ratio:
            check_budget(self.method, {**self.options, "ratio": "auto"})
        if not isinstance(self.ensemble, numbers.Integral) or self.ensemble < 1:
            raise InputError(
                f"ensemble must be a whole number of members, 1 or more, got {self.ensemble!r}."
            )

    @property
    def network_spec(self) -> NetworkSpec:
        """How to make the networks: features of whole graphs are for the trees, if there are."""
        return replace(self.spec, graph_channels=0) if self.trees else self.spec

    def trials(self) -> list[Trial]:
        """The first training, or several of which the best is kept if the ratio is chosen."""
        first = Trial(self.options, self.seed, member=0 if self.ensemble > 1 else None)
        if not self.auto_ratio:
            return [first]
        return [
            first._replace(options={**self.options, "ratio": ratio}, ratio=ratio)
            for ratio in RATIOS
        ]

    def other_members(self, kept: Trial) -> list[Trial]:
        """The trainings of the other members, with the settings of the first."""
        return [
            Trial(kept.options, self.seed + member, member=member)
            for member in range(1, self.ensemble)
        ]


class Trial(NamedTuple):
    """One training.

    Attributes:
        options: Settings of the method.
        seed: Its seed.
        ratio: The ratio, if several are tried.
        member: Its number in an ensemble.
    """

    options: dict[str, Any]
    seed: int
    ratio: float | None = None
    member: int | None = None

    @property
    def name(self) -> str:
        """What distinguishes it from the other trainings of a plan."""
        member = [] if self.member is None else [f"seed {self.seed}"]
        return ", ".join([*member, *([] if self.ratio is None else [f"ratio {self.ratio}"])])

    def folder(self, out: Path | None) -> Path | None:
        """Where its checkpoint goes."""
        if out is None:
            return None
        out = out if self.member is None else out / f"member-{self.member}"
        return out if self.ratio is None else out / f"ratio-{self.ratio}"


def trial_folders(out: Path) -> list[Path]:
    """The folder of a run, and those in it where trials have left checkpoints."""
    found = [out]
    for pattern in ("ratio-*", "member-*", "member-*/ratio-*"):
        found += sorted(out.glob(pattern))
    return found


def own_data_options(method: str, given: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Settings of a method, with defaults that suit users' own data better than its benchmark's.

    On molecules the paper's two-layer scorer is quicker than that of the GSAT benchmark, and was
    better on validation data; so are, for whole graphs, weights that make up for the noise of
    training. For nodes these were worse.

    Args:
        method: Name of the method.
        given: Settings that the user gave, which come first.
        level: Whether whole graphs (``graph``) or nodes (``node``) are predicted.
    """
    usual: dict[str, Any] = {}
    if method == "gsina":
        usual["scorer"] = "plain"
        exact = given.get("transport", "exact") == "exact"
        if level == "graph" and exact and given.get("regulariser", "entropic") == "entropic":
            usual["expected"] = True
    return usual | dict(given)


def first_epoch(method: str, options: dict[str, Any]) -> int:
    """The first epoch that may be selected: GSAT's prior has to settle first."""
    return int(getattr(make_config(method, options), "first_eligible_epoch", 0))


def has_option(method: str, option: str) -> bool:
    """Whether a method has a setting of this name."""
    entry = METHODS[check_name(method, METHODS, "method")]
    return option in {one.name for one in fields(entry.config)}


def check_budget(method: str, options: Mapping[str, Any]) -> None:
    """Refuse a ratio beside a budget, and those (and a temperature) of a method without one.

    Args:
        method: Name of the method.
        options: Its settings as the user gave them; a ratio may be ``"auto"``.
    """
    ratio, budget = options.get("ratio"), options.get("budget")
    if ratio is not None and budget is not None:
        raise both_given(ratio, budget)
    for name in ("ratio", "budget", "temperature"):
        value = options.get(name)
        if value is not None and not has_option(method, name):
            got = " to choose" if value == "auto" else f", got {value}"
            able = ", ".join(sorted(other for other in METHODS if has_option(other, name)))
            raise InputError(
                f"method {method} has no {name}{got}; leave it out, or use one that has: {able}."
            )
