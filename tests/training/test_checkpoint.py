"""Checkpoints: what goes in comes out, and a killed process leaves a whole file."""

from __future__ import annotations

import math
import os
import signal
import time
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from gsina.files import load_tensors, save_tensors
from gsina.training.checkpoint import (
    Checkpoint,
    UnusableCheckpoint,
    copy_weights,
    fingerprint_of,
    load_checkpoint,
    rng_states,
    save_checkpoint,
)
from processes import wait_until

RUN = fingerprint_of("this run")


def trained() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        model(torch.randn(5, 4)).square().sum().backward()
        optimiser.step()
    return model, optimiser


def checkpoint(epoch: int = 3) -> Checkpoint:
    model, optimiser = trained()
    progress = {"epoch": epoch, "history": [{"val": {"roc_auc": float("nan")}}]}
    rng = rng_states(torch.Generator().manual_seed(5), torch.device("cpu"))
    return Checkpoint(copy_weights(model), {}, optimiser.state_dict(), rng, progress)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    before = checkpoint()
    save_checkpoint(path, before, RUN)
    after = load_checkpoint(path, RUN)
    for old, new in ((before.weights, after.weights), (before.rng, after.rng)):
        assert old.keys() == new.keys()
        assert all(torch.equal(old[name], new[name]) for name in old)
    assert after.best == {}
    assert after.progress["epoch"] == 3
    assert math.isnan(after.progress["history"][0]["val"]["roc_auc"])


def test_the_optimiser_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, checkpoint(), RUN)
    straight, optimiser = trained()
    resumed, fresh = trained()
    fresh = torch.optim.Adam(resumed.parameters(), lr=0.5)
    fresh.load_state_dict(load_checkpoint(path, RUN).optimiser)
    for model, steps in ((straight, optimiser), (resumed, fresh)):
        steps.zero_grad()
        model(torch.ones(5, 4).cumsum(0)).square().sum().backward()
        steps.step()
    for a, b in zip(straight.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_copies_do_not_follow_the_model() -> None:
    model, _ = trained()
    copy = copy_weights(model)
    with torch.no_grad():
        model[0].weight.zero_()
    assert bool(copy["0.weight"].any())


def test_fingerprints() -> None:
    assert fingerprint_of({"a": 1, "b": 2}) == fingerprint_of({"b": 2, "a": 1})
    assert fingerprint_of({"a": 1}) != fingerprint_of({"a": 2})


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, checkpoint(), RUN)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        load_checkpoint(path, fingerprint_of("another run"))


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, checkpoint(), RUN)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is not a complete safetensors"):
        load_checkpoint(path, RUN)


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_tensors(path, trained()[0].state_dict(), {"recipe": {}})
    with pytest.raises(ValueError, match="not a checkpoint of a training run"):
        load_checkpoint(path, RUN)


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, checkpoint(), RUN)
    tensors, meta = load_tensors(path)
    save_tensors(path, tensors, {**meta, "format": 99})
    with pytest.raises(ValueError, match="written by a newer gsina"):
        load_checkpoint(path, RUN)


def test_kill_9_during_a_save_leaves_a_whole_file(tmp_path: Path) -> None:
    """A child saves without end and is killed at a random moment, many times."""
    path = tmp_path / "checkpoint.safetensors"
    state = checkpoint()
    state.weights["large"] = torch.rand(200_000)
    save_checkpoint(path, state, RUN)
    last = 0
    for attempt in range(12):
        before = path.stat().st_mtime_ns
        child = _fork_saver(path, state, start=last + 1)
        try:
            wait_until(lambda before=before: path.stat().st_mtime_ns != before)
            time.sleep(0.0071 * attempt)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        found = load_checkpoint(path, RUN)
        assert torch.equal(found.weights["large"], state.weights["large"])
        assert found.progress["epoch"] >= last  # what was saved stays saved
        last = found.progress["epoch"]
    assert last > 0  # the children did save


def _fork_saver(path: Path, state: Checkpoint, start: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads do not matter to this child
        child = os.fork()
    if child == 0:
        try:
            for epoch in range(start, start + 100_000):
                state.progress["epoch"] = epoch
                save_checkpoint(path, state, RUN)
        finally:
            os._exit(1)
    return child


@pytest.mark.parametrize(
    "meta",
    [
        {"format": "1", "progress": {}, "optimiser": {"state": {}, "groups": []}},
        {"format": 1, "progress": [], "optimiser": {"state": {}, "groups": []}},
        {"format": 1, "progress": {}, "optimiser": {"state": {"a": {}}, "groups": []}},
        {"format": 1, "progress": {}, "optimiser": {}},
    ],
)
def test_metadata_of_another_shape_is_one_sentence(meta: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_tensors(path, {}, meta | {"fingerprint": RUN})
    with pytest.raises(UnusableCheckpoint, match=r"checkpoint\.safetensors is"):
        load_checkpoint(path, RUN)
