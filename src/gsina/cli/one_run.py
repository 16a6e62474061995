"""One run of ``gsina train``: from a plan to a folder and what is printed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from gsina.cli import options, show
from gsina.cli.progress import Epochs, load_with_bar
from gsina.errors import InputError
from gsina.listeners.trackers import make_tracker
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.recipe import Recipe
    from gsina.runs.repeats import Repeats
    from gsina.runs.run import Run
    from gsina.training.distributed import Ranks


#: Features named in full; of the others only the number is shown.
NAMED = 12


class PlannedRun(NamedTuple):
    """A recipe and seed to run, the folder, what is repeated, and what goes with it.

    Attributes:
        recipe: What to train.
        seed: With which seed.
        out: The folder.
        repeats: What is repeated; ``None`` for one run.
        baselines: Whether baselines are trained beside it.
        track: Names of the trackers that hear of it.
    """

    recipe: Recipe
    seed: int
    out: Path
    repeats: Repeats | None = None
    baselines: bool = False
    track: tuple[str, ...] = ()


def run_one(plan: PlannedRun, resume: bool, force: bool, threads: int | None) -> None:
    """Train by a plan, with the other processes if there are any, and print how it went."""
    from gsina.runs.folder import alone_in
    from gsina.runs.run import run
    from gsina.training.distributed import join
    from gsina.training.versions import versions

    ranks = join(versions(), plan.recipe.run.device)
    if not ranks.first:  # one of the other processes, which write and print nothing
        ranks.agree("")  # the first process prepares the data for all
        run(plan.recipe, plan.seed, out=plan.out, resume=resume, ranks=ranks)
        return
    with alone_in(plan.out):
        _lead(plan, resume, force, threads, ranks)


def _lead(plan: PlannedRun, resume: bool, force: bool, threads: int | None, ranks: Ranks) -> None:
    """Train as the first process, which alone writes files and prints."""
    from gsina.runs.folder import claim, note_run

    recipe, seed, out, _, baselines, _ = plan
    claim(out, recipe, seed, resume=resume, force=force)
    with resumable(out, threads):
        dataset = recipe.judge(load_with_bar(recipe.data))
        note_run(out, recipe, seed, dataset, resume=resume, baselines=baselines)
        ranks.agree("the data are prepared")
        introduce(plan, dataset, ranks)
        finished = train(plan, dataset, resume, ranks)
    _conclude(plan, finished)


def train(plan: PlannedRun, dataset: Dataset, resume: bool, ranks: Ranks | None = None) -> Run:
    """Train on loaded data while the epochs are shown, and told to trackers."""
    from gsina.runs.run import run

    return run(
        plan.recipe,
        plan.seed,
        out=plan.out,
        resume=resume,
        dataset=dataset,
        ranks=ranks,
        baselines=plan.baselines,
        listeners=[Epochs(), *map(make_tracker, plan.track)],
    )


@contextlib.contextmanager
def resumable(out: Path, threads: int | None) -> Iterator[None]:
    """Say after Ctrl-C what is saved in a folder, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        from gsina.runs.folder import folders_of
        from gsina.runs.names import BASELINES
        from gsina.training.checkpoint import saved_epochs

        folders = *folders_of(out), out / BASELINES / "erm"
        epochs = sum(map(saved_epochs, folders))
        show.say(f"interrupted; {epochs} whole epochs are saved in {out}.")
        extra = () if threads is None else ("--threads", str(threads))
        again = options.command("train", "--out", out, "--resume", *extra)
        show.say(f"continue with: {again}")
        raise typer.Exit(show.INTERRUPTED) from None


def unpublished(recipe: Recipe) -> str:
    """A note if no recipe was published for this dataset, backbone and method; else empty."""
    from gsina.runs.data import NamedData
    from gsina.runs.published import is_published

    names = recipe.data.name, recipe.backbone.name, recipe.method.name
    if not isinstance(recipe.data, NamedData) or is_published(*names):
        return ""
    dataset, backbone, method = names
    return (
        f"there are no published settings here for {method} with {backbone} on {dataset}, so "
        f"general defaults apply, such as the rule {recipe.selection.rule} and batches of "
        f"{recipe.optimiser.batch_size}."
    )


