"""The model folder: ``model.safetensors``, ``model.json`` and a model card, and nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import shutil
from collections.abc import Callable, Hashable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from gsina.errors import InputError, MissingFileError, reason_of
from gsina.files import (
    load_tensors,
    load_text,
    parse_json,
    refuse_special,
    save_json,
    save_tensors,
    write_aside,
)
from gsina.formats import FORMATS, format_of
from gsina.formats.reading import check_reading
from gsina.graphs.task import Task
from gsina.methods.trees import WithTrees
from gsina.models.architecture import Architecture
from gsina.models.card import model_card
from gsina.models.described import check_described, check_record, check_usable
from gsina.models.model import Model, Scale
from gsina.models.uncertainty.calibration import Calibration
from gsina.models.uncertainty.reference import Reference
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.training.devices import choose_device

#: Raise it when an older version could not use the folder.
FORMAT = 2
WEIGHTS, META, CARD = "model.safetensors", "model.json", "README.md"
#: The weights of the model before, while a new one is written over it.
BEFORE = "model-before.safetensors"
#: Before the names of tensors that are no weights, but of :class:`Reference`.
REFERENCE = "reference/"

#: What is kept of a model as it is.
RECORD = ("training", "data", "metrics", "versions", "created")

#: Makes the networks of a user's own class from what the folder says.
MakeSpec = Callable[[Architecture], NetworkSpec]


def save_model(folder: Path | str, model: Model) -> None:
    """Write a model; if this is interrupted, the folder still holds the old model.

    Args:
        folder: Created if needed. Other files in it are left alone.
        model: What to write.

    Raises:
        InputError: A setting or a label cannot be written as JSON.
    """
    folder = Path(folder)
    meta = _describe(model)
    _check_json(meta)
    _keep_weights(folder)
    kept = {} if model.reference is None else model.reference.tensors()
    tensors = {f"{REFERENCE}{name}": value for name, value in kept.items()}
    save_tensors(folder / WEIGHTS, model.method.state_dict() | tensors, {"format": FORMAT})
    # The digest ties the two files together, so that files of two models are not mixed.
    save_json(folder / META, meta | {"weights": _digest(folder / WEIGHTS)})
    (folder / BEFORE).unlink(missing_ok=True)
    with write_aside(folder / CARD) as file:
        file.write(model_card(model).encode())


def load_model(
    folder: Path | str,
    make_spec: MakeSpec | None = None,
    *,
    device: str | torch.device = "cpu",
) -> Model:
    """Read a model; only the files of :func:`save_model` are looked at.

    Args:
        folder: The model folder, or the folder of a run that has it as ``model``; or a model on the
            Hugging Face hub, ``hf://user/name`` or ``hf://user/name@revision``.
        make_spec: Makes the network, for a model with the user's own.
        device: Where it is to compute, as :func:`~gsina.training.devices.choose_device` takes it;
            where it was trained does not matter.

    Raises:
        MissingFileError: There is no model, or a file of it is missing.
        InputError: A file is damaged, or of a newer version.
    """
    from gsina.models.hub import local_folder  # which uses this file

    place = choose_device(device)
    folder = find_model(local_folder(folder))
    meta = _read_meta(folder / META)
    try:
        _check_version(folder, meta)
        check_reading(meta["featuriser"])
        check_record(meta)
        architecture = _architecture(meta["architecture"])
        own = architecture.backbone not in BACKBONES
        if own and make_spec is None:
            raise InputError(
                f"the model in {folder} has a user-defined network, "
                f"{architecture.backbone}; load it with backbone=<that class>."
            )
        task = Task(**meta["task"])
        scale = meta["scale"]
        weights = _whole_weights(folder, str(meta["weights"]))
        if not own:
            check_described(architecture, task, weights, REFERENCE)
        method = architecture.build(task, make_spec(architecture) if own and make_spec else None)
        model = Model(
            method=method,
            task=task,
            architecture=architecture,
            featuriser=dict(meta["featuriser"]),
            target_names=tuple(meta["target_names"]),
            class_names=tuple(_hashable(name) for name in meta["class_names"]),
            scale=None if scale is None else Scale(tuple(scale["mean"]), tuple(scale["std"])),
            calibration=_calibration(meta.get("calibration", {})),
            baselines=meta.get("baselines", {}),
            **{name: meta[name] for name in RECORD},
        )
        model = replace(model, reference=_load_weights(weights, model))
        if not own:
            check_usable(model)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{folder / META} is damaged ({reason_of(error)}); copy or train the model again."
        ) from error
    model.method.to(place)
    return model


def find_model(folder: Path) -> Path:
    """The folder itself, or the ``model`` inside the folder of a run."""
    for place in (folder, folder / "model"):
        if (place / META).is_file():
            return place
    check_several(folder)
    if (folder / "run.json").exists() and not (folder / "result.json").exists():
        raise MissingFileError(
            f"the run in {folder} is not finished, so there is no model yet; go on with "
            f"gsina train --out {folder} --resume."
        )
    if (folder / "result.json").exists():
        raise MissingFileError(
            f"the run in {folder} has lost its model; make it again from its checkpoint with "
            f"gsina train --out {folder} --resume."
        )
    raise MissingFileError(
        f"there is no model in {folder}: expected {META} and {WEIGHTS}, as `gsina train "
        "<your file> --out <folder>` writes them."
    )


def check_several(folder: Path) -> None:
    """Refuse a folder of several runs, with the name of one of them."""
    if inner := sorted(folder.glob(f"*/model/{META}")):
        raise MissingFileError(
            f"{folder} holds {len(inner)} runs with a model each; name one of them, such as "
            f"{inner[0].parents[1]}, or train one model of several members with --ensemble."
        )


def _describe(model: Model) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "architecture": asdict(model.architecture),
        "task": asdict(model.task),
        "featuriser": model.featuriser,
        "target_names": list(model.target_names),
        "class_names": [_plain(name) for name in model.class_names],
        "scale": None if model.scale is None else asdict(model.scale),
        "calibration": asdict(model.calibration),
        "baselines": model.baselines,
        **{name: getattr(model, name) for name in RECORD},
    }


def _check_json(meta: dict[str, Any]) -> None:
    for name, value in meta.items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except (TypeError, ValueError) as error:
            raise InputError(
                f"a model with {name} of this kind cannot be saved ({error}); use text and "
                "numbers, and named scorers instead of modules."
            ) from error


def _plain(label: Hashable) -> Any:
    """A label as JSON has it, without a change of type."""
    if isinstance(label, bool | str) or label is None:
        return label
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    if isinstance(label, numbers.Integral):
        return int(label)
    if isinstance(label, numbers.Real):
        return float(label)
    item = getattr(label, "item", None)  # NumPy's truth values and texts
    plain = item() if callable(item) else None
    if isinstance(plain, bool | str):
        return plain
    raise InputError(
        f"a label of type {type(label).__name__} ({label!r}) cannot be saved; use text or numbers "
        "as labels."
    )


def _hashable(label: Any) -> Hashable:
    return tuple(_hashable(part) for part in label) if isinstance(label, list) else label


def _read_meta(path: Path) -> dict[str, Any]:
    try:
        meta = parse_json(load_text(path))
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); copy or train the model again.") from error
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise InputError(f"{path} does not describe a model of gsina; expected a format number.")
    return meta


def _check_version(folder: Path, meta: dict[str, Any]) -> None:
    if meta["format"] > FORMAT:
        raise InputError(
            f"the model in {folder} was written by a newer gsina (format {meta['format']}, this "
            f"one reads up to {FORMAT}); update gsina to use it."
        )
    reading = meta.get("featuriser")
    if not isinstance(reading, dict) or str(reading.get("kind")) not in FORMATS:
        return  # it reads no files
    if format_of(reading).level != dict(meta["task"]).get("level", "graph"):
        raise ValueError(f"{reading['kind']} are not what its task is about")
    made, now = reading.get("version"), format_of(reading).version(reading)
    if made != now:
        raise InputError(
            f"the model in {folder} was trained on {reading['kind']} with features of version "
            f"{made}, but this gsina makes version {now}; use the gsina that trained it, or train "
            "it again."
        )


def _architecture(values: dict[str, Any]) -> Architecture:
    made = dict(values)
    for name in ("node_channels", "edge_channels"):
        if isinstance(made[name], list):
            made[name] = tuple(int(size) for size in made[name])
    for name in ("trees", "forest"):
        if made.get(name) is not None:
            made[name] = tuple(int(size) for size in made[name])
    if not 0 <= made.get("network_share", 0.5) <= 1:
        raise ValueError(f"its network has a share of {made['network_share']}")
    return Architecture(**made)


def _calibration(values: dict[str, Any]) -> Calibration:
    made = Calibration(**{name: tuple(map(float, given)) for name, given in values.items()})
    numbers = (*made.temperature, *made.offset, *made.cut, *made.share)
    if not all(map(math.isfinite, numbers)) or min(made.temperature, default=0.0) <= 0:
        raise ValueError("its calibration has a temperature or a number that no training gives")
    return made


def _keep_weights(folder: Path) -> None:
    """Keep a copy of the old weights until weights and description are both replaced."""
    try:
        digest = parse_json(load_text(folder / META))["weights"]
        whole = _digest(folder / WEIGHTS) == digest
    except (OSError, ValueError, KeyError, TypeError):
        return  # there is no complete model to keep
    if whole:
        with write_aside(folder / BEFORE) as file, (folder / WEIGHTS).open("rb") as weights:
            shutil.copyfileobj(weights, file)


def _whole_weights(folder: Path, digest: str) -> Path:
    """The file with the weights that a description belongs to."""
    path, before = folder / WEIGHTS, folder / BEFORE
    if not path.is_file():
        raise MissingFileError(
            f"the model in {folder} has no {path.name}; copy or train the model again."
        )
    if _digest(path) != digest and before.is_file():  # writing another model was interrupted
        path = before
    if _digest(path) != digest:
        raise InputError(
            f"{path} is damaged or belongs to another {META}; copy or train the model again."
        )
    return path


def _load_weights(path: Path, model: Model) -> Reference | None:
    """Load the weights into the model; what else is in the file is its reference."""
    tensors, _ = load_tensors(path)
    kept = {name: tensors.pop(name) for name in list(tensors) if name.startswith(REFERENCE)}
    try:
        model.method.load_state_dict(tensors)
    except RuntimeError as error:
        raise InputError(
            f"the weights in {path} do not fit the network that {META} describes; copy or train "
            "the model again."
        ) from error
    for name, value in tensors.items():
        if not bool(value.isfinite().all()):
            raise InputError(
                f"the weights {name} in {path} hold NaN or infinite values, so every answer would "
                "be nonsense; copy or train the model again."
            )
    beside = model.method.parts.values() if isinstance(model.method, WithTrees) else ()
    if not all(part.is_sound(model.architecture.graph_channels) for part in beside):
        raise InputError(f"the trees in {path} lead nowhere; copy or train the model again.")
    model.method.eval()
    parts = {name.removeprefix(REFERENCE): value for name, value in kept.items()}
    return Reference.of_tensors(parts) if parts else None


def _digest(path: Path) -> str:
    refuse_special(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def as_model(given: Any) -> Model:
    """The model in whatever holds one: a fitted estimator, a run, or the folder of either.

    Raises:
        InputError: There is none in it.
    """
    if isinstance(given, str | Path):
        return load_model(given)
    for name in ("model_", "model"):
        given = getattr(given, name, given)
    if not isinstance(given, Model):
        raise InputError(
            f"got a {type(given).__name__}, expected a trained model: a Model, a fitted estimator, "
            "a run, or the folder of one."
        )
    return given
