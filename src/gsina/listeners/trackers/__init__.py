"""Trackers of experiments by name: TensorBoard, MLflow, Weights & Biases, Trackio."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from gsina.errors import InputError, MissingPackageError, check_name, is_installed
from gsina.listeners.base import Listener
from gsina.listeners.trackers.tracker import Tracker

#: Listeners, and trackers by name, as users give them.
Listeners = str | Listener | Iterable[str | Listener] | None


class Entry(NamedTuple):
    """A tracker: what people call it, and the class that speaks to it."""

    label: str
    service: str


#: By name, which is also that of the package and of the extra that brings it.
TRACKERS = {
    "tensorboard": Entry("TensorBoard", "gsina.listeners.trackers.tensorboard:TensorBoard"),
    "mlflow": Entry("MLflow", "gsina.listeners.trackers.mlflow:MLflow"),
    "wandb": Entry("Weights & Biases", "gsina.listeners.trackers.wandb:WeightsAndBiases"),
    "trackio": Entry("Trackio", "gsina.listeners.trackers.trackio:Trackio"),
}


def check_tracker(name: str) -> str:
    """Return the name of a tracker that is installed.

    Raises:
        InputError: There is no such tracker.
        MissingPackageError: Its package is not installed.
    """
    check_name(name, TRACKERS, "tracker")
    if not is_installed(name):
        raise MissingPackageError(
            f"{TRACKERS[name].label} is not installed, and the run was to be tracked there; "
            f'install it with pip install "gsina[{name}]", or leave {name} out.'
        )
    return name


def make_tracker(name: str) -> Tracker:
    """The tracker of a name; its package is imported when a run begins.

    Raises:
        InputError: As :func:`check_tracker`.
    """
    entry = TRACKERS[check_tracker(name)]
    return Tracker(name, entry.label, resolve_name(entry.service)())


def as_listeners(given: Listeners) -> list[Listener]:
    """The listeners in whatever a user gave.

    Raises:
        InputError: Something else is among them, or a tracker is not there.
    """
    if given is None:
        return []
    several = isinstance(given, Iterable) and not isinstance(given, str)
    found: list[Listener] = []
    one: Any
    for one in given if several else [given]:  # type: ignore[union-attr]
        if not isinstance(one, str) and not hasattr(one, "on_epoch"):
            raise InputError(
                f"listeners must be names of trackers ({', '.join(TRACKERS)}) or Listener objects, "
                f"got {one!r}."
            )
        found.append(make_tracker(one) if isinstance(one, str) else one)
    return found
