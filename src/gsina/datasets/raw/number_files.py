"""Numbers in text files, read fast and with errors that name the file and the line."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError


def read_table(
    text: bytes,
    source: str,
    dtype: type[Any] = np.int64,
    *,
    delimiter: str | None = ",",
    rows: int | None = None,
) -> NDArray[Any]:
    """Parse lines of equally many numbers.

    Args:
        text: Content of the file.
        source: Its name, for the error.
        dtype: Type of the numbers.
        delimiter: What stands between two numbers, ``None`` for blanks.
        rows: How many lines there must be, if that is known.

    Returns:
        The numbers ``[lines, columns]``.

    Raises:
        InputError: If there are none, or a line is not like the others.
    """
    if not text.strip():
        raise InputError(f"{source} is empty; expected lines of numbers: fetch it again.")
    try:
        table = np.loadtxt(io.BytesIO(text), dtype=dtype, delimiter=delimiter, ndmin=2)
    except ValueError as error:
        raise InputError(
            f"{source} is truncated or altered ({error}); expected as many numbers in every "
            f"line: delete it and fetch it again."
        ) from error
    if rows is not None:
        check_rows(table, rows, source)
    return table


def read_column(
    text: bytes, source: str, dtype: type[Any] = np.int64, *, rows: int | None = None
) -> NDArray[Any]:
    """Parse one number per line ``[lines]``; ``rows`` says how many there must be."""
    table = read_table(text, source, dtype, delimiter=None)
    if table.shape[1] != 1:
        raise InputError(f"{source} has {table.shape[1]} numbers per line; expected one.")
    if rows is not None:
        check_rows(table, rows, source)
    return table[:, 0]


def check_rows(table: NDArray[Any], rows: int, source: str) -> None:
    """Raise if a table has not the number of lines that the files beside it ask for."""
    if len(table) != rows:
        raise InputError(
            f"{source} has {len(table)} lines but the files beside it ask for {rows}; it is "
            f"truncated or altered: fetch it again."
        )
