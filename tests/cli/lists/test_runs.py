"""``gsina runs``: a table, JSON, order and choice."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Invoke
from run_folders import make_run


def folders(gsina: Invoke, *options: str) -> list[str]:
    done = gsina("runs", ".", "--json", *options)
    assert done.exit_code == 0, done.output
    return [row["folder"] for row in json.loads(done.output)]


def test_the_table_and_its_notes(gsina: Invoke, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "good", score=0.9)
    make_run(tmp_path / "runs" / "half", seed=5)
    (make_run(tmp_path / "runs" / "odd") / "run.json").write_text("{")
    done = gsina("runs", "runs")
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.output.splitlines()]
    assert "good spmotif gsina 0 finished 90.0 % 45.0 % accuracy" in lines
    assert "half spmotif gsina 5 unfinished (2)" in lines
    assert "odd damaged" in lines
    assert "note: runs/odd is damaged (ValueError: run.json is damaged" in done.output


def test_order_and_choice(gsina: Invoke, tmp_path: Path) -> None:
    make_run(tmp_path / "a", score=0.1)
    make_run(tmp_path / "b", score=0.9)
    make_run(tmp_path / "c")
    assert folders(gsina) == ["a", "b", "c"]
    assert folders(gsina, "--sort", "score", "--where", "state=finished") == ["b", "a"]
    assert folders(gsina, "--reverse") == ["c", "b", "a"]
    assert folders(gsina, "--where", "state=un*", "--where", "seed=0") == ["c"]
    assert folders(gsina, "--where", "method=erm") == []
    assert "there are no runs that fit" in gsina("runs", "--where", "method=erm").output


def test_bad_input(gsina: Invoke) -> None:
    assert "there are no runs in . or below." in gsina("runs").output
    for options, sentence in (
        (("nowhere",), "there is no folder nowhere"),
        (("--sort", "scor"), "did you mean 'score'?"),
        (("--where", "state"), "--where needs key=value"),
        (("--where", "dat=x"), "did you mean 'data'?"),
    ):
        failed = gsina("runs", *options)
        assert failed.exit_code == 2
        assert sentence in failed.stderr
