"""Commands that only tell something do not wait for torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from gsina.cli import app

#: Runs the command and says which of the slow packages it has imported.
PROGRAM = """
import sys
from gsina.cli import app
sys.argv[0] = "gsina"
code = app(standalone_mode=False)
slow = ("torch", "torch_geometric", "sklearn", "scipy", "matplotlib", "pandas")
found = [name for name in slow if name in sys.modules]
sys.exit(f"imported {found}" if found else code)
"""


def commands(group: Any, *before: str) -> Iterator[str]:
    """Names of a group and of all that is below it."""
    yield " ".join(before)
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *before, name)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=folder
    )
    assert "imported [" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("command", list(commands(get_command(app))))
def test_help(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, *command.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: gsina {command}".strip() in done.stdout


@pytest.mark.parametrize("command", ["datasets", "methods", "runs", "--version"])
def test_lists(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("datasets spmotfi", "did you mean 'spmotif'?"),
        ("methods gsna", "did you mean 'gsina'?"),
        ("predict nowhere new.csv", "there is no model in nowhere"),
        ("predict . new.csv", "there is no file new.csv"),
        ("explain nowhere new.csv", "there is no model in nowhere"),
        ("explain . --nodes new.csv --edges edges.csv", "there is no file new.csv"),
        ("report gsat --results nowhere", "there is no folder nowhere"),
        ("train new.csv --target active", "there is no file new.csv"),
        ("train spmotfi", "did you mean 'spmotif'?"),
        ("tune new.csv --target active", "there is no file new.csv"),
        ("train --nodes new.csv --edges edges.csv", "there is no file new.csv"),
        ("train spmotif --track wandbb", "did you mean 'wandb'?"),
        ("push nowhere user/name", "there is no folder nowhere"),
        ("push . name", "expected user/name"),
        ("runs nowhere", "there is no folder nowhere"),
    ],
)
def test_wrong_names(tmp_path: Path, command: str, sentence: str) -> None:
    done = run(tmp_path, *command.split())
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
