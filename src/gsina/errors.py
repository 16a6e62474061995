"""Errors that a user can fix, in one sentence; any other exception is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input that the user can fix; the message says what was got, expected, and what to do."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that does not exist."""


class MissingPackageError(InputError, ImportError):
    """An optional package that is not installed."""


class DownloadError(InputError, ConnectionError):
    """A file that could not be fetched."""


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
