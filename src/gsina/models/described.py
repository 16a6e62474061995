"""Whether the network that a model folder describes is the one whose weights it holds.

A description of a few bytes may ask for a network of any size. So it is first built without memory
(on torch's ``meta`` device), for no more parts than the file of weights can have, and compared with
the header of that file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from gsina.errors import InputError, check_name, reason_of
from gsina.files import load_header
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import METHODS
from gsina.models.answers import answers, target_names
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.models.uncertainty.columns import TrustColumns

#: Parts that a network may have for every tensor of its weights, those made on the way included.
PARTS_PER_TENSOR = 20


def check_described(architecture: Architecture, task: Task, weights: Path, apart: str) -> None:
    """Refuse an architecture whose weights are not those in a file, before it is built.

    Args:
        architecture: What a model folder describes, of a backbone of this package.
        task: What is predicted.
        weights: The file of weights.
        apart: Beginning of the names of tensors that are no weights.

    Raises:
        InputError: They do not fit, or no network can be built like this.
    """
    method = METHODS[check_name(architecture.method, METHODS, "method")].method
    if not method.__module__.startswith("gsina."):
        return  # the user's own code, which may need memory to build
    found = {
        name: shape for name, shape in load_header(weights).items() if not name.startswith(apart)
    }
    try:
        with torch.device("meta"), at_most(PARTS_PER_TENSOR * (len(found) + 50)):
            described = architecture.build(task).state_dict()
    except InputError:
        raise
    except Exception as error:  # Absurd settings raise whatever they lead to.
        raise _unfit(weights, reason_of(error)) from error
    for name in {**found, **described}:
        ours = tuple(described[name].shape) if name in described else "none"
        if ours != found.get(name, "none"):
            there = found.get(name, "none")
            raise _unfit(weights, f"{name[:100]!r} is {there}, described as {ours}")


class _Record(BaseModel):
    """What pages and cards show of a model."""

    model_config = ConfigDict(extra="allow", strict=True)
    target_names: list[str]
    metrics: dict[str, dict[str, float | None]]
    training: dict[str, Any]
    data: dict[str, Any]
    versions: dict[str, str]
    created: str
    baselines: dict[str, Any] = {}


def check_record(meta: Any) -> None:
    """Refuse a description whose record could not be shown.

    Raises:
        ValueError: With the first field that is wrong.
    """
    try:
        _Record.model_validate(meta)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def check_usable(model: Model) -> None:
    """Refuse a model that cannot answer for a graph of one node, such as one with other scales.

    Raises:
        ValueError: With what it leads to.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            found = model.predict(blank_graph(model.architecture), states="label")
        answers(model, found.logits)
        if model.reference is not None and found.states is not None:
            known = replace(model.reference, train_bits=None, bit_distances=None)
            TrustColumns(replace(model, reference=known)).cells(found.logits, found.places)
        several = model.task.outputs if model.task.kind == "multiclass" else 2
        if model.class_names and len(set(model.class_names)) != several:
            raise ValueError(f"{len(set(model.class_names))} names for {several} classes")
        if len(target_names(model)) not in (1, model.task.outputs):
            raise ValueError(f"{len(target_names(model))} names of targets")
    except Exception as error:  # Absurd settings raise whatever they lead to.
        raise ValueError(f"it answers with {type(error).__name__}: {error}") from error


def blank_graph(made: Architecture) -> PackedGraphs:
    """A graph of one node whose features are all 0."""

    def blank(rows: int, channels: int | tuple[int, ...]) -> Tensor:
        if isinstance(channels, int):
            return torch.zeros(rows, channels)
        return torch.zeros(rows, len(channels), dtype=torch.long)

    edges = blank(0, made.edge_channels) if made.edge_channels else None
    one = PackedGraphs.one(blank(1, made.node_channels), torch.zeros(2, 0).long(), edges)
    return replace(one, graph_attr=blank(1, made.graph_channels) if made.graph_channels else None)


def _unfit(weights: Path, why: str) -> InputError:
    return InputError(
        f"the weights in {weights} do not fit the network that is described beside them ({why}); "
        "copy or train the model again."
    )


@contextmanager
def at_most(parts: int) -> Iterator[None]:
    """Allow so many modules and parameters to be made inside the block."""
    left = [parts]

    def count(*_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError(f"it has more than {parts} parts")

    hooks = [
        register_module_module_registration_hook(count),
        register_module_parameter_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
