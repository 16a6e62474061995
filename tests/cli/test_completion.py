"""What the shell offers after Tab, by the way that bash asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gsina.cli import completion
from gsina.nn.backbones import BACKBONES
from gsina.training.devices import ACCELERATORS

#: The command, as the shell calls it; it must not import torch.
PROGRAM = """
import sys
from gsina.cli import app
try:
    app(prog_name="gsina")
finally:
    assert "torch" not in sys.modules, "torch was imported"
"""


def offered(folder: Path, line: str) -> list[str]:
    """What is offered for the last word of a line."""
    asked = {"_GSINA_COMPLETE": "complete_bash", "COMP_WORDS": line}
    words = len(line.split()) - 1 + line.endswith(" ")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | asked | {"COMP_CWORD": str(words)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("completion")
    for name in ("runs/first", "runs/second", "notes"):
        (made / name).mkdir(parents=True)
    (made / "runs" / "first" / "run.json").touch()
    for name in ("molecules.csv", "mine.toml", "notes.md"):
        (made / name).touch()
    return made


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gsina da", ["datasets"]),
        ("gsina doc", ["doctor"]),
        ("gsina train spmotif-m", ["spmotif-mixed"]),
        ("gsina train mol", ["molecules.csv"]),
        ("gsina train no", ["notes/"]),
        ("gsina train spmotif --batch", ["--batch-size"]),
        ("gsina train spmotif --method gsi", ["gsina"]),
        ("gsina train spmotif --backbone sp", ["spmotifnet"]),
        ("gsina train spmotif --track wa", ["wandb"]),
        ("gsina train --recipe m", ["mine.toml"]),
        ("gsina train --recipe rec", ["recommended"]),
        ("gsina tune mol", ["molecules.csv"]),
        ("gsina predict runs/", ["runs/first", "runs/second/"]),
        ("gsina push ru", ["runs/"]),
        ("gsina methods cigav", ["cigav1", "cigav2"]),
    ],
)
def test_the_shell_is_offered(folder: Path, line: str, expected: list[str]) -> None:
    assert offered(folder, line) == expected


def test_copies_are_what_they_copy() -> None:
    assert set(completion.BACKBONES) == BACKBONES.keys()
    assert set(completion.DEVICES) == {"auto", "cpu", *ACCELERATORS}


def test_folders_that_cannot_be_read_offer_nothing(tmp_path: Path) -> None:
    assert completion.complete_runs(f"{tmp_path}/nowhere/x") == []
    assert completion.complete_folder(f"{tmp_path}/") == []
