"""Tests of the folders and of writing that survives a crash."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
import torch

from gsina import files
from gsina.errors import InputError
from gsina.files import (
    cache_dir,
    data_dir,
    load_tensors,
    load_text,
    locked,
    remove_leftovers,
    save_json,
    save_tensors,
    write_aside,
)
from processes import started, wait_until


def test_folders_come_from_the_environment_at_call_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "raw"))
    monkeypatch.setenv("GSINA_CACHE", "~/ready")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_dir() == tmp_path / "raw"
    assert cache_dir() == tmp_path / "ready"


@pytest.mark.parametrize("unset", [None, ""])
def test_folders_by_default_lie_in_the_users_cache(
    unset: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GSINA_DATA", "GSINA_CACHE"):
        if unset is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, unset)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_dir() == tmp_path / "gsina" / "data"
    assert cache_dir() == tmp_path / "gsina" / "cache"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_dir() == tmp_path / ".cache" / "gsina" / "data"


def test_write_aside_makes_folders_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for content in (b"first", b"second, longer", b""):
        with write_aside(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_content(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail_half_way() -> None:
        with write_aside(path) as file:
            file.write(b"half of the new")
            file.flush()
            assert path.read_bytes() == b"old"
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


SAVE_FOR_EVER = """
import sys, torch
from pathlib import Path
from gsina.files import save_tensors
number = 0
while True:
    save_tensors(Path(sys.argv[1]), {"a": torch.full((200_000,), number)}, {"number": number})
    number += 1
"""


def test_kill_in_the_middle_of_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    last = -1

    def written() -> int | None:
        return path.stat().st_mtime_ns if path.exists() else None

    for pause in (0.0, 0.013, 0.031):
        before = written()
        with started([sys.executable, "-c", SAVE_FOR_EVER, str(path)]) as child:
            wait_until(lambda before=before: written() != before, child)
            time.sleep(pause)
            child.kill()
        tensors, meta = load_tensors(path)
        assert torch.equal(tensors["a"], torch.full((200_000,), meta["number"]))
        last = max(last, meta["number"])
    assert last >= 0
    save_tensors(path, {})
    assert os.listdir(tmp_path) == [path.name]


WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from gsina.files import write_aside
with write_aside(Path(sys.argv[1])) as file:
    Path(sys.argv[2]).touch()
    time.sleep(3600)
"""


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(tmp_path: Path) -> None:
    path, other = tmp_path / "state.json", tmp_path / ".state.json.backup"
    with started([sys.executable, "-c", WRITE_AND_WAIT, str(path), str(other)]) as child:
        wait_until(other.exists, child)
        save_json(path, {})
        remove_leftovers(tmp_path)
        assert len(os.listdir(tmp_path)) == 3
        child.kill()
        child.wait()
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [other.name, path.name]


def test_json_round_trip(tmp_path: Path) -> None:
    value = {"accuracy": 0.5, "names": ["a", "ü"], "none": None}
    save_json(tmp_path / "result.json", value)
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == value
    assert "ü" in text
    assert text.endswith("}\n")


def test_what_json_cannot_hold_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    save_json(path, {"a": 1})
    with pytest.raises(TypeError):
        save_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}


def test_tensors_round_trip(tmp_path: Path) -> None:
    base = torch.arange(12.0).view(3, 4)
    tensors = {
        "bool": torch.tensor([True, False, True]),
        "int64": torch.tensor([[2**62, -1]]),
        "float32": torch.tensor([0.1, float("nan"), float("inf")]),
        "float64": torch.tensor([1 / 3], dtype=torch.float64),
        "bfloat16": torch.tensor([1.5], dtype=torch.bfloat16),
        "scalar": torch.tensor(7),
        "no rows": torch.zeros(0, 4),
        "transposed": base.T,
        "shared": base,
        "also shared": base[1:],
        "with gradient": torch.ones(2, requires_grad=True),
    }
    meta = {"name": "x", "list": [1, 2.5, None], "nested": {"a": True}}
    save_tensors(tmp_path / "t.safetensors", tensors, meta)
    loaded, loaded_meta = load_tensors(tmp_path / "t.safetensors")
    assert loaded_meta == meta
    assert set(loaded) == set(tensors)
    for name, value in tensors.items():
        assert loaded[name].dtype == value.dtype, name
        torch.testing.assert_close(loaded[name], value.detach(), rtol=0, atol=0, equal_nan=True)


def test_nothing_but_meta(tmp_path: Path) -> None:
    save_tensors(tmp_path / "t.safetensors", {})
    assert load_tensors(tmp_path / "t.safetensors") == ({}, {})


@pytest.mark.parametrize("keep", [0, 4, 8, 40, 0.5, 0.99])
def test_a_truncated_file_is_a_value_error(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, {"a": torch.arange(1000)}, {"some": "meta"})
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    with pytest.raises(ValueError, match=r"t\.safetensors is not a complete safetensors file"):
        load_tensors(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_tensors(tmp_path / "nowhere.safetensors")


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    torch.save({"a": torch.ones(1)}, path)
    with pytest.raises(ValueError, match="not a complete safetensors file"):
        load_tensors(path)


def test_a_lock_changes_no_file(tmp_path: Path) -> None:
    """Neither the one that a link in its place leads to, nor one that was there before."""
    victim, lock = tmp_path / "victim", tmp_path / "run" / ".lock"
    victim.write_text("precious")
    lock.parent.mkdir()
    lock.symlink_to(victim)
    with pytest.raises(InputError, match=r"\.lock is a symbolic link to .*victim"), locked(lock):
        pass
    assert victim.read_text() == "precious"
    lock.unlink()
    os.link(victim, lock)
    with locked(lock) as mine:
        assert mine
    assert victim.read_text() == "precious"
    assert not lock.exists()


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with locked(tmp_path / ".lock") as first, locked(tmp_path / ".lock") as second:
        assert first
        assert not second
    with locked(tmp_path / ".lock") as again:
        assert again
    assert os.listdir(tmp_path) == []


def test_writing_replaces_a_link_and_leaves_what_it_leads_to(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "result.json"
    victim.write_text("precious")
    link.symlink_to(victim)
    save_json(link, {})
    assert victim.read_text() == "precious"
    assert not link.is_symlink()


def test_a_pipe_in_place_of_a_file_is_a_sentence(tmp_path: Path) -> None:
    """A read or a write of one would wait until somebody comes to the other end."""
    pipe = tmp_path / ".lock"
    os.mkfifo(pipe)
    for use in (load_text, load_tensors):
        with pytest.raises(InputError, match=r"\.lock is a pipe or a device, expected a file"):
            use(pipe)
    with pytest.raises(InputError, match="is a pipe or a device"), locked(pipe):
        pytest.fail("a pipe is no lock")


def test_a_description_without_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_TEXT", 10)
    path = tmp_path / "run.json"
    path.write_text("0123456789")
    assert load_text(path) == "0123456789"
    path.write_text("0123456789a")
    with pytest.raises(InputError, match=r"run\.json has more than 10 bytes"):
        load_text(path)
