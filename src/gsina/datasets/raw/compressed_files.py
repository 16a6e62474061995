"""Files packed with gzip or by NumPy, read whole and with errors that name the file."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gsina.errors import InputError


def read_gzip(path: Path) -> bytes:
    """Content of a gzip file.

    Raises:
        InputError: If it is not complete.
    """
    with _whole(path, "gzip file"):
        return gzip.decompress(path.read_bytes())


def read_gzip_text(path: Path, kind: str = "gzip file") -> str:
    """The same as text; ``kind`` is what the error calls the file."""
    with _whole(path, kind):
        return gzip.decompress(path.read_bytes()).decode()


@contextmanager
def _whole(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not a complete {kind} ({error}); delete it and fetch it again."
        ) from error


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
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} is not a complete .npz file with {content} ({error}); delete it and fetch it "
            f"again{source}."
        ) from error
