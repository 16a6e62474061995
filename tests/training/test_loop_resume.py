"""A resumed run is the uninterrupted one, bit for bit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from gsina.files import load_tensors, save_tensors
from gsina.listeners import log
from gsina.methods import METHODS, Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import (
    Interrupted,
    Progress,
    Settings,
    fit,
    make_selection,
    seed_everything,
)
from gsina.training.checkpoint import UnusableCheckpoint

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})


def train(
    out: Path, epochs: int, name: str = "gsina", resume: bool = False, **options: Any
) -> tuple[Method, Progress]:
    """What a new process does: seed, build, fit."""
    seed_everything(0)
    method = build_method(name, SPEC, tiny.CLASSES, options.pop("method", {}))
    chosen = make_selection("strict-best", options.pop("patience", None))
    hooks = {key: options.pop(key) for key in ("listeners", "seed") if key in options}
    data = tiny.dataset(options.pop("per_class", 4))
    how = {"batch_size": 5, "learning_rate": 0.01, "plateau_patience": 1, **options}
    settings = Settings(epochs=epochs, **how)
    return method, fit(method, data, settings, chosen, out=out, resume=resume, **hooks)


def untimed(progress: Progress) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in record.items() if not key.startswith("seconds")}
        for record in progress.history
    ]


def same(straight: tuple[Method, Progress], resumed: tuple[Method, Progress]) -> None:
    for (name, a), b in zip(
        straight[0].state_dict().items(), resumed[0].state_dict().values(), strict=True
    ):
        assert torch.equal(a, b), name
    assert untimed(straight[1]) == untimed(resumed[1])
    assert replace(straight[1], history=[]) == replace(resumed[1], history=[])


def same_files(first: Path, second: Path) -> None:
    """Weights, the best weights, Adam's moments, and both random states."""
    ours, theirs = (load_tensors(out / "checkpoint.safetensors")[0] for out in (first, second))
    assert ours.keys() == theirs.keys()
    assert {name.split("/")[0] for name in ours} == {"weights", "best", "optimiser", "rng"}
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("name", [name for name in METHODS if "graph" in METHODS[name].levels])
def test_three_and_three_epochs_are_six(name: str, tmp_path: Path) -> None:
    straight = train(tmp_path / "straight", 6, name)
    drawn = torch.get_rng_state()
    train(tmp_path / "parts", 3, name)
    torch.manual_seed(99)
    resumed = train(tmp_path / "parts", 6, name, resume=True)
    assert torch.equal(torch.get_rng_state(), drawn)
    same(straight, resumed)
    same_files(tmp_path / "straight", tmp_path / "parts")


@pytest.mark.parametrize(
    "settings",
    [
        {"final_temperature": 0.1, "anneal_epochs": 5},
        {"hard": True, "test_draws": 2},
        {"regulariser": "quadratic"},
        {"transport": "padded"},
    ],
    ids=str,
)
def test_so_it_is_with_settings_of_gsina(settings: dict[str, Any], tmp_path: Path) -> None:
    straight = train(tmp_path / "straight", 4, method=dict(settings))
    train(tmp_path / "parts", 2, method=dict(settings))
    torch.manual_seed(99)
    same(straight, train(tmp_path / "parts", 4, resume=True, method=dict(settings)))
    same_files(tmp_path / "straight", tmp_path / "parts")


def test_ctrl_c_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    straight = train(tmp_path / "straight", 5)
    count = iter(range(1000))

    def stop(done: int, total: int) -> None:
        if next(count) == 2 * total + 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        train(tmp_path / "parts", 5, listeners=[tiny.Heard(stop)])
    same(straight, train(tmp_path / "parts", 5, resume=True))
    same_files(tmp_path / "straight", tmp_path / "parts")


def test_a_finished_run_does_nothing_more(tmp_path: Path) -> None:
    straight = train(tmp_path, 3)
    again = train(tmp_path, 3, resume=True)
    same(straight, again)
    assert again[1].history == straight[1].history  # the very records, times included


def test_a_kill_between_the_checkpoint_and_the_log_loses_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, records: Any) -> None:
        if len(list(records)) == 3:
            raise SystemExit("killed")

    with monkeypatch.context() as patch:
        patch.setattr(log, "write_log", killed)
        with pytest.raises(SystemExit):
            train(tmp_path, 3)
    _, progress = train(tmp_path, 3, resume=True)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]
    assert progress.epoch == 3


def test_without_resume_a_run_starts_anew(tmp_path: Path) -> None:
    first = train(tmp_path, 2)
    same(first, train(tmp_path, 2))
    same(first, train(tmp_path / "nothing there yet", 2, resume=True))


@pytest.mark.parametrize(
    "other",
    [
        {"learning_rate": 0.02},
        {"batch_size": 6},
        {"weight_decay": 0.1},
        {"plateau_patience": None},
        {"patience": 5},
        {"seed": 1},
        {"method": {"ratio": 0.3}},
        {"method": {"budget": 8}},
        {"method": {"regulariser": "quadratic"}},
        {"method": {"hard": True}},
        {"method": {"scorer": "plain"}},
        {"name": "erm"},
        {"per_class": 5},
    ],
    ids=str,
)
def test_other_settings_are_refused(other: dict[str, Any], tmp_path: Path) -> None:
    train(tmp_path, 1)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        train(tmp_path, 2, resume=True, **other)


@pytest.mark.parametrize(
    "changed",
    [
        {"epohc": 1},
        {"epoch": "one"},
        {"best_epoch": 7},
        {"best": 3},
        {"history": [1]},
        {"history": [{"val": []}]},
        {"history": [{"val": {}}]},
        {"sessions": ["here"]},
    ],
    ids=str,
)
def test_a_checkpoint_with_another_progress_is_one_sentence(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    train(tmp_path, 1)
    path = tmp_path / "checkpoint.safetensors"
    tensors, meta = load_tensors(path)
    save_tensors(path, tensors, meta | {"progress": meta["progress"] | changed})
    with pytest.raises(UnusableCheckpoint, match=r"is damaged .*; start again with --force\.$"):
        train(tmp_path, 2, resume=True)


def test_a_checkpoint_of_other_tensors_is_one_sentence(tmp_path: Path) -> None:
    train(tmp_path, 1)
    path = tmp_path / "checkpoint.safetensors"
    tensors, meta = load_tensors(path)
    for part in ("weights/", "best/", "optimiser/", "rng/torch", "rng/shuffle"):
        name = next(
            name for name, value in tensors.items() if name.startswith(part) and value.dim()
        )
        save_tensors(path, tensors | {name: torch.zeros(3, 3)}, meta)
        with pytest.raises(UnusableCheckpoint, match="is damaged"):
            train(tmp_path, 2, resume=True)
    for part in ("weights/", "best/"):
        name = next(name for name in tensors if name.startswith(part))
        save_tensors(path, tensors | {name: tensors[name] * math.nan}, meta)
        with pytest.raises(UnusableCheckpoint, match="weights that are NaN or infinite"):
            train(tmp_path, 2, resume=True)
    lost = {name: value for name, value in tensors.items() if not name.endswith("exp_avg_sq")}
    save_tensors(path, lost, meta)
    with pytest.raises(UnusableCheckpoint, match="the optimiser has exp_avg, step of a weight"):
        train(tmp_path, 2, resume=True)
    groups = [group | {"lr": "fast"} for group in meta["optimiser"]["groups"]]
    save_tensors(path, tensors, meta | {"optimiser": meta["optimiser"] | {"groups": groups}})
    with pytest.raises(UnusableCheckpoint, match="lr of the optimiser is 'fast'"):
        train(tmp_path, 2, resume=True)
