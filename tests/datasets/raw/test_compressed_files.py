from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gsina.datasets.raw.compressed_files import open_npz, read_gzip


def test_gzip_must_be_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text" * 100))
    assert read_gzip(path) == b"text" * 100
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"a\.gz is not a complete gzip"):
        read_gzip(path)


def test_arrays_must_be_whole_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3))
    with open_npz(path, "an array x") as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    message = r"a\.npz is not a complete \.npz file with two .* and fetch it again from there\.$"
    with pytest.raises(ValueError, match=message), open_npz(path, "two", " from there") as arrays:
        arrays["y"]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="fetch it again"), open_npz(path, "x") as arrays:
        arrays["x"]
