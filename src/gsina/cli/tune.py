"""``gsina tune``: search for good settings on validation data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gsina.cli import show
from gsina.cli.options import (
    BackboneName,
    BatchSize,
    Bias,
    DataOptions,
    MethodName,
    Patience,
    Threads,
    command,
    given_only,
    pairs,
    use_threads,
)
from gsina.cli.own import OwnPlan, make_recipe
from gsina.cli.own_options import Source, kind_of, takes_source
from gsina.cli.progress import Count, load_with_bar
from gsina.cli.trials import Trials, settings_text
from gsina.errors import InputError
from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.recipe import Recipe
    from gsina.tuning.study import Search, Tuned

#: Trials in the table at the end.
SHOWN = 5
SEARCH = "The search"


@takes_source
def tune(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Your file, or the name of a dataset, as for [bold]gsina train[/].",
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            min=1, help="Trials in all; those of earlier calls count.", rich_help_panel=SEARCH
        ),
    ] = 20,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, help="Start no trial after so many seconds.", rich_help_panel=SEARCH),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="URL of an Optuna storage that several machines share; by default an SQLite file "
            "in --out.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(help="Name of the study; by default that of --out.", rich_help_panel=SEARCH),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS",
            help="Run the trials on a Ray cluster: auto for this machine, or its address.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    method: MethodName = None,
    backbone: BackboneName = None,
    bias: Bias = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the method, which stays fixed; may be repeated.",
        ),
    ] = None,
    data_options: DataOptions = None,
    ratio: Annotated[
        float | None, typer.Option(help="Do not tune the share of the edges, but keep this one.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Do not tune the learning rate, but keep this one.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Largest number of epochs of a trial.")
    ] = None,
    batch_size: BatchSize = None,
    patience: Patience = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the search and of every training.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the search.", show_default=False),
    ] = None,
    threads: Threads = None,
    *,
    source: Source,
) -> None:
    """Search for the ratio, learning rate, width and depth that are best on validation data.

    Test data play no part. Trials that fall behind the median are stopped early.
    What has ended is kept: the same command goes on where it was cut off, and with
    more --trials it searches longer. It ends with the best recipe (best.toml), a
    table of all trials and pictures of the search.

    \b
    [bold]Examples[/]
    gsina tune molecules.csv --smiles smiles --target active --trials 20 --out search
    gsina train --recipe search/best.toml --out run
    gsina tune spmotif --bias 0.5 --method gsina --epochs 20 --timeout 3600
    gsina tune molecules.csv --target active --storage postgresql://host/db --ray auto
    """
    use_threads(threads)
    data = pairs(data_options or [], "--data-option") | given_only(bias=bias)
    options = pairs(settings or [], "--set") | given_only(ratio=ratio)
    changes = given_only(
        epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, patience=patience
    )
    own = "nodes" if source.nodes or source.edges else None if dataset is None else kind_of(dataset)
    if own is not None:
        if data:
            raise InputError("--bias and --data-option are for named datasets.")
        plan = OwnPlan(own, dataset, source, method, backbone, options, changes, seed, out)
        recipe, folder = _own(plan)
    else:
        if source.given():
            raise InputError(f"{source.given()[0]} is for your own files; give one of them.")
        recipe, folder = _named_recipe(dataset, method, backbone, data, options, changes)
    folder = folder if out is None else out

    from gsina.runs.folder import check_folder
    from gsina.tuning.study import Search, default_storage

    check_folder(folder)

    loaded = _load(recipe)
    search = Search.of(recipe, loaded, fixed=options.keys() | changes.keys(), seed=seed)
    _introduce(search)
    place = default_storage(folder) if storage is None else storage
    _search(search, place, study or folder.resolve().name, trials, timeout, ray, folder)


def _own(plan: OwnPlan) -> tuple[Recipe, Path]:
    recipe, folder = make_recipe(plan)
    return recipe, folder.with_name(f"{folder.name}-tune")


def _named_recipe(
    dataset: str | None,
    method: str | None,
    backbone: str | None,
    data: dict[str, Any],
    options: dict[str, Any],
    changes: dict[str, Any],
) -> tuple[Recipe, Path]:
    from gsina.runs.published import default_recipe

    if dataset is None:
        raise InputError("name your file or a dataset; gsina datasets lists them.")
    name = method or "gsina"
    recipe = default_recipe(dataset, backbone, name, data=data, options=options, **changes)
    return recipe, Path("runs") / f"{dataset}-{recipe.backbone.name}-{name}-tune"


def _load(recipe: Recipe) -> Dataset:
    from gsina.runs.own_recipe import OwnRecipe

    if not isinstance(recipe, OwnRecipe):
        return load_with_bar(recipe.data.name, recipe.data.options)
    with Count("reading") as count:
        own = recipe.data.read(count.update)
    for warning in own.warnings:
        show.say(f"note: {warning}")
    return own.dataset


def _introduce(search: Search) -> None:
    level, sizes = search.task.level, []
    for split, part in search.dataset.splits.items():
        count = len(part) if part.mask is None else int(part.mask.sum())
        sizes.append(f"{count:,} {SPLITS[split]}")
    show.say(f"{search.dataset.name}: {', '.join(sizes)} {level}s; test data are left out")
    names = ", ".join(knob.name for knob in search.knobs)
    metric = metric_label(search.task.metric)
    show.say(f"to vary: {names}; judged by validation {metric}")


def _search(
    search: Search,
    storage: str,
    name: str,
    trials: int,
    timeout: float | None,
    ray: str | None,
    out: Path,
) -> None:
    from gsina.tuning.cluster import check_reachable, run_trials_on_ray
    from gsina.tuning.report import write_tuned
    from gsina.tuning.study import ended, hide_password, open_study, run_trials, summary

    if ray is not None:
        check_reachable(storage, ray)
    study = open_study(search, storage, name)
    before = summary(search, study)
    if before.tried:
        show.say(f"going on after {len(before.tried)} trials")
    interrupted = False
    bar = Trials(trials, search.recipe.optimiser.epochs, search.task, before.tried)
    try:
        with bar:
            run = (
                run_trials(
                    search,
                    study,
                    trials,
                    timeout=timeout,
                    on_start=bar.on_start,
                    on_epoch=bar.on_epoch,
                )
                if ray is None
                else run_trials_on_ray(search, storage, name, trials, ray, timeout=timeout)
            )
            for tried in run:
                bar.on_trial(tried)
    except KeyboardInterrupt:
        interrupted = True
    tuned = summary(search, study)
    written = write_tuned(tuned, study, out) if tuned.tried else []
    _conclude(tuned, written, out)
    if (done := ended(study)) < trials:
        why = "interrupted" if interrupted else "time is up"
        show.say(f"{why}; {done} of {trials} trials are done and kept.")
        show.say(f"go on with: {command(*map(hide_password, sys.argv[1:]))}")
    if interrupted:
        raise typer.Exit(show.INTERRUPTED)


def _conclude(tuned: Tuned, written: list[Path], out: Path) -> None:
    if tuned.best is None:
        show.say("no trial has come to its end yet, so there is no best one.")
        return
    task = tuned.search.task
    names = [knob.name for knob in tuned.search.knobs]
    words = [name.replace("_", " ") for name in names]
    head = ("trial", f"validation {metric_label(task.metric)}", *words, "epochs")
    table = Table(*head, box=show.BOX)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in tuned.tried[:SHOWN]:
        if one.value is not None:
            cells = [f"{one.settings[name]:g}" for name in names]
            value = metric_text(one.value, task.metric)
            table.add_row(str(one.number), value, *cells, str(one.epochs))
    show.console.print(table)
    cut = sum(one.value is None for one in tuned.tried)
    stopped = f", {cut} of them stopped early" * bool(cut)
    show.say(f"best of {len(tuned.tried)} trials{stopped}: {settings_text(tuned.best.settings)}")
    show.say(f"written: {', '.join(path.name for path in written)} in {out}")
    seed = ("--seed", str(tuned.search.seed)) if tuned.search.seed else ()
    best = command("train", "--recipe", out / "best.toml", *seed, "--out", out / "best")
    show.say(f"train it with: {best}")
