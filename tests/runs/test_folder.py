"""The folder of a run belongs to one process, and nothing in it leads elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny
from gsina.errors import InputError
from gsina.graphs.dataset import Origin
from gsina.runs.defaults import file_recipe
from gsina.runs.folder import alone_in, note_run, read_repeats


@pytest.mark.parametrize("name", [".lock", "model", "ratio-0.5", "baselines"])
def test_a_link_inside_is_refused(name: str, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "run"
    out.mkdir()
    victim.write_text("precious")
    (out / name).symlink_to(victim)
    with pytest.raises(InputError, match="is a symbolic link"), alone_in(out):
        pytest.fail("something could be written through the link")
    assert victim.read_text() == "precious"


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "large disk")
    with alone_in(tmp_path / "run"):
        (tmp_path / "run" / "log.jsonl").write_text("{}")
    assert (tmp_path / "large disk" / "log.jsonl").exists()
    assert (tmp_path / "run").is_symlink()


@pytest.mark.parametrize("place", [".", "model", "ratio-0.3", "baselines/erm"])
def test_a_killed_run_leaves_no_debris_to_the_next(place: str, tmp_path: Path) -> None:
    left = tmp_path / place / ".checkpoint.safetensors.0123456789abcdef"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half of a checkpoint")
    with alone_in(tmp_path):
        assert not left.exists()


def test_reasons_run_nothing_in_a_spreadsheet(tmp_path: Path) -> None:
    recipe = file_recipe("graphs", ("graphs.jsonl",), {"split": "random"})
    data = tiny.dataset(per_class=2)
    unreadable = ((2, "=1+1 is no molecule"), (3, "it is not JSON"))
    note_run(tmp_path, recipe, 0, replace(data, origin=Origin(unreadable=unreadable)))
    lines = (tmp_path / "unreadable.csv").read_text().splitlines()
    assert lines == ["row,reason", "2,'=1+1 is no molecule", "3,it is not JSON"]


@pytest.mark.parametrize(
    "repeats",
    [
        {"seeds": ["/../../victim"], "folds": None},
        {"seeds": [], "folds": 10**12},
        {"seeds": [], "folds": "3"},
        {"seeds": 3, "folds": None},
        {"folds": 3},
        ["seed-0"],
    ],
    ids=str,
)
def test_a_run_names_no_folders_elsewhere_and_not_too_many(repeats: Any, tmp_path: Path) -> None:
    out, victim = tmp_path / "run", tmp_path / "victim"
    for folder in (out / "seed-", victim / "model"):
        folder.mkdir(parents=True)
    for name in ("run.json", "result.json", "report.html", "model/model.json"):
        (victim / name).write_text("{}")
    (out / "run.json").write_text(json.dumps({"format": 2, "seed": 0, "repeats": repeats}))
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        read_repeats(out)
    recipe = file_recipe("graphs", ("graphs.jsonl",), {"split": "random"})
    with alone_in(out):
        note_run(out, recipe, 0, tiny.dataset(per_class=2))  # as with --force
    left = sorted(str(path.relative_to(victim)) for path in victim.rglob("*") if path.is_file())
    assert left == ["model/model.json", "report.html", "result.json", "run.json"]
