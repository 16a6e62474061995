"""Run folders are found and read, whatever state they are in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gsina.files import locked
from gsina.runs.listing import FoundRun, find_runs, read_run_folder
from run_folders import make_run

KEPT = Path(__file__).parents[1] / "kept" / "v0.1"


def test_folders_of_earlier_versions() -> None:
    found = {one.folder.name: one for one in find_runs(KEPT)}
    assert found.keys() == {"molecules", "named", "nodes", "unfinished"}
    assert (found["molecules"].data, found["molecules"].metric) == ("molecules.csv", "roc_auc")
    assert (found["named"].seed, found["named"].state) == (3, "finished")
    assert (found["unfinished"].state, found["unfinished"].epochs) == ("unfinished", 1)


def test_finished_unfinished_and_running(tmp_path: Path) -> None:
    done = read_run_folder(make_run(tmp_path / "done", score=0.5))
    assert done == FoundRun(
        tmp_path / "done",
        "finished",
        "spmotif",
        "gsina",
        "",
        0,
        7,
        "accuracy",
        0.5,
        0.25,
        "2026-01-02T03:04:05+00:00",
    )
    half = make_run(tmp_path / "half", seed=3)
    assert read_run_folder(half) == FoundRun(half, "unfinished", "spmotif", "gsina", "gin", 3, 2)
    with locked(half / ".lock") as mine:
        assert mine
        assert read_run_folder(half).state == ("running" if os.name == "posix" else "unfinished")
    assert read_run_folder(half).state == "unfinished"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("run.json", b"{"),
        ("run.json", b"[1]"),
        ("run.json", b"\xff\xfe"),
        ("run.json", b"[" * 100_000),
        ("recipe.toml", b"[data"),
        ("recipe.toml", b"data = 3"),
        ("recipe.toml", b""),
        ("result.json", b'{"recipe": {"data": 3}}'),
        ("result.json", b'{"recipe": {"data": {"name": "x"}}, "metrics": [1]}'),
        ("result.json", b"null"),
    ],
)
def test_a_damaged_folder_costs_its_row_only(tmp_path: Path, file: str, content: bytes) -> None:
    make_run(tmp_path / "a", score=0.5)
    (make_run(tmp_path / "b") / file).write_bytes(content)
    whole, damaged = find_runs(tmp_path)
    assert whole.state == "finished"
    assert damaged.state == "damaged"
    assert damaged.problem
    assert "\n" not in damaged.problem


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result.json")
    assert list(find_runs(tmp_path)) == []
    folder = make_run(tmp_path / "run")
    for name in ("result.json", "log.jsonl", "recipe.toml"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    assert read_run_folder(folder).state == "damaged"  # without a recipe


def test_files_of_any_size_are_not_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with (folder / "result.json").open("wb") as file:
        file.truncate(2**40)  # without a block on the disk
    assert "too large" in read_run_folder(folder).problem


def test_odd_values_are_left_out(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", score=0.5)
    result = json.loads((folder / "result.json").read_text())
    result |= {"seed": "x", "epochs": True, "metrics": {"val": {"accuracy": None}}}
    (folder / "result.json").write_text(json.dumps(result))
    found = read_run_folder(folder)
    assert (found.seed, found.epochs, found.validation, found.test) == (None, None, None, None)
    assert found.rank == float("inf")


def test_only_runs_are_found(tmp_path: Path) -> None:
    make_run(tmp_path / "deep" / "er" / "one")
    make_run(tmp_path / ".hidden" / "two")
    make_run(tmp_path / "several")
    make_run(tmp_path / "several" / "seed-0")
    make_run(tmp_path / "several" / "baselines")  # a part of the run, and none itself
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "result.json").write_text('{"score": 1}')  # of another program
    (tmp_path / "loop").symlink_to(tmp_path)
    names = [one.folder.relative_to(tmp_path).as_posix() for one in find_runs(tmp_path)]
    assert names == ["deep/er/one", "several", "several/seed-0"]


def test_the_better_one_comes_first_whichever_way_a_metric_counts(tmp_path: Path) -> None:
    good, bad = (
        read_run_folder(make_run(tmp_path / f"accuracy-{score}", score=score))
        for score in (0.9, 0.1)
    )
    assert good.rank < bad.rank
    far, near = (
        read_run_folder(make_run(tmp_path / f"rmse-{score}", score=score, metric="rmse"))
        for score in (0.9, 0.1)
    )
    assert near.rank < far.rank
