"""What the commands print: sentences, errors and tables."""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from gsina.errors import InputError, Note, readable
from gsina.graphs.split_names import SPLITS
from gsina.metrics import METRICS, metric_label, metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset

#: A line under the header only, so that tables stay readable when copied.
BOX = SIMPLE_HEAD

#: Where bugs are reported.
REPORT_TO = "the maintainers, as CONTRIBUTING.md says"

console = Console()
stderr = Console(stderr=True)

#: Exit code after bad input.
FAILED = 2
#: Exit code if no row of a file could be used.
NOTHING = 1
#: Exit code after Ctrl-C, as in shells.
INTERRUPTED = 130


def say(text: str, style: str = "") -> None:
    """Print a sentence, without markup and without breaking paths and commands."""
    console.print(Text(readable(text), style), soft_wrap=True)


def error(sentence: str) -> None:
    """Print one sentence to the standard error output."""
    line = " ".join(readable(sentence).split())
    stderr.print(Text.assemble(("error: ", "bold red"), line), soft_wrap=True)


@contextlib.contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Turn errors that a user can fix into one sentence; ``GSINA_DEBUG=1`` shows the traceback.

    Anything else is a bug: it keeps its traceback, and a line says where to report it.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        error("interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as problem:
        wrong_option = _usage_sentence(problem)
        # The end of a command, or help in place of it.
        ends = hasattr(problem, "exit_code") or isinstance(problem, typer.Abort)
        if ends and wrong_option is None:
            raise
        sentence = wrong_option or _sentence(problem)
        if sentence is None:
            error(f"this is a bug in gsina; please report it to {REPORT_TO}, with this traceback:")
            raise
        if os.environ.get("GSINA_DEBUG") == "1":
            raise
        error(sentence)
        raise typer.Exit(FAILED) from problem


@contextlib.contextmanager
def notes_as_sentences() -> Iterator[None]:
    """Print what the package wants a user to know; other warnings are shown as always."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, Note):
                say(f"note: {message}")
            else:
                others(message, category, *rest)

        warnings.showwarning = show_warning  # type: ignore[assignment]
        yield


@contextlib.contextmanager
def on_interrupt(sentence: str) -> Iterator[None]:
    """Print a sentence and exit if the block is interrupted by Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        say(sentence)
        raise typer.Exit(INTERRUPTED) from None


def exit_if_nothing(rows: int, unreadable: int, first_reason: str) -> None:
    """End with exit code 1 and one sentence if no row of a file could be read; none is a note."""
    if not rows:
        say("note: the input has no rows, so the output has none either.")
    elif rows == unreadable:
        why = f"none of the {rows:,} rows can be read (the first: {first_reason})"
        error(f"{why}, so there is nothing to predict from.")
        raise typer.Exit(NOTHING)


def _usage_sentence(problem: Exception) -> str | None:
    """One sentence for an error in the command line itself, ``None`` for any other."""
    context, message = getattr(problem, "ctx", None), getattr(problem, "format_message", None)
    if context is None or message is None or type(problem).__name__ == "NoArgsIsHelpError":
        return None
    said = str(message()).strip().rstrip(".")
    command = " ".join(["gsina", *context.command_path.split("gsina")[-1].split()])
    return f"{said[:1].lower()}{said[1:]}; see {command} --help."


def _sentence(problem: Exception) -> str | None:
    """One sentence for an error that a user can fix, ``None`` for any other."""
    if isinstance(problem, OSError) and problem.errno is not None:
        return _system_sentence(problem)
    if isinstance(problem, MemoryError) or "can't allocate memory" in str(problem):
        return (
            "there is not enough memory for this; take smaller or fewer graphs, a smaller "
            "--batch-size, or a machine with more."
        )
    return str(problem) if isinstance(problem, InputError) else None


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
    """Names with a few lines each, readable at any width; ``gap`` adds an empty line between."""
    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, about in lines.items():
        table.add_row(Text(name), Text("\n".join([*about, ""] if gap else about)))
    return table


def split_name(split: str, shifted: bool = True) -> str:
    """A split in words; ``shifted`` tells whether the test split is out of distribution."""
    return "OOD test" if split == "test" and shifted else SPLITS.get(split, split)


def split_sizes(dataset: Dataset) -> str:
    """How many graphs or nodes each split has, in words."""
    sizes = []
    for split in in_order(dataset.splits):
        graphs = dataset.splits[split]
        count = len(graphs) if dataset.task.level == "graph" else graphs.x.size(0)
        count = count if graphs.mask is None else int(graphs.mask.sum())
        sizes.append(f"{count:,} {split_name(split, dataset.shifted)}")
    return f"{', '.join(sizes)} {dataset.task.level}s"


def in_order(splits: Iterable[str]) -> list[str]:
    """Splits in the order in which they are shown: training first, test last."""
    return sorted(splits, key=lambda split: [*SPLITS, split].index(split))


def numbers_table(*heads: str) -> Table:
    """An empty table whose columns, but for the first, are aligned to the right."""
    first, *others = heads
    return Table(first, *(Column(head, justify="right") for head in others), box=BOX)


def metrics_table(result: dict[str, Any]) -> Table:
    """The metrics of a result, one row per split."""
    scores: dict[str, dict[str, float]] = result["metrics"]
    found = list(dict.fromkeys(name for row in scores.values() for name in row))
    names = [name for name in found if name not in ("loss", "explanation_auc_per_graph")]
    table = numbers_table("split", *(metric_label(name) for name in names), "loss")
    for split in in_order(scores):
        row = scores[split]
        cells = [metric_text(row.get(name), name) for name in names]
        label = split_name(split, result["shifted"])
        style = "bold" if split == "test" else ""
        table.add_row(label, *cells, metric_text(row["loss"], "loss"), style=style)
    return table


def targets_table(result: dict[str, Any]) -> Table:
    """The main metric, target by target."""
    main = result["metric"]
    metric = METRICS[main].of_one_target if main in METRICS else main
    splits = in_order(result["metrics"])
    heads = (split_name(split, result["shifted"]) for split in splits)
    table = numbers_table(f"{metric_label(metric)} of", *heads)
    for target, row in result["targets"].items():
        table.add_row(Text(target), *(metric_text(row.get(split), metric) for split in splits))
    return table


def baselines_table(result: dict[str, Any]) -> Table:
    """The main metric of the model and of its baselines, split by split."""
    from gsina.models.comparison import main_scores

    metric, splits = result["metric"], in_order(result["metrics"])
    heads = (split_name(split, result["shifted"]) for split in splits)
    table = numbers_table(metric_label(metric), *heads)
    method = result["recipe"]["method"]["name"]
    scores = main_scores(method, result["metrics"], result["baselines"], metric)
    for name, row in scores.items():
        table.add_row(name, *(row.get(split, "-") for split in splits))
    return table
