"""Every check for every method on every backbone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tiny
from check_method import CHECKS, Make

from gsina.data.task import Task
from gsina.methods import METHODS, Method, build_method
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", METHODS)
def test_method(name: str, backbone: str, check: Callable[[Make, str], None]) -> None:
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 32, "num_layers": 2})

    def make(task: Task) -> Method:
        return build_method(name, spec, task, {})

    check(make, name)


def test_every_method_says_what_it_is() -> None:
    for name, entry in METHODS.items():
        assert entry.name == name
        assert entry.paper
        assert set(entry.levels) <= {"graph", "node"}
        assert issubclass(entry.method, Method)
        assert hash(entry.config()) == hash(entry.config())  # frozen, with defaults for everything


def test_unknown_names_suggest_the_nearest() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES)
    with pytest.raises(ValueError, match="unknown method 'gsnia'; did you mean 'gsina'"):
        build_method("gsnia", spec, tiny.CLASSES, {})
    with pytest.raises(ValueError, match="unknown option of method gsina 'ration'; did you mean"):
        build_method("gsina", spec, tiny.CLASSES, {"ration": 0.5})