def introduce(
    plan: PlannedRun, dataset: Dataset, ranks: Ranks, told: set[str] | None = None
) -> None:
    """Say what is to be learnt from which data.

    Args:
        plan: What is run.
        dataset: Its data.
        ranks: The processes that share it.
        told: What was said of the runs before, not to be said again; what is said now is added.
    """
    task = dataset.task
    told = set() if told is None else told
    show.say(f"{dataset.name}: {show.split_sizes(dataset)}")
    if dataset.target_names and not told:
        what = {"binary": "yes or no", "multiclass": f"{task.outputs} classes"}
        targets = ", ".join(dataset.target_names)
        show.say(f"to predict: {targets} ({what.get(task.kind, 'numbers')})")
    features = dataset.origin.reading.get("features")
    if isinstance(features, list) and features and not told:
        more = f" and {len(features) - NAMED} more" if len(features) > NAMED else ""
        show.say(f"features: {', '.join(features[:NAMED])}{more}")
    if not ranks.alone:
        size = plan.recipe.optimiser.batch_size
        show.say(f"{ranks.world} processes share every batch of {size}")
    for note in [*dataset.notes, unpublished(plan.recipe)]:
        kind = re.sub(r"[\d.,]+", "", note)  # of folds, numbers differ a little
        if note and kind not in told:
            show.say(f"note: {note}")
        told.add(kind)
    told.add(dataset.name)


def _conclude(plan: PlannedRun, finished: Run) -> None:
    from gsina.formats import format_of
    from gsina.models.answers import decision
    from gsina.runs.names import MODEL, REPORT, UNREADABLE

    result, out = finished.result, plan.out
    show.console.print(show.metrics_table(result))
    if result["targets"]:
        show.console.print(show.targets_table(result))
    if result["baselines"].get("metrics"):
        show.console.print(show.baselines_table(result))
    for said in ("verdict", "left_out"):
        if said in result["baselines"]:
            show.say(result["baselines"][said])
    if said := decision(finished.model):
        show.say(said)
    if result["ratios_tried"]:
        tried = ", ".join(
            f"{ratio}: {metric_text(value, result['metric'])}"
            for ratio, value in result["ratios_tried"].items()
        )
        ratio = finished.model.architecture.method_options["ratio"]
        show.say(f"ratio {ratio} was the best on validation data ({tried})")
    if members := result["members"]:
        epochs = ", ".join(f"{one['best_epoch'] + 1} of {one['epochs']}" for one in members)
        show.say(
            f"the mean of {len(members)} members (seeds {members[0]['seed']} to "
            f"{members[-1]['seed']}); epochs {epochs} by the rule {result['selection']}; "
            f"{result['seconds_per_epoch']:.1f} s per epoch"
        )
    elif result["best_epoch"] < 0:
        from gsina.models.plan import first_epoch

        method = plan.recipe.method
        own = first_epoch(method.name, method.options)
        first = max(plan.recipe.selection.first_epoch, own) + 1
        show.say(
            f"no epoch could be selected (the rule {result['selection']} counts from epoch "
            f"{first}), so these are the last weights; train longer for a selected one."
        )
    else:
        show.say(
            f"epoch {result['best_epoch'] + 1} of {result['epochs']}, selected on validation data "
            f"by the rule {result['selection']}; {result['seconds_per_epoch']:.1f} s per epoch"
        )
    if result["unreadable"]:
        show.say(f"rows that could not be read: {out / UNREADABLE}")
    show.say(f"model: {out / MODEL}")
    show.say(f"to look at in a browser: {out / REPORT}")
    with contextlib.suppress(InputError):  # a model that reads no files
        files = format_of(finished.model.featuriser).new_files
        show.say(f"next: {options.command('predict', out, *files, '-o', 'out.csv')}")
