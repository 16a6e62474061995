"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from gsina.cli import completion
from gsina.errors import InputError
from gsina.listeners.trackers import TRACKERS
from gsina.metrics import selecting_metrics

#: More threads than any machine has cores end in errors of the system, or end the process.
MOST_THREADS = 1024
#: The largest seed of torch's generators that is a number in TOML and JSON everywhere.
LARGEST_SEED = 2**63 - 1

Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_THREADS,
        help="CPU threads; by default OMP_NUM_THREADS, or 1.",
        show_default=False,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="auto|cpu|cuda[:N]|mps|xpu",
        help="Where to compute: auto takes the best there is; by default the CPU.",
        show_default=False,
        autocompletion=completion.complete_device,
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="Method, see gsina methods; by default gsina.",
        autocompletion=completion.complete_method,
    ),
]
BackboneName = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        "-b",
        help="Network; by default that of the published recipe, else gin (gcn for nodes).",
        autocompletion=completion.complete_backbone,
    ),
]
Bias = Annotated[float | None, typer.Option(help="Strength of the spurious correlation (spmotif).")]
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--data-option", metavar="KEY=VALUE", help="Option of a named dataset; may be repeated."
    ),
]
BatchSize = Annotated[int | None, typer.Option(help="Graphs per step.")]
Patience = Annotated[
    int | None, typer.Option(help="Stop after this many epochs without improvement.")
]
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help=f"Metric that selects: of classes {', '.join(selecting_metrics('binary'))}, of "
        f"numbers {', '.join(selecting_metrics('regression'))}; for yes or no it also sets "
        "the threshold of answers. By default that of the task; for your own file with a rare "
        "class pr_auc, or balanced_accuracy for several classes.",
        autocompletion=completion.complete_metric,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="What classes count in the loss: [bold]balanced[/] for more the rarer they are, or "
        "numbers such as ok=1,fraud=10; by default all the same."
    ),
]
Track = Annotated[
    list[str] | None,
    typer.Option(
        metavar="|".join(TRACKERS),
        help="Tell a tracker of settings, epochs and scores, never of data; may be repeated.",
        show_default=False,
        autocompletion=completion.complete_tracker,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def use_threads(threads: int | None) -> None:
    """Set the number of torch threads, and let torch reuse freed memory."""
    import torch

    from gsina.ops.memory import reuse_memory

    reuse_memory()

    if threads is None:
        if os.environ.get("OMP_NUM_THREADS"):
            return  # torch reads it itself
        # Batches of small graphs gain little from more, lose much on a busy machine, and one thread
        # gives the same numbers on all machines of the same kind.
        threads = 1
    torch.set_num_threads(threads)


def check_device(device: str | None) -> None:
    """Refuse a device that is not there, before data are read.

    Raises:
        InputError: One sentence that lists those that are.
    """
    from gsina.training.devices import choose_device

    choose_device(device or "cpu")


def pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Options by name from texts ``key=value``; values are read like TOML, otherwise as text.

    Raises:
        InputError: A text has no ``=``.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise InputError(f"{option} needs key=value, got {text!r}.")
        found[name.strip().replace("-", "_")] = _value(value.strip())
    return found


def class_weights(text: str | None) -> str | dict[str, float] | None:
    """Weights by class from ``ok=1,fraud=10``; a word such as ``balanced`` is left as it is.

    Raises:
        InputError: A part has no number.
    """
    if text is None or "=" not in text:
        return text
    found = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InputError(
                f"--class-weight needs balanced, or numbers such as ok=1,fraud=10; got {text!r}."
            ) from None
    return found


def numbers(text: str, option: str = "--seeds", least: int = 0) -> list[int]:
    """Whole numbers of at least ``least`` from ``0,1,2``.

    Raises:
        InputError: The text is something else.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < least:
        example = ",".join(str(least + step) for step in range(3))
        raise InputError(f"{option} needs whole numbers such as {example}, got {text!r}.")
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def command(*arguments: str | Path) -> str:
    """A command line that a user can paste: this program with the arguments."""
    script = Path(sys.executable).with_name("gsina")
    found = shutil.which("gsina")
    if found is not None and Path(found) == script:
        program = ["gsina"]
    elif script.exists():
        inside = script.is_relative_to(Path.cwd())
        program = [str(script.relative_to(Path.cwd()) if inside else script)]
    else:
        program = [sys.executable, "-m", "gsina"]
    return shlex.join([*program, *map(str, arguments)])


def given_only(**values: Any) -> dict[str, Any]:
    """The options that were given, without those that are ``None``."""
    return {name: value for name, value in values.items() if value is not None}
