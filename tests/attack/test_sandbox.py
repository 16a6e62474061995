"""The sandbox notices what it is there for: harm, hangs, hunger, crashes and tracebacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attack import sandbox
from attack.kernel import build, call
from attack.kills import debris
from attack.sandbox import Ended, limit_files, limit_memory, run, watch
from attack.workshop import Missing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attacks fork processes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "case").mkdir()
    return tmp_path / "case"


def ended(folder: Path, work: Callable[[], object], seconds: float = 20) -> Ended:
    return run(work, folder, seconds=seconds, limits=(limit_memory, lambda: watch([folder])))


def refuse() -> None:
    print("error: got this, expected that.", file=sys.stderr)
    raise SystemExit(2)


def test_success_and_one_sentence_are_no_problem(folder: Path) -> None:
    assert ended(folder, lambda: Path("inside.txt").write_text("x")).problem == ""
    assert ended(folder, refuse).problem == ""


@pytest.mark.parametrize(
    ("work", "problem"),
    [
        (lambda: Path("../outside.txt").write_text("x"), "left its folder: open"),
        (lambda: Path("../precious.txt").unlink(), "left its folder: os.remove"),
        (lambda: os.rename("inside.txt", "../outside.txt"), "left its folder: os.rename"),
        (lambda: subprocess.run(["true"]), "left its folder: subprocess"),
        (lambda: os.system("true"), "left its folder: os.system"),
        (lambda: {}["missing"], "traceback: KeyError"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended by signal 11"),
        (lambda: time.sleep(60), "took more than"),
        (lambda: bytes(10 << 30), "traceback: MemoryError"),
        (lambda: sys.exit(2), "code 2 and said 0 sentences"),
    ],
    ids=["writes", "removes", "moves", "starts", "shell", "bug", "crash", "hang", "memory", "mute"],
)
def test_everything_else_is_one(folder: Path, work: Callable[[], object], problem: str) -> None:
    (folder / "inside.txt").write_text("x")
    (folder.parent / "precious.txt").write_text("x")
    assert problem in ended(folder, work, seconds=2).problem
    assert (folder.parent / "precious.txt").read_text() == "x"
    assert not (folder.parent / "outside.txt").exists()


def test_memory_is_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MEMORY", 1 << 28)

    def hold() -> None:
        kept = b"x" * (3 << 27)
        del kept

    assert "MiB" in ended(folder, hold).problem


def test_a_full_disk_refuses_to_write(folder: Path) -> None:
    def write() -> None:
        limit_files(100)
        Path("a").write_bytes(bytes(100_000))

    assert "File too large" in ended(folder, write).err


def test_debris_is_found(folder: Path) -> None:
    assert debris(folder) == []
    (folder / "run").mkdir()
    (folder / "run" / ".log.jsonl.0123456789abcdef").touch()
    assert debris(folder) == ["run/.log.jsonl.0123456789abcdef"]


def test_the_sanitizers_catch_the_planted_error(tmp_path: Path) -> None:
    try:
        program = build(tmp_path)
    except Missing as why:
        pytest.skip(str(why))
    assert call(program, 1).returncode == 0
    caught = call(program, 1, planted=True)
    assert caught.returncode != 0
    assert "AddressSanitizer" in caught.stderr
