"""Everything a run needs to go on, as tensors in one file that is replaced atomically."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gsina.errors import InputError, reason_of
from gsina.files import load_tensors, save_tensors
from gsina.ops.host import generator_states

FORMAT = 1
#: What the optimisers of the loop, which are kinds of Adam, keep of every weight.
STATE = {"step", "exp_avg", "exp_avg_sq"}
#: The name of the file in the folder of a run.
FILE = "checkpoint.safetensors"


class UnusableCheckpoint(InputError):
    """A checkpoint that this run cannot go on from."""


@dataclass
class Checkpoint:
    """State between two epochs.

    Attributes:
        weights: Parameters and buffers of the model.
        best: Those of the selected epoch; empty if none is selected yet.
        optimiser: ``state_dict()`` of the optimiser.
        rng: States of torch's generators (the CPU's, and the device's by its kind) and of the
            shuffling generator.
        progress: JSON-able: next epoch, history, selection.
        average: Averaged weights; empty where weights are not averaged.
    """

    weights: dict[str, Tensor]
    best: dict[str, Tensor]
    optimiser: dict[str, Any]
    rng: dict[str, Tensor]
    progress: dict[str, Any]
    average: dict[str, Tensor] = field(default_factory=dict)


def save_checkpoint(path: Path, checkpoint: Checkpoint, fingerprint: str) -> None:
    """Write a checkpoint aside and replace the old one."""
    tensors = {f"weights/{name}": value for name, value in checkpoint.weights.items()}
    tensors |= {f"best/{name}": value for name, value in checkpoint.best.items()}
    tensors |= {f"average/{name}": value for name, value in checkpoint.average.items()}
    tensors |= {f"rng/{name}": value for name, value in checkpoint.rng.items()}
    numbers: dict[str, dict[str, Any]] = {}
    for key, state in checkpoint.optimiser["state"].items():
        numbers[str(key)] = {}
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{key}/{name}"] = value
            else:
                numbers[str(key)][name] = value
    meta = {
        "format": FORMAT,
        "fingerprint": fingerprint,
        "progress": checkpoint.progress,
        "optimiser": {"groups": checkpoint.optimiser["param_groups"], "state": numbers},
    }
    save_tensors(path, tensors, meta)


def load_checkpoint(path: Path, fingerprint: str) -> Checkpoint:
    """Read a checkpoint of the run with this fingerprint.

    Raises:
        UnusableCheckpoint: If the file is broken, of a newer format, or of a run with other
            settings.
    """
    try:
        tensors, meta = load_tensors(path)
    except ValueError as error:
        raise UnusableCheckpoint(str(error)) from error
    known = {"format": int, "fingerprint": str, "progress": dict, "optimiser": dict}
    if not all(isinstance(meta.get(name), kind) for name, kind in known.items()):
        raise UnusableCheckpoint(
            f"{path} is not a checkpoint of a training run; choose another --out."
        )
    if meta["format"] > FORMAT:
        raise UnusableCheckpoint(f"{path} was written by a newer gsina; update gsina to resume it.")
    if meta["fingerprint"] != fingerprint:
        raise UnusableCheckpoint(
            f"{path} belongs to a run with other settings; resume with the settings it was "
            "started with, or choose another --out."
        )
    with refusing_damage(path):
        _check_progress(meta["progress"])
        return _parts(tensors, meta)


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Turn what a checkpoint of another shape leads to into one sentence."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise UnusableCheckpoint(
            f"{path} is damaged ({reason_of(error)}); start again with --force."
        ) from error


def _check_progress(progress: Any) -> None:
    """Raise unless a progress is what runs look at before they go on."""
    history, best = progress.get("history", []), progress.get("best_epoch", -1)
    if not all(isinstance(record["val"], dict) for record in history):
        raise TypeError("a record has no scores")
    if not all(isinstance(session, dict) for session in progress.get("sessions", [])):
        raise TypeError("a session is no table")
    if not -1 <= int(best) < max(len(history), 1):
        raise IndexError(f"the best of {len(history)} epochs is number {best}")


def _parts(tensors: dict[str, Tensor], meta: dict[str, Any]) -> Checkpoint:
    names = ("weights", "best", "average", "rng", "optimiser")
    parts: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in tensors.items():
        part, name = key.split("/", 1)
        parts[part][name] = value
    state: dict[int, dict[str, Any]] = {
        int(key): dict(value) for key, value in meta["optimiser"]["state"].items()
    }
    for key, value in parts["optimiser"].items():
        number, name = key.split("/")
        state[int(number)][name] = value
    optimiser = {"state": state, "param_groups": meta["optimiser"]["groups"]}
    return Checkpoint(
        parts["weights"],
        parts["best"],
        optimiser,
        parts["rng"],
        meta["progress"],
        parts["average"],
    )


def check_fits(state: Checkpoint, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Raise if a checkpoint has what torch would only notice later: in a step, or at the end."""
    ours = {name: value.shape for name, value in model.state_dict().items()}
    if state.best and {name: value.shape for name, value in state.best.items()} != ours:
        raise ValueError("the selected weights are not those of the network")
    for weights in (state.weights, state.best, state.average):
        if not all(bool(value.isfinite().all()) for value in weights.values()):
            raise ValueError("it has weights that are NaN or infinite")
    found = state.optimiser
    for old, new in zip(optimiser.param_groups, found["param_groups"], strict=True):
        for name, value in old.items():
            if isinstance(value, float) and not isinstance(new[name], float | int):
                raise TypeError(f"{name} of the optimiser is {new[name]!r}")
        for place, parameter in zip(new["params"], old["params"], strict=True):
            state_of = found["state"].get(place, {})
            if state_of and state_of.keys() != STATE:
                raise ValueError(f"the optimiser has {', '.join(sorted(state_of))} of a weight")
            for name, value in state_of.items():
                if isinstance(value, Tensor) and value.dim() and value.shape != parameter.shape:
                    raise ValueError(f"{name} of the optimiser is {list(value.shape)}")


def read_progress(path: Path) -> dict[str, Any]:
    """What has happened in the run of a checkpoint; empty if there is none.

    Raises:
        UnusableCheckpoint: The file is broken.
    """
    if not path.exists():
        return {}
    try:
        found: dict[str, Any] = load_tensors(path)[1].get("progress", {})
    except InputError as error:
        raise UnusableCheckpoint(str(error)) from error
    with refusing_damage(path):
        _check_progress(found)
    return found


def saved_epochs(folder: Path) -> int:
    """How many complete epochs of the training in a folder are safe on disk."""
    return len(read_progress(folder / FILE).get("history", []))


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of all parameters and buffers, on the CPU."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}


def fingerprint_of(settings: Any) -> str:
    """A short hash of JSON-able settings."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rng_states(shuffle: torch.Generator, device: torch.device) -> dict[str, Tensor]:
    """The states of the generators that training on a device draws from."""
    return {**generator_states(device), "shuffle": shuffle.get_state()}
