"""Every check for every method on every backbone, and with the settings of the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tiny
from check_method import CHECKS, NETWORK_CHECKS, Make
from gsina.graphs.task import Task
from gsina.methods import METHODS, Method, build_method
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.runs.published import default_recipe, usual_backbone

#: Settings that only cost time here, or that keep a dozen graphs from being learned by heart.
QUICK: dict[str, dict[str, Any]] = {
    "gmt-sam": {"draws": 2, "refit_epoch": 1},
    "disc": {"swap_epoch": 1, "swap": 1.0},
    "grea": {"cycle": 1},
    "prune": {"pretraining": 0},
    "gib": {"inner_steps": 5},
    "eiil": {"reference_epochs": 2},
    "cnc": {"reference_epochs": 2},
    "gala": {"reference_epochs": 2},
    "sugar": {"members": 2},
    "ib-irm": {"bottleneck": 0.1},
}

GRAPH_METHODS = [name for name, entry in METHODS.items() if "graph" in entry.levels]
CASES = [
    pytest.param(name, backbone, check, id=f"{name}-{backbone}-{check.__name__[len('check_') :]}")
    for name in GRAPH_METHODS
    for backbone in BACKBONES
    for check in (CHECKS if backbone == "gin" else NETWORK_CHECKS)
]


@pytest.mark.parametrize(("name", "backbone", "check"), CASES)
def test_method(name: str, backbone: str, check: Callable[[Make, str], None]) -> None:
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 32, "num_layers": 2})

    def make(task: Task) -> Method:
        return build_method(name, spec, task, QUICK.get(name, {}))

    check(make, name)


#: Data whose settings differ most: what the contrast is of, the scope, the input, the networks.
BENCHMARK = ("nci1", "proteins", "drugood-ec50-scaffold")


@pytest.mark.parametrize("check", NETWORK_CHECKS, ids=lambda check: check.__name__[len("check_") :])
@pytest.mark.parametrize("dataset", BENCHMARK)
@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_method_with_the_settings_of_the_benchmark(
    name: str, dataset: str, check: Callable[[Make, str], None]
) -> None:
    recipe = default_recipe(dataset, usual_backbone(dataset), name)
    options = recipe.method.options | QUICK.get(name, {})
    small = recipe.backbone.options | {"hidden_channels": 32, "num_layers": 2}
    spec = NetworkSpec(recipe.backbone.name, tiny.FEATURES, 1, small)
    check(lambda task: build_method(name, spec, task, options), name)


def test_every_method_says_what_it_is() -> None:
    for name, entry in METHODS.items():
        assert entry.name == name
        assert entry.paper in " ".join(entry.method.__doc__.split())
        assert set(entry.levels) <= {"graph", "node"}
        assert issubclass(entry.method, Method)
        assert hash(entry.config()) == hash(entry.config())  # frozen, with defaults for everything


def test_unknown_names_suggest_the_nearest() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES)
    with pytest.raises(ValueError, match="unknown method 'gsnia'; did you mean 'gsina'"):
        build_method("gsnia", spec, tiny.CLASSES, {})
    with pytest.raises(ValueError, match="unknown option of method gsina 'ration'; did you mean"):
        build_method("gsina", spec, tiny.CLASSES, {"ration": 0.5})
