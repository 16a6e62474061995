"""The methods by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

from gsina.errors import InputError, check_name
from gsina.graphs.task import KINDS, LEVELS

if TYPE_CHECKING:
    from gsina.graphs.task import Task
    from gsina.methods.base import Method
    from gsina.nn.predictor import NetworkSpec

M = TypeVar("M", bound="type[Method]")


@dataclass(frozen=True)
class MethodEntry:
    """One line of ``gsina methods``.

    Attributes:
        name: The name on the command line.
        method_class: The class, or where it is: ``"package.module:class"``, which is imported when
            it is used, so that the list can be shown without it.
        config_class: The dataclass of its settings, or where it is.
        paper: Where it was published.
        levels: ``graph``, ``node``, or both.
        label: The name in tables.
        note: What else a reader of a table must know of it.
        kinds: The kinds of task that it can learn.
        graph_features: Whether it can use features of whole graphs beside the graph itself.
        about: What it does that ties it to these levels and kinds, to end "method x ...".
    """

    name: str
    method_class: Any
    config_class: type | str
    paper: str
    levels: tuple[str, ...]
    label: str
    note: str = ""
    kinds: tuple[str, ...] = KINDS
    graph_features: bool = False
    about: str = "extracts subgraphs of whole graphs"

    @property
    def method(self) -> Any:
        """The class; its ``build(spec, task, config)`` makes a fresh model."""
        return _class(self.method_class)

    @property
    def config(self) -> Any:
        """The frozen dataclass of its settings."""
        return _class(self.config_class)


def _class(found: type | str) -> Any:
    return resolve_name(found) if isinstance(found, str) else found


#: The methods, by name; :func:`register` adds one.
METHODS: dict[str, MethodEntry] = {}


def register(
    *, name: str, config: type, paper: str, levels: tuple[str, ...], label: str = "", **more: Any
) -> Callable[[M], M]:
    """Class decorator that adds a method to the list; the arguments are its :class:`MethodEntry`.

    The paper becomes part of the class's docstring, after its first paragraph.

    Raises:
        InputError: The name is another method's, or an argument is not what it should be.
    """

    def add(method: M) -> M:
        entry = MethodEntry(name, method, config, paper, levels, label or name.upper(), **more)
        _check(entry)
        METHODS[name] = entry
        first, _, rest = inspect.cleandoc(method.__doc__ or "").partition("\n\n")
        method.__doc__ = "\n\n".join(part for part in (first, f"After {paper}.", rest) if part)
        return method

    return add


def _check(entry: MethodEntry) -> None:
    """Refuse what would fail only when the method is used."""
    from gsina.methods.base import Method

    name, method, config = entry.name, entry.method, entry.config
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise InputError(f"method {name} must be a class that inherits from gsina.methods.Method.")
    if not (isinstance(config, type) and is_dataclass(config)):
        raise InputError(f"config of method {name} must be a dataclass, got {config!r}.")
    for what, found, known in (("levels", entry.levels, LEVELS), ("kinds", entry.kinds, KINDS)):
        if not (isinstance(found, tuple) and found and {*found} <= {*known}):
            raise InputError(
                f"{what} of method {name} must be a tuple out of {', '.join(known)}, got {found!r}."
            )
    old = METHODS.get(name)
    if old and old.method.__qualname__ != method.__qualname__:
        # A class that is defined again, as in a notebook, replaces itself.
        raise InputError(f"there is a method {name!r} already; choose another name.")


def make_config(name: str, options: dict[str, Any]) -> Any:
    """The settings of a method from options by name; an unknown option suggests the nearest."""
    entry = METHODS[check_name(name, METHODS, "method")]
    known = [field.name for field in fields(entry.config)]
    for option in options:
        check_name(option, known, f"option of method {name}")
    for option, value in options.items():
        if isinstance(value, float) and math.isinf(value):
            raise InputError(f"{option} must be finite, got {value}.")
    return entry.config(**options)


def build_method(name: str, spec: NetworkSpec, task: Task, options: dict[str, Any]) -> Method:
    """A fresh model of the named method.

    Raises:
        InputError: The method cannot do the level or kind of the task; names those that can.
    """
    config = make_config(name, options)
    check_can(name, task.level, task.kind)
    if spec.graph_channels:
        check_graph_features(name)
    method: Method = METHODS[name].method.build(spec, task, config)
    return method


def check_graph_features(name: str) -> None:
    """Refuse a method that cannot use features of whole graphs; names those that can."""
    chosen = METHODS[check_name(name, METHODS, "method")]
    if not chosen.graph_features:
        able = ", ".join(sorted(key for key, entry in METHODS.items() if entry.graph_features))
        raise InputError(
            f"method {name} {chosen.about} and cannot use features of whole graphs (--features); "
            f"leave them out, or use one that can: {able}."
        )


def check_can(name: str, level: str, kind: str | None = None) -> None:
    """Refuse a method that cannot do a level, or a kind of task there; names those that can."""

    def can(entry: MethodEntry) -> bool:
        return level in entry.levels and (kind is None or kind in entry.kinds)

    chosen = METHODS[name]
    if not can(chosen):
        nothing = level not in chosen.levels
        what = f"predict labels of {level}s" if nothing else f"learn a {kind} task"
        able = ", ".join(sorted(key for key, entry in METHODS.items() if can(entry)))
        raise InputError(
            f"method {name} {chosen.about} and cannot {what}; methods that can: {able}."
        )
