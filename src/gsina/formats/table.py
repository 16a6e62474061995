"""Users' tables, read row by row in constant memory: CSV with row numbers, and others like it.

A row number is what a spreadsheet shows: the header is row 1, and a cell with line breaks in quotes
is one row. Files may be compressed with gzip.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, NamedTuple, TypeVar

from gsina.errors import InputError, MissingFileError, check_name
from gsina.files import refuse_special

Item = TypeVar("Item")
Records = Iterator[tuple[int, list[str], str | None]]

#: Bytes of the longest line that is read. Longer ones are refused without reading them whole.
LONGEST_LINE = 10_000_000
#: Bytes that a text file may have when it is unpacked, if it is read whole or line by line, and as
#: many more per byte of the file.
MOST_UNPACKED, MOST_STREAMED, UNPACKED_PER_BYTE = 1 << 20, 1 << 26, 200
#: Tables that are no text with delimiters, by their endings, and what reads them.
OTHER_TABLES = {
    ".sdf": "gsina.formats.sdf:sdf_records",
    ".sd": "gsina.formats.sdf:sdf_records",
    ".parquet": "gsina.formats.parquet:parquet_records",
}
#: Supported delimiters; the most frequent one in the header is used.
DELIMITERS = ",\t;"
#: Delimiters that other programs write, which are not supported.
OTHER_DELIMITERS = r"\||:|\s+"
GZIP, UTF8_BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Row(NamedTuple):
    """One row of a table.

    Attributes:
        number: Its row number in the file.
        cells: Text of every column by name; ``""`` for cells that are not there.
        problem: Why it does not fit the header, ``None`` if it does.
    """

    number: int
    cells: dict[str, str]
    problem: str | None


@dataclass(frozen=True)
class Columns:
    """Some columns of a table in memory.

    Attributes:
        numbers: Row number of every row that fits the header.
        cells: Text of every column by name, one entry for each of ``numbers``.
        problems: Row number and reason of the rows that do not fit the header.
    """

    numbers: list[int]
    cells: dict[str, list[str]]
    problems: list[tuple[int, str]]


def fingerprint(path: Path | str) -> str:
    """SHA-256 of the content of a file."""
    digest = hashlib.sha256()
    with _binary(Path(path)) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def lines(path: Path | str, *, longest: int | None = None) -> Iterator[str]:
    """The lines of a UTF-8 text file (or a gzip of one), with their ends.

    Args:
        path: The file.
        longest: Bytes of the longest line to read, by default ``LONGEST_LINE``.

    Raises:
        InputError: At a line that is too long or is not UTF-8, with its number.
    """
    path = Path(path)
    longest = LONGEST_LINE if longest is None else longest
    with _binary(path) as raw:
        start = raw.read(2)
        raw.seek(0)
        packed = start == GZIP
        file = gzip.GzipFile(fileobj=raw) if packed else raw
        left = MOST_STREAMED + UNPACKED_PER_BYTE * path.stat().st_size
        number = 0
        try:
            while line := file.readline(longest + 1):
                number += 1
                left -= len(line)
                if packed and left < 0:
                    raise InputError(
                        f"{path.name} unpacks to more than {UNPACKED_PER_BYTE} times its size, as "
                        "no text does that says something; if it should, unpack it before."
                    )
                yield _decoded(line, number, path, longest)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"{path.name} is not a whole gzip file (it breaks off after line {number}); "
                "compress or download it again."
            ) from error


def whole_text(path: Path, largest: int) -> str:
    """A UTF-8 text file (or a gzip of one) that must fit into memory.

    Raises:
        InputError: It has more than ``largest`` bytes, or more than a file of its size may have.
    """
    size, found, parts = path.stat().st_size if path.is_file() else 0, 0, []
    most = min(largest, MOST_UNPACKED + UNPACKED_PER_BYTE * size)
    for line in lines(path, longest=most):
        found += len(line)
        if found > most:
            raise InputError(
                f"{path.name} has more than {most:,} bytes when it is read; write one graph per "
                "line into a .jsonl file, which is read in chunks."
            )
        parts.append(line)
    return "".join(parts)


def header(path: Path | str) -> list[str]:
    """The column names of a table."""
    if (other := _other_table(path)) is not None:
        return other(Path(path))[0]
    _, names = _start(lines(path), Path(path))
    return names


def records(path: Path | str, *, longest: int | None = None) -> tuple[list[str], Records]:
    """Column names of a table, and its rows as number, cells and problem.

    Blank lines are numbered but are no rows, except in a table of one column, where they are empty
    cells. The problem says if a row has too few or too many cells, and is ``None`` otherwise.
    """
    path = Path(path)
    if (other := _other_table(path)) is not None:
        return other(path)
    text = lines(path, longest=longest)
    delimiter, names = _start(text, path)
    return names, _records(csv.reader(text, delimiter=delimiter, strict=True), len(names), path)


def table_rows(path: Path | str, *, longest: int | None = None) -> Iterator[Row]:
    """The rows of a table below its header, one by one; see :func:`records`."""
    names, rows = records(path, longest=longest)
    for number, cells, problem in rows:
        padded = cells + [""] * (len(names) - len(cells))
        yield Row(number, dict(zip(names, padded, strict=False)), problem)


def read_columns(path: Path | str, names: Sequence[str]) -> Columns:
    """Read the columns ``names``, each once, of a table.

    Raises:
        InputError: If a column is not there (with those that are), or the file has no rows.
    """
    path = Path(path)
    names = list(dict.fromkeys(names))
    check_columns(header(path), names, path)
    found = Columns([], {name: [] for name in names}, [])
    for row in table_rows(path):
        if row.problem is not None:
            found.problems.append((row.number, row.problem))
            continue
        found.numbers.append(row.number)
        for name in names:
            found.cells[name].append(row.cells[name])
    if not found.numbers:
        raise InputError(no_rows(path, found.problems))
    return found


def in_pieces(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of ``size``; the last may be shorter."""
    if size < 1:
        raise InputError(f"a chunk needs at least one row, got {size}.")
    source = iter(items)
    while piece := list(islice(source, size)):
        yield piece


