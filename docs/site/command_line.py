"""The page of the command line, from the help of the commands."""

from __future__ import annotations

import re
from typing import Any


def commands_page() -> str:
    """Every command with its help, its arguments and its options."""
    from typer.main import get_command

    from gsina.cli import app

    top = get_command(app)
    parts = ["# The command line", "", "Each command says the same with `--help`.", ""]
    for name, command in _commands("gsina", top):
        parts += [f"## {name}", "", *_help(command), *_parameters(command)]
    return "\n".join(parts)


def _commands(name: str, command: Any) -> list[tuple[str, Any]]:
    """The commands below a group, with their full names."""
    below = getattr(command, "commands", None)
    if not below:
        return [(name, command)]
    return [found for key, one in below.items() for found in _commands(f"{name} {key}", one)]


def _help(command: Any) -> list[str]:
    """The text of the help; paragraphs that begin with a backspace are shown as they are."""
    lines: list[str] = []
    for paragraph in _plain(command.help or "").replace("\b\n", "\b").split("\n\n"):
        if paragraph.startswith("\b"):
            first, *rest = paragraph.removeprefix("\b").splitlines()
            lines += [f"**{first}**", "", "```sh", *rest, "```", ""]
        else:
            lines += [_escaped(" ".join(paragraph.split())), ""]
    return lines


def _parameters(command: Any) -> list[str]:
    rows = []
    for one in command.params:
        if getattr(one, "hidden", False) or "--help" in one.opts:
            continue
        option = one.param_type_name == "option"
        names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
        called = names if option else f"`{(one.metavar or one.name).strip('[]')}`"
        said = _escaped(" ".join(_plain(getattr(one, "help", None) or "").split()))
        shown = getattr(one, "show_default", False)
        default = one.default if shown and not callable(one.default) else None
        tail = f" Default: `{default}`." if default not in (None, False, (), []) else ""
        rows.append(f"| {called} | {said}{tail} |")
    if not rows:
        return []
    return ["| option | meaning |", "|---|---|", *rows, ""]


def _plain(text: str) -> str:
    """Text without the marks of Rich, such as ``[bold]``."""
    return re.sub(r"(?<!\\)\[/?[a-z ]*\]", "", text).replace("\\[", "[")


def _escaped(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([|*_<>\[\]])", r"\\\1", text)
