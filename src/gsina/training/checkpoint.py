"""Everything a run needs to go on, as tensors in one file that is replaced atomically."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.files import load_tensors, save_tensors
from gsina.training.devices import generator_states

FORMAT = 1
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
    try:
        return _parts(tensors, meta)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableCheckpoint(
            f"{path} is damaged ({type(error).__name__}: {error}); start again with --force."
        ) from error


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
