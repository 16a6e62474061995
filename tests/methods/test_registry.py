"""The table of methods, and what `register` refuses, so that it does not fail later."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gsina import methods
from gsina.methods import METHODS, Method, registry


@dataclass(frozen=True)
class Config:
    """No settings."""


class Own(Method):
    """A method."""


def add(method: Any = Own, **changes: Any) -> None:
    arguments = {"name": "own", "config": Config, "paper": "none", "levels": ("graph",)}
    registry.register(**(arguments | changes))(method)


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "METHODS", dict(METHODS))


def test_the_table_lists_every_module() -> None:
    home = Path(methods.__file__).parent
    files = {path.relative_to(home).with_suffix("").as_posix() for path in home.rglob("[!_]*.py")}
    modules = {entry.method.__module__ for entry in METHODS.values()}
    listed = {module.removeprefix("gsina.methods.").replace(".", "/") for module in modules}
    others = {file for file in files - listed if not file.startswith("parts/")}
    assert others == {"base", "catalog", "ensemble", "registry", "trees"}


@pytest.mark.parametrize("name", METHODS)
def test_the_table_is_as_right_as_what_is_registered(name: str) -> None:
    entry = METHODS[name]
    registry._check(entry)
    assert getattr(methods, entry.method.__name__) is entry.method
    assert getattr(methods, entry.config.__name__) is entry.config
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = methods.Nothing


def test_a_class_may_be_registered_again() -> None:
    add()
    add(paper="another")
    assert registry.METHODS["own"].paper == "another"
    assert registry.METHODS["own"].method is Own


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": ("grpah",)}, r"levels of method own must be a tuple out of graph, node, got"),
        ({"levels": "graph"}, "levels of method own must be a tuple"),
        ({"levels": ()}, "levels of method own must be a tuple"),
        ({"kinds": ("ranking",)}, "kinds of method own must be a tuple out of multiclass"),
        ({"config": dict}, "config of method own must be a dataclass, got <class 'dict'>"),
        ({"config": Config()}, "config of method own must be a dataclass"),
        ({"method": int}, "method own must be a class that inherits from gsina.methods.Method"),
        ({"name": "gsina"}, "there is a method 'gsina' already; choose another name"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        add(**changes)