def check_columns(present: Iterable[str], wanted: Iterable[str], path: Path | str) -> None:
    """Raise if a column is not there; the message lists those that are.

    Where the first line does not look like names of columns at all, the message says so instead.
    """
    known, names, file = list(present), list(dict.fromkeys(wanted)), Path(path).name
    if names and not set(names) & set(known):
        if len(known) == 1 and len(re.split(OTHER_DELIMITERS, known[0])) > 1:
            raise InputError(
                f"{file}: columns must be separated by commas, semicolons or tabs; the first line "
                f"is {_short(known[0])}."
            )
        near = any(difflib.get_close_matches(name, known, cutoff=0.5) for name in names)
        if any(map(_like_data, known)) or (len(names) > 1 and not near):
            raise InputError(_no_header(file, known, names))
    for name in names:
        check_name(name, known, f"column of {file}")


def no_rows(path: Path, problems: Sequence[tuple[int, str]]) -> str:
    """The sentence for a file in which no row can be used."""
    if not problems:
        return f"{path.name} has a header but no rows; expected at least one row below it."
    row, reason = problems[0]
    return (
        f"none of the {len(problems)} rows of {path.name} can be read; the first is row {row}: "
        f"{reason}."
    )


def _other_table(path: Path | str) -> Callable[[Path], tuple[list[str], Records]] | None:
    """What reads a table that is no CSV file, by the ending of its name."""
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    where = OTHER_TABLES.get(endings[-1]) if endings else None
    if where is None:
        return None
    _binary(Path(path)).close()  # a file that is not there has its own sentence
    found: Callable[[Path], tuple[list[str], Records]] = resolve_name(where)
    return found


def _records(reader: Iterator[list[str]], width: int, path: Path) -> Records:
    number = 1
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"row {number} of {path.name} is not CSV ({error}); is a quotation mark left open, "
                "or the file saved with the line ends of another system? save it again as CSV."
            ) from error
        if not cells:
            if width > 1:
                continue
            cells = [""]
        yield number, cells, _problem(cells, width)


def _problem(cells: list[str], width: int) -> str | None:
    """Why a row cannot be used, ``None`` if it can."""
    if len(cells) != width:
        return f"it has {len(cells)} cells, the header has {width}"
    return "it has a zero byte" if any("\0" in cell for cell in cells) else None


def _binary(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file.")
    if not path.exists():
        raise MissingFileError(f"there is no file {path}; check the path.")
    refuse_special(path)
    return path.open("rb")


def _decoded(line: bytes, number: int, path: Path, longest: int) -> str:
    if len(line) > longest:
        raise InputError(
            f"line {number} of {path.name} has more than {longest:,} bytes; expected one row or "
            "one graph per line: check that the file is what it should be."
        )
    if number == 1:
        if line.startswith(UTF16_BOMS):
            raise InputError(f"{path.name} is UTF-16 text; save it as CSV UTF-8.")
        line = line.removeprefix(UTF8_BOM)
    if b"\r" in line.rstrip(b"\r\n"):
        raise InputError(
            f"line {number} of {path.name} has a carriage return in the middle, as files of old "
            "programs do; save the file as CSV UTF-8 with ordinary line ends."
        )
    if b"\0" in line and number == 1:  # in a later line it costs that row only
        raise InputError(
            f"line {number} of {path.name} has zero bytes, so it is UTF-16 or no text; save it as "
            "UTF-8."
        )
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"line {number} of {path.name} is not UTF-8 (byte {error.object[error.start]:#04x} at "
            f"position {error.start + 1}, perhaps Latin-1); save the file as UTF-8."
        ) from error


def _start(text: Iterator[str], path: Path) -> tuple[str, list[str]]:
    """Delimiter and column names; reads the header from ``text``."""
    first = next(text, "")
    if not first.strip():
        raise InputError(f"{path.name} is empty; expected a header with column names and rows.")
    delimiter = max(DELIMITERS, key=first.count)
    names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter))]
    for name, count in Counter(names).items():
        if count > 1:
            if any(map(_like_data, names)):
                raise InputError(_no_header(path.name, names))
            raise InputError(
                f"{path.name} has two columns called {name!r}; give every column a name of its own."
            )
    return delimiter, names


def _like_data(name: str) -> bool:
    """Whether a cell of the first line is a number or empty, as in a table without a header."""
    try:
        float(name or "0")
    except ValueError:
        return False
    return True


def _no_header(file: str, known: Sequence[str], names: Sequence[str] = ()) -> str:
    """The sentence for a first line that names none of the columns."""
    asked = f" ({', '.join(map(repr, names[:4]))}{', ...' * (len(names) > 4)})" if names else ""
    return (
        f"{file}: the first line must name the columns, and it is {_short(','.join(known))}; put a "
        f"line with the names{asked} above the rows, or say what the columns are called."
    )


def _short(line: str) -> str:
    return repr(line if len(line) <= 60 else f"{line[:60]}...")
