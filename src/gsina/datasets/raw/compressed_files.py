"""Files packed with gzip or by NumPy, read whole and with errors that name the file."""

from __future__ import annotations

import gzip
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError

#: Most bytes that a file of a dataset may take when it is unpacked.
LARGEST = 1 << 31
#: Kinds of parts of a ``.mat`` file: an array, and one that is packed by zlib.
ARRAY_PART, PACKED_PART = 14, 15
#: Kinds of numbers inside an array; SciPy's reader ends the process at others.
NUMBERS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13}


def read_gzip(path: Path) -> bytes:
    """Content of a gzip file.

    Raises:
        InputError: If it is not complete.
    """
    return _unpacked(path, "gzip file")


def read_gzip_text(path: Path, kind: str = "gzip file") -> str:
    """The same as text; ``kind`` is what the error calls the file."""
    with _whole(path, kind):
        return _unpacked(path, kind).decode()


def _unpacked(path: Path, kind: str) -> bytes:
    with _whole(path, kind), gzip.open(path) as file:
        content = file.read(LARGEST + 1)
    _check_size(path, len(content))
    return content


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise InputError(
            f"{path} would take more than {LARGEST >> 30} GiB when it is unpacked, which no file "
            "of a dataset does; delete it and fetch the official one."
        )


@contextmanager
def _whole(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not a complete {kind} ({error}); delete it and fetch it again."
        ) from error


def _check_arrays(path: Path) -> None:
    """Refuse arrays that are larger than what the file has for them, before memory is taken."""
    with zipfile.ZipFile(path) as opened:
        for member in opened.infolist():
            _check_size(path, member.file_size)
            if not member.filename.endswith(".npy"):
                continue
            with opened.open(member) as file:
                _check_header(file, member.filename, member.file_size)


def _check_header(file: IO[bytes], name: str, size: int) -> None:
    """Refuse an array of NumPy's format that says it is larger than its ``size`` in bytes."""
    header = (
        np.lib.format.read_array_header_1_0
        if np.lib.format.read_magic(file) == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    try:
        shape, _, dtype = header(file)
    except Exception as error:  # Broken headers raise whatever their garbage leads to.
        raise ValueError(f"the header of {name} is damaged ({error})") from error
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{name} says that it has the shape {shape}")


def read_npy(path: Path) -> NDArray[Any]:
    """The array of an ``.npy`` file; no objects are unpickled.

    Raises:
        InputError: If the file is not complete.
    """
    try:
        with path.open("rb") as file:
            _check_header(file, path.name, path.stat().st_size)
        found: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(
            f"{path} is not a complete .npy file of numbers ({error}); make it again."
        ) from error
    return found


def check_mat(path: Path) -> None:
    """Refuse a ``.mat`` file that is no arrays of numbers, or too large when it is unpacked.

    Of its version 5, which is a header of 128 bytes and then parts with their kind and length; what
    is packed is unpacked here and thrown away.

    Raises:
        InputError: If it is too large.
        ValueError: If a part is something else.
    """
    total = 0
    with path.open("rb") as file:
        form = "<" if file.read(128)[126:] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, length = struct.unpack(f"{form}II", tag)
            if kind != PACKED_PART:
                total += length
                _check_size(path, total)
                if kind != ARRAY_PART:
                    raise ValueError(f"a part is of kind {kind}, expected arrays")
                _check_parts(file.read(length), form)
                continue
            unpack, left, content = zlib.decompressobj(), length, bytearray()
            while left > 0 and (block := file.read(min(left, 1 << 16))):
                left -= len(block)
                while block:
                    content += unpack.decompress(block, 1 << 20)
                    _check_size(path, total + len(content))
                    block = unpack.unconsumed_tail
            total += len(content)
            if content[:4] != struct.pack(f"{form}I", ARRAY_PART):
                raise ValueError("a packed part is no array")
            _check_parts(content[8:], form)


def _check_parts(content: bytes | bytearray, form: str) -> None:
    """Refuse an array of a ``.mat`` file with a part that is no list of numbers."""
    at = 0
    while at + 8 <= len(content):
        kind, length = struct.unpack_from(f"{form}II", content, at)
        if kind >> 16:  # short ones have their length beside the kind
            kind, length = kind & 0xFFFF, 0
        if kind not in NUMBERS:
            raise ValueError(f"a part of an array is of kind {kind}, expected numbers")
        at += 8 + -(-length // 8) * 8


@contextmanager
def open_npz(path: Path, content: str, source: str = "") -> Iterator[Any]:
    """The arrays of an ``.npz`` file, by name; no objects are unpickled.

    Args:
        path: The file.
        content: What it should hold, for the error.
        source: Where to fetch it again, for the error.

    Raises:
        InputError: If the file is not complete, or lacks an array that is asked for.
    """
    try:
        _check_arrays(path)
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} is not a complete .npz file with {content} ({error}); delete it and fetch it "
            f"again{source}."
        ) from error
