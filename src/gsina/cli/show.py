"""What the commands print: sentences, errors and tables."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label, metric_text

#: Lines under the header only: quiet, and readable when copied.
BOX = SIMPLE_HEAD

console = Console()
stderr = Console(stderr=True)

#: Where there is no number.
NOTHING = "-"
#: Exit code of a command that was asked for something impossible.
FAILED = 2
#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED = 130


def say(text: str, style: str = "") -> None:
    """Print a sentence, without markup and without breaking paths and commands."""
    console.print(Text(text, style), soft_wrap=True)


def error(sentence: str) -> None:
    """Print one sentence to the standard error output."""
    line = " ".join(sentence.split())
    stderr.print(Text.assemble(("error: ", "bold red"), line), soft_wrap=True)


@contextlib.contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Turn what a user can cause into one sentence; ``GSINA_DEBUG=1`` shows the traceback.

    A mistake of the program itself keeps its traceback.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        error("interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as problem:
        sentence = _sentence(problem)
        if sentence is None or os.environ.get("GSINA_DEBUG") == "1":
            raise
        error(sentence)
        raise typer.Exit(FAILED) from problem


def _sentence(problem: Exception) -> str | None:
    """One sentence for an expected error, ``None`` for any other."""
    if isinstance(problem, OSError) and problem.errno is not None:
        return _system_sentence(problem)
    return str(problem) if isinstance(problem, (ValueError, OSError)) else None


def _system_sentence(problem: OSError) -> str:
    """What the operating system refused, and what to do."""
    place = f" {problem.filename}" if problem.filename else ""
    if problem.errno == errno.ENOSPC:
        return f"there is no space left on the disk to write{place}; free some and try again."
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"no access to{place or ' a file'} ({problem.strerror}); change its permissions, or "
            "choose another folder with --out."
        )
    return f"{problem.strerror}{':' if place else ''}{place}."


def entries(lines: Mapping[str, Sequence[str]], *, gap: bool = True) -> Table:
    """Names, each with a few lines about it: readable at any width; ``gap`` parts them."""
    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, about in lines.items():
        table.add_row(name, Text("\n".join([*about, ""] if gap else about)))
    return table


def split_name(split: str, shifted: bool = True) -> str:
    """A split in words; ``shifted`` says whether the test split is out of distribution."""
    return "OOD test" if split == "test" and shifted else SPLITS.get(split, split)


def metrics_table(
    result: dict[str, Any], metric: str, shifted: bool = True, also: Sequence[str] = ()
) -> Table:
    """The metrics of a result, one row a split.

    Args:
        result: The content of a result file.
        metric: The main metric of the task.
        shifted: Whether the test split is out of distribution.
        also: Further metrics to show where there are any.
    """
    scores: dict[str, dict[str, float]] = result["metrics"]
    names = list(dict.fromkeys([metric, *also, "explanation_auc", "precision_at_5"]))
    names = [name for name in names if any(name in row for row in scores.values())]
    table = Table("split", *(metric_label(name) for name in names), "loss", box=BOX)
    for column in table.columns[1:]:
        column.justify = "right"
    for split in sorted(scores, key=lambda split: [*SPLITS, split].index(split)):
        row = scores[split]
        cells = [metric_text(row.get(name), name) for name in names]
        label = split_name(split, shifted)
        style = "bold" if split == "test" else ""
        table.add_row(label, *cells, metric_text(row["loss"], "loss"), style=style)
    return table


def clock(seconds: float) -> str:
    """Seconds as on a clock: ``0:42``, ``3:20``, ``2:05:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
