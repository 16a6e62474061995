"""Parquet files as tables of text, read in pieces; rows are counted from 1."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from gsina.errors import InputError, MissingPackageError
from gsina.formats.table import Records

#: Rows in memory at a time.
PIECE = 8192


def parquet_records(path: Path) -> tuple[list[str], Records]:
    """Column names and rows of a Parquet file, as :func:`gsina.formats.table.records`."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingPackageError(
            "Parquet files are read with pyarrow, which is not installed: pip install "
            "gsina[parquet]."
        ) from error
    try:
        file = ParquetFile(path)
    except pyarrow.ArrowException as error:
        raise InputError(
            f"{path.name} is not a Parquet file ({str(error).rstrip('.')}); write it again."
        ) from error
    return [str(name) for name in file.schema_arrow.names], _rows(file)


def _rows(file: Any) -> Records:
    number = 0
    for piece in file.iter_batches(batch_size=PIECE):
        for row in zip(*(column.to_pylist() for column in piece.columns), strict=True):
            number += 1
            yield number, [_cell(value) for value in row], None


def _cell(value: Any) -> str:
    """A value as the text of a cell: ``""`` for what is missing, 1 and 0 for true and false."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
