"""Recipes as TOML text; Python's own library only reads it."""

from __future__ import annotations

import json
import re
from typing import Any

from gsina.errors import InputError


def to_toml(values: dict[str, Any], table: str = "") -> str:
    """Nested tables of texts, numbers, truth values and lists; what is ``None`` is left out.

    Args:
        values: The content, by name.
        table: Name of the table that it belongs to.
    """
    given = {name: value for name, value in values.items() if value is not None}
    plain = [(name, value) for name, value in given.items() if not isinstance(value, dict)]
    tables = [(name, value) for name, value in given.items() if isinstance(value, dict) and value]
    head = [f"[{table}]"] if table and (plain or not tables) else []
    block = "\n".join([*head, *(f"{_key(name)} = {_value(value)}" for name, value in plain)])
    parts = [to_toml(value, f"{table}.{_key(name)}".lstrip(".")) for name, value in tables]
    return "\n\n".join(part.rstrip("\n") for part in (block, *parts) if part) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML has the escapes of JSON, but wants one for the delete character too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)} = {_value(one)}' for name, one in value.items())} }}"
    raise InputError(f"a {type(value).__name__} ({value!r}) cannot be written as TOML.")
