"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from gsina.data.task import Task
from gsina.names import check_name
from gsina.nn.predictor import NetworkSpec

if TYPE_CHECKING:
    from gsina.methods.base import Method

M = TypeVar("M", bound="type[Method]")


@dataclass(frozen=True)
class Entry:
    """One line of ``gsina methods``.

    Attributes:
        name: The name on the command line.
        method: The class; its ``build(spec, task, config)`` makes a fresh model.
        config: The frozen dataclass of its settings.
        paper: Where it was published.
        levels: ``graph``, ``node``, or both.
    """

    name: str
    method: Any
    config: type
    paper: str
    levels: tuple[str, ...]


METHODS: dict[str, Entry] = {}


def register(*, name: str, config: type, paper: str, levels: tuple[str, ...]) -> Callable[[M], M]:
    """Class decorator that adds a method to the list."""

    def add(method: M) -> M:
        METHODS[name] = Entry(name, method, config, paper, levels)
        return method

    return add


def make_config(name: str, options: dict[str, Any]) -> Any:
    """The settings of a method from options by name; an unknown option suggests the nearest."""
    entry = METHODS[check_name(name, METHODS, "method")]
    known = [field.name for field in fields(entry.config)]
    for option in options:
        check_name(option, known, f"option of method {name}")
    return entry.config(**options)


def build_method(name: str, spec: NetworkSpec, task: Task, options: dict[str, Any]) -> Method:
    """A fresh model of the named method.

    Raises:
        ValueError: The method cannot do the level of the task; names those that can.
    """
    config = make_config(name, options)
    if task.level not in METHODS[name].levels:
        able = sorted(other for other, entry in METHODS.items() if task.level in entry.levels)
        raise ValueError(
            f"method {name} extracts subgraphs of whole graphs and cannot predict labels of "
            f"{task.level}s; methods that can: {', '.join(able)}."
        )
    method: Method = METHODS[name].method.build(spec, task, config)
    return method
