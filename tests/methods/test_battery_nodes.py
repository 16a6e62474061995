"""Every check for every method that predicts nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tiny_nodes
from check_node_method import CHECKS, Make
from gsina.methods import METHODS, build_method
from gsina.nn.predictor import NetworkSpec

NODE_METHODS = [name for name, entry in METHODS.items() if "node" in entry.levels]
OPTIONS: dict[str, dict[str, Any]] = {
    "gsina": {"scorer": "plain"},
    "eerm": {"edits": 1},
    "canet": {"estimator": "graph"},
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[len("check_") :])
@pytest.mark.parametrize("backbone", ["gcn", "sage"])
@pytest.mark.parametrize("name", NODE_METHODS)
def test_method(name: str, backbone: str, check: Callable[[Make], None]) -> None:
    small = {"hidden_channels": 16, "num_layers": 2}
    spec = NetworkSpec(backbone, tiny_nodes.FEATURES, 0, small)
    check(lambda: build_method(name, spec, tiny_nodes.TASK, OPTIONS.get(name, {})))
