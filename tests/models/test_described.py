"""Descriptions of networks that are not those of the weights, refused before these are built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gsina.errors import InputError
from gsina.files import save_tensors
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.described import at_most, check_described, check_record, check_usable
from gsina.models.model import Model, Scale
from gsina.models.uncertainty.calibration import Calibration
from gsina.models.uncertainty.reference import Reference
from gsina.nn.backbones import BACKBONES

TASK = Task("multiclass", 3)


def made(backbone: str = "gin", **changed: Any) -> Architecture:
    options = {"hidden_channels": 8, "num_layers": 2}
    return replace(Architecture("erm", {}, backbone, options, 4, 0), **changed)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    save_tensors(tmp_path / "w", made().build(TASK).state_dict())
    return tmp_path / "w"


@pytest.mark.parametrize("backbone", sorted(BACKBONES))
def test_what_was_built_is_what_is_described(backbone: str, tmp_path: Path) -> None:
    architecture = made(backbone, node_channels=4, edge_channels=0)
    nodes = backbone in ("gcn", "sage", "gat", "gprgnn")
    task = replace(TASK, level="node") if nodes else TASK
    for several in (1, 3):
        architecture = replace(architecture, members=several)
        torch.manual_seed(0)
        save_tensors(tmp_path / "w", architecture.build(task).state_dict())
        before = torch.get_rng_state()
        check_described(architecture, task, tmp_path / "w", "reference/")
        assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "changed",
    [
        {"node_channels": 5},
        {"node_channels": 10**12},
        {"node_channels": 10**30},
        {"node_channels": -1},
        {"node_channels": "4"},
        {"edge_channels": (10**9,) * 100},
        {"members": 10**9},
        {"members": -1},
        {"members": None},
        {"backbone_options": {"hidden_channels": 10**9, "num_layers": 2}},
        {"backbone_options": {"hidden_channels": 8, "num_layers": 10**9}},
        {"backbone_options": {"hidden_channels": 8.5, "num_layers": 2}},
        {"backbone_options": {"no_such": 1}},
        {"method_options": {"no_such": 1}},
    ],
    ids=str,
)
def test_other_sizes_are_one_sentence_before_memory_is_taken(
    changed: dict[str, Any], weights: Path
) -> None:
    with pytest.raises(InputError) as caught:
        check_described(made(**changed), TASK, weights, "reference/")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_more_outputs_than_the_weights_have(weights: Path) -> None:
    with pytest.raises(InputError, match="do not fit the network that is described"):
        check_described(made(), replace(TASK, outputs=10**9), weights, "reference/")


def test_parts_are_counted_in_the_block_only() -> None:
    with pytest.raises(RuntimeError, match="more than 3 parts"), at_most(3):
        nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))


@pytest.mark.parametrize(
    "changed",
    [
        {"featuriser": {"kind": "tensors", "scaling": {"node": {"mean": [], "scale": []}}}},
        {"training": {"settings": 3}},
        {"training": {"settings": {"batch_size": "many"}}},
        {"class_names": ("a", "b")},
        {"reference": Reference(*[torch.zeros(3, 2)] * 4, torch.zeros(3))},
        {"scale": Scale((), ())},
        {"calibration": Calibration(temperature=(1.0, 2.0))},
    ],
    ids=str,
)
def test_a_model_that_could_not_answer_is_refused(changed: dict[str, Any]) -> None:
    architecture = made()
    model = Model(architecture.build(TASK).eval(), TASK, architecture)
    check_usable(model)
    with pytest.raises(ValueError, match="it answers with"):
        check_usable(replace(model, **changed))


def test_a_record_that_could_not_be_shown_is_refused() -> None:
    names = ("training", "data", "metrics", "versions", "baselines")
    record: dict[str, Any] = {name: {} for name in names} | {"target_names": [], "created": ""}
    check_record(record | {"metrics": {"test": {"loss": 1, "roc_auc": None}}, "more": 1})
    for changed in ({"metrics": {"test": []}}, {"training": 1}, {"target_names": [1]}):
        with pytest.raises(ValueError, match=next(iter(changed))):
            check_record(record | changed)
