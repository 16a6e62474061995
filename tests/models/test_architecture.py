"""What rebuilds a network: the same weights fit, with members and trees too."""

from __future__ import annotations

import pytest

import tiny
from gsina.models.architecture import Architecture
from gsina.nn.predictor import NetworkSpec

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8}, graph_channels=5)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("trees", [None, (3, 7, 2)])
def test_it_builds_what_it_describes(members: int, trees: tuple[int, int, int] | None) -> None:
    made = Architecture.of("gsina", {"ratio": 0.3}, SPEC, members, trees)
    names = set(made.build(tiny.CLASSES).state_dict())
    assert any("graph_encoder" in name for name in names) == (trees is None)
    assert any(name.startswith("trees.") for name in names) == (trees is not None)
    assert any("members.1" in name for name in names) == (members == 2)
    assert made.seen_channels == (5 if trees is None else 0)
    assert made.method_options["temperature"] == 1.0  # all settings, not only those given
