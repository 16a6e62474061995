"""Errors that a user can fix, in one sentence; any other exception is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any


class InputError(ValueError):
    """Input that the user can fix; the message says what was got, expected, and what to do."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that does not exist."""


class MissingPackageError(InputError, ImportError):
    """An optional package that is not installed."""


class DownloadError(InputError, ConnectionError):
    """A file that could not be fetched."""


class Note(UserWarning):
    """What a user should know and need not mend, such as a cache that was damaged."""


def is_installed(module: str) -> bool:
    """Whether a package can be imported; a folder of its name in the working folder is none."""
    found = find_spec(module)
    return found is not None and found.origin is not None


def readable(text: str) -> str:
    """``text`` as it can be printed and written, with an escape for what is no character.

    Python has such text from file names that are not UTF-8 and from JSON such as ``"\\ud800"``.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def reason_of(error: BaseException) -> str:
    """The kind and the message of an error in one short line, to stand inside a sentence."""
    line = " ".join(readable(f"{type(error).__name__}: {error}").split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}..."


#: Characters of somebody else's message that a sentence of ours shows.
LONGEST_REASON = 200

#: What a number must be, in the words of the message; NaN is none of it.
RANGES: dict[str, Callable[[Any], bool]] = {
    "be 0 or more": lambda value: value >= 0,
    "be 1 or more": lambda value: value >= 1,
    "be above 0": lambda value: value > 0,
    "lie in (0, 1]": lambda value: 0 < value <= 1,
    "lie in [0, 1)": lambda value: 0 <= value < 1,
    "lie in [0.5, 1]": lambda value: 0.5 <= value <= 1,
    "lie between 0 and 1": lambda value: 0 < value < 1,
}


def check_range(settings: object, must: str, *names: str) -> None:
    """Refuse settings that are out of range.

    Args:
        settings: Has the numbers as attributes.
        must: What they must be, one of :data:`RANGES`.
        names: Their names.

    Raises:
        InputError: With the name, what it must be, and the value.
    """
    for name in names:
        value = getattr(settings, name)
        if not RANGES[must](value):
            raise InputError(f"{name} must {must}, got {value}.")


def check_name(name: str, known: Iterable[str], what: str) -> str:
    """Return ``name`` if it is one of ``known``; otherwise raise and suggest.

    Args:
        name: The name a user gave.
        known: All names that would be right.
        what: The kind of thing, for the message: ``"method"``, ``"dataset"``.

    Raises:
        InputError: One sentence with the nearest name and the list of all.
    """
    names = sorted(known)
    if name in names:
        return name
    spelt = {one.lower(): one for one in names}
    near = difflib.get_close_matches(name.lower(), spelt, n=3, cutoff=0.5)
    # Of those, rather one with the same letters in another order.
    near.sort(key=lambda one: sorted(one) != sorted(name.lower()))
    hint = f" did you mean {spelt[near[0]]!r}?" if near else ""
    known_names = f"known: {', '.join(names)}" if names else "there are none"
    raise InputError(f"unknown {what} {name!r};{hint} {known_names}.")
