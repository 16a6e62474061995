from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from gsina.datasets.raw import compressed_files
from gsina.datasets.raw.compressed_files import check_mat, open_npz, read_gzip, read_npy
from gsina.errors import InputError


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


def test_a_small_file_that_would_become_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed_files, "LARGEST", 1 << 10)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(ValueError, match="when it is unpacked"):
        read_gzip(path)


def test_a_header_that_promises_more_than_the_file_has_is_refused(tmp_path: Path) -> None:
    path, header = tmp_path / "a.npz", io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, about)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", header.getvalue())
    with (
        pytest.raises(ValueError, match="says that it has the shape"),
        open_npz(path, "x") as found,
    ):
        found["x"]


def test_an_array_file_that_promises_more_than_it_has_is_refused(tmp_path: Path) -> None:
    path, header = tmp_path / "a.npy", io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, about)
    path.write_bytes(header.getvalue() + bytes(80))
    with pytest.raises(InputError, match=r"a\.npy is not a complete \.npy file .* the shape"):
        read_npy(path)
    np.save(path, np.arange(3))
    assert read_npy(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize("packed", [True, False])
def test_a_small_mat_file_that_would_become_large_is_refused(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"A": np.zeros((100, 1000))}, do_compression=packed)
    check_mat(path)
    monkeypatch.setattr(compressed_files, "LARGEST", 1 << 16)
    with pytest.raises(InputError, match=r"a\.mat would take more than .* when it is unpacked"):
        check_mat(path)


@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_a_mat_file_that_are_no_numbers(tmp_path: Path, packed: bool) -> None:
    """SciPy's reader ends the process at a kind that it does not know."""
    path = tmp_path / "a.mat"
    savemat(path, {"A": csc_matrix(np.eye(3)), "local_info": np.ones((3, 7))})
    check_mat(path)
    savemat(path, {"A": np.ones((3, 3))}, do_compression=packed)
    check_mat(path)
    part = struct.pack("<II", 55, 0)
    array = struct.pack("<II", 14, len(part)) + part
    content = zlib.compress(array) if packed else array
    body = struct.pack("<II", 15, len(content)) + content if packed else content
    path.write_bytes(path.read_bytes()[:128] + body)
    with pytest.raises(ValueError, match="kind 55, expected numbers"):
        check_mat(path)
    path.write_bytes(path.read_bytes()[:128] + struct.pack("<II", 1, 0))
    with pytest.raises(ValueError, match="kind 1, expected arrays"):
        check_mat(path)
