from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gsina import __version__
from gsina.cli.options import command, pairs
from gsina.paper.studies import convergence


def test_help_and_version(gsina):
    lists = (["datasets"], ["methods"], ["runs"], ["doctor"])
    for arguments in ([], ["demo"], ["train"], ["push"], *lists, ["bench", "convergence"]):
        result = gsina(*arguments, "--help")
        assert result.exit_code == 0
        assert f"gsina {' '.join(arguments)}".strip() in result.output  # an example
    assert gsina("--version").output.strip() == f"gsina {__version__}"


def test_python_m_gsina():
    done = subprocess.run(
        [sys.executable, "-m", "gsina", "train", "spmotfi"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "unknown dataset 'spmotfi'; did you mean 'spmotif'?" in done.stderr


def test_datasets(gsina):
    table = gsina("datasets").output
    assert "spmotif" in table
    assert "accuracy" in table
    rows = {row["name"]: row for row in json.loads(gsina("datasets", "--json").output)}
    assert rows["spmotif"]["here"] is True
    assert rows["spmotif"]["options"]["bias"] == 0.5
    one = gsina("datasets", "spmotif").output
    assert "--data-option NAME=VALUE" in one
    assert "bias=0.5" in one
    failed = gsina("datasets", "spmotfi")
    assert failed.exit_code == 2
    assert "did you mean 'spmotif'?" in failed.stderr


def test_methods(gsina):
    assert "gsina methods NAME" in gsina("methods").output
    assert "temperature=1.0" in gsina("methods", "gsina").output
    rows = {row["name"]: row for row in json.loads(gsina("methods", "--json").output)}
    assert rows["erm"]["options"] == {}
    assert rows["gsina"]["options"]["ratio"] == 0.5
    assert "node" in rows["gsina"]["levels"]
    assert "ICML 2022" in rows["gsat"]["paper"]
    one = gsina("methods", "cigav2").output
    assert "spurious_network=shared" in one  # in full, however narrow the terminal is
    assert "gsat" not in one
    for wrong in ("gsna", "GSINA"):
        failed = gsina("methods", wrong)
        assert failed.exit_code == 2
        assert "did you mean 'gsina'?" in failed.stderr
    assert "there is no folder nowhere" in gsina("report", "gsat", "--results", "nowhere").stderr


def test_bench_convergence_writes_where_it_is_told(gsina, monkeypatch, tmp_path):
    written = []
    monkeypatch.setattr(convergence, "write_convergence", lambda *paths: written.append(paths))
    assert gsina("bench", "convergence", "--out", tmp_path).exit_code == 0
    assert written == [(tmp_path, Path("results/convergence.json"))]


def test_values_are_read_like_toml():
    texts = ["ratio=0.3", "scope=batch", "iterations=5", "flag=true", "few=[1, 2]", "a-b=x=y"]
    expected = {"ratio": 0.3, "scope": "batch", "iterations": 5, "flag": True, "few": [1, 2]}
    assert pairs(texts, "--set") == expected | {"a_b": "x=y"}
    with pytest.raises(ValueError, match=r"--set needs key=value, got 'ratio'\."):
        pairs(["ratio"], "--set")


def test_commands_to_paste_name_this_program_and_quote(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "gsina"
    script.parent.mkdir()
    script.write_text("")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    monkeypatch.chdir(tmp_path)
    assert command("train", "--out", "my runs") == "bin/gsina train --out 'my runs'"
    monkeypatch.setenv("PATH", str(script.parent))
    assert command("demo") == "gsina demo"
    script.unlink()
    assert command("demo") == f"{script.with_name('python')} -m gsina demo"


@pytest.mark.parametrize(
    ("option", "value"),
    [("--threads", 100_000), ("--seed", 2**64), ("--batch-size", 2**64)],
)
def test_numbers_beyond_all_machines_get_a_sentence(gsina, option, value):
    failed = gsina("train", "spmotif", option, value, "--out", "run")
    assert failed.exit_code == 2
    assert "Traceback" not in failed.output


@pytest.mark.parametrize(
    "problem", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 12 GB")]
)
def test_a_lack_of_memory_is_one_sentence(gsina, monkeypatch, problem):
    def fail(*_):
        raise problem

    monkeypatch.setattr("gsina.runs.recipe.NamedData.load", fail)
    done = gsina("train", "spmotif", "--epochs", 1)
    assert done.exit_code == 2
    assert done.output.count("error: there is not enough memory for this") == 1
    assert "Traceback" not in done.output
