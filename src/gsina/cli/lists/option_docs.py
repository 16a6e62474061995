"""Descriptions of options, read from docstrings for the commands that list them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

_ENTRY = re.compile(r"    (\w+): (.*)")


def option_docs(of: Callable[..., Any]) -> dict[str, str]:
    """Descriptions of the options of a function or class, from its ``Args`` or ``Attributes``.

    Those of its base classes are included.
    """
    while isinstance(of, partial):
        of = of.func
    parents = reversed(of.__mro__) if isinstance(of, type) else [of]
    found: dict[str, str] = {}
    for one in parents:
        found |= _entries(inspect.cleandoc(one.__doc__ or ""))
    return found


def _entries(doc: str) -> dict[str, str]:
    lines = doc.splitlines()
    heads = [number for number, line in enumerate(lines) if line in ("Args:", "Attributes:")]
    found: dict[str, str] = {}
    name = None
    for line in lines[heads[0] + 1 :] if heads else []:
        entry = _ENTRY.fullmatch(line)
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif name and line.startswith("     "):
            found[name] += " " + line.strip()
        else:
            break
    return {name: text.replace("``", "") for name, text in found.items()}


def option_lines(options: dict[str, Any], of: Callable[..., Any]) -> dict[str, list[str]]:
    """``name=default`` and the description of every option, for :func:`gsina.cli.show.entries`."""
    known = option_docs(of)
    return {f"{name}={value}": [known.get(name, "")] for name, value in options.items()}
