"""Small tables: of HTML for notebooks, where all text is escaped, and of Markdown for pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = "border-collapse:collapse;margin:.3em 0 .6em;font:13px/1.4 system-ui,sans-serif"
CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"
NUMBER = "text-align:right;padding:.15em .8em .15em 0"
#: Letters of one value.
LETTERS = 200


def text(value: object) -> str:
    """Any value, harmless in HTML and not too long."""
    plain = value if isinstance(value, str) else repr(value)
    return escape(plain if len(plain) <= LETTERS else f"{plain[:LETTERS]} ...")


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values; the values are HTML already."""
    body = "".join(
        f'<tr><th style="{CELL}">{escape(key)}</th><td style="{CELL}">{value}</td></tr>'
        for key, value in rows
    )
    return f'<table style="{STYLE}">{body}</table>' if body else ""


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a head; its first column is text, the others are numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        styles = [CELL, *[NUMBER] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="{style}">{text(cell)}</{tag}>'
            for style, cell in zip(styles, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f'<table style="{STYLE}"><tr>{line("th", heads)}</tr>{body}</table>'


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int | None = None
) -> str:
    """A table in Markdown, with a line break at its end; the cells are Markdown already.

    Args:
        heads: The names of the columns.
        rows: The cells of every row.
        numbers_from: The first column that is set to the right, as numbers are; by default none.
    """
    left = len(heads) if numbers_from is None else numbers_from
    rule = "|---" * left + "|---:" * (len(heads) - left) + "|"
    head = f"| {' | '.join(heads)} |".replace("|  |", "| |")
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows), ""])
