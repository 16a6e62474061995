"""The folder of a run belongs to one process, and nothing in it leads elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsina.errors import InputError
from gsina.runs.folder import alone_in


@pytest.mark.parametrize("name", [".lock", "model", "ratio-0.5"])
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


@pytest.mark.parametrize("place", [".", "model", "ratio-0.3"])
def test_a_killed_run_leaves_no_debris_to_the_next(place: str, tmp_path: Path) -> None:
    left = tmp_path / place / ".checkpoint.safetensors.0123456789abcdef"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half of a checkpoint")
    with alone_in(tmp_path):
        assert not left.exists()
