"""``gsina tune``: search for good settings on validation data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gsina.cli import options, show
from gsina.cli.completion import complete_data
from gsina.cli.file_options import with_file_options
from gsina.cli.options import class_weights, given_only, pairs
from gsina.cli.progress import load_with_bar
from gsina.cli.recipes import Request
from gsina.cli.trials import Trials, settings_text
from gsina.formats import FileOptions
from gsina.listeners.trackers import check_tracker
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.runs.recipe import Recipe
    from gsina.tuning.study import Search, SearchResult
    from gsina.tuning.tracking import Tracking

#: Trials in the table at the end.
SHOWN = 5
SEARCH = "The search"


@with_file_options
def tune(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Your file, or the name of a dataset, as for [bold]gsina train[/].",
            autocompletion=complete_data,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            min=1, help="Trials in all, with those of earlier calls.", rich_help_panel=SEARCH
        ),
    ] = 20,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds after which no trial starts.", rich_help_panel=SEARCH),
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
            help="Run the trials on a Ray cluster: its address, or auto for this machine.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    method: options.MethodName = None,
    backbone: options.BackboneName = None,
    bias: options.Bias = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Option of the method, which is then not tuned; may be repeated.",
        ),
    ] = None,
    data_options: options.DataOptions = None,
    ratio: Annotated[
        float | None, typer.Option(help="Share of the edges to keep, which is then not tuned.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate, which is then not tuned.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Largest number of epochs per trial.")
    ] = None,
    batch_size: options.BatchSize = None,
    patience: options.Patience = None,
    metric: options.MetricName = None,
    class_weight: options.ClassWeight = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=options.LARGEST_SEED, help="Seed of the search and of every training."
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the search.", show_default=False),
    ] = None,
    track: options.Track = None,
    device: options.Device = None,
    threads: options.Threads = None,
    *,
    file_options: FileOptions,
) -> None:
    """Search for the ratio, learning rate, width and depth that are best on validation data.

    Test data are not used. Trials worse than the median are stopped early. Finished
    trials are kept: the same command continues an interrupted search, and a larger
    --trials extends one. The search ends with the best recipe (best.toml), a table
    of all trials and plots of the search.

    \b
    [bold]Examples[/]
    gsina tune molecules.csv --smiles smiles --target active --trials 20 --out search
    gsina train --recipe search/best.toml --out run
    gsina tune spmotif --bias 0.5 --method gsina --epochs 20 --timeout 3600
    gsina tune spmotif --epochs 20 --track tensorboard --out search
    gsina tune molecules.csv --target active --storage postgresql://host/db --ray auto
    """
    names = tuple(dict.fromkeys(map(check_tracker, track or ())))
    request = Request(
        data=dataset,
        file_options=file_options,
        data_options=pairs(data_options or [], "--data-option") | given_only(bias=bias),
        method=method,
        backbone=backbone,
        options=pairs(settings or [], "--set") | given_only(ratio=ratio),
        changes=given_only(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            patience=patience,
            metric=metric,
            class_weight=class_weights(class_weight),
        ),
    )
    request.format()  # refuses a wrong name before torch is imported
    options.use_threads(threads)
    if ray is None:  # otherwise workers compute, on devices of their own
        options.check_device(device)
    from gsina.runs.folder import check_folder
    from gsina.tuning.study import Search, default_storage
    from gsina.tuning.tracking import Tracking

    recipe = request.recipe().on_device(device)
    folder = out or _default_folder(recipe)
    check_folder(folder)
    loaded = recipe.judge(load_with_bar(recipe.data))
    for note in loaded.notes:
        show.say(f"note: {note}")
    fixed = request.options.keys() | request.changes.keys()
    search = Search.of(recipe, loaded, fixed=fixed, seed=seed)
    sizes = show.split_sizes(search.dataset)
    show.say(f"{search.dataset.name}: {sizes}; test data are not used")
    knobs = ", ".join(knob.name for knob in search.knobs)
    alone = " of the network alone" if recipe.trees else ""
    show.say(f"to tune: {knobs}; scored by validation {metric_label(search.task.metric)}{alone}")
    place = default_storage(folder) if storage is None else storage
    name = study or folder.resolve().name
    tracking = Tracking(names, folder, name) if names else None
    _search(search, place, name, trials, timeout, ray, folder, tracking)


def _default_folder(recipe: Recipe) -> Path:
    from gsina.runs.data import NamedData

    parts = [recipe.data.name]
    if isinstance(recipe.data, NamedData):
        parts += [recipe.backbone.name, recipe.method.name]
    return Path("runs") / "-".join([*parts, "tune"])


def _search(
    search: Search,
    storage: str,
    name: str,
    trials: int,
    timeout: float | None,
    ray: str | None,
    out: Path,
    tracking: Tracking | None,
) -> None:
    from gsina.listeners import OnEpoch
    from gsina.tuning.cluster import check_reachable, run_trials_on_ray
    from gsina.tuning.report import write_search
    from gsina.tuning.study import ended, hide_password, open_study, run_trials, summary

    if ray is not None:
        check_reachable(storage, ray)
    study = open_study(search, storage, name)
    before = summary(search, study)
    if before.trials:
        show.say(f"continuing after {len(before.trials)} trials")
    interrupted = False
    bar = Trials(trials, search.recipe.optimiser.epochs, search.task, before.trials)
    try:
        with bar:
            run = (
                run_trials(
                    search,
                    study,
                    trials,
                    timeout=timeout,
                    on_start=bar.on_start,
                    listeners=[OnEpoch(bar.on_epoch)],
                    tracking=tracking,
                )
                if ray is None
                else run_trials_on_ray(
                    search, storage, name, trials, ray, timeout=timeout, tracking=tracking
                )
            )
            for result in run:
                bar.on_result(result)
    except KeyboardInterrupt:
        interrupted = True
    found = summary(search, study)
    written = write_search(found, study, out) if found.trials else []
    _conclude(found, written, out)
    if (done := ended(study)) < trials:
        why = "interrupted" if interrupted else "time is up"
        show.say(f"{why}; {done} of {trials} trials are done and kept.")
        show.say(f"continue with: {options.command(*map(hide_password, sys.argv[1:]))}")
    if interrupted:
        raise typer.Exit(show.INTERRUPTED)


def _conclude(found: SearchResult, written: list[Path], out: Path) -> None:
    if found.best is None:
        show.say("no trial has finished yet, so there is no best one.")
        return
    task = found.search.task
    names = [knob.name for knob in found.search.knobs]
    words = [name.replace("_", " ") for name in names]
    head = ("trial", f"validation {metric_label(task.metric)}", *words, "epochs")
    table = show.numbers_table(*head)
    for one in found.trials[:SHOWN]:
        if one.value is not None:
            cells = [f"{one.settings[name]:g}" for name in names]
            value = metric_text(one.value, task.metric)
            table.add_row(str(one.number), value, *cells, str(one.epochs))
    show.console.print(table)
    cut = sum(one.value is None for one in found.trials)
    stopped = f", {cut} of them stopped early" * bool(cut)
    show.say(f"best of {len(found.trials)} trials{stopped}: {settings_text(found.best.settings)}")
    show.say(f"written: {', '.join(path.name for path in written)} in {out}")
    seed = ("--seed", str(found.search.seed)) if found.search.seed else ()
    best = options.command("train", "--recipe", out / "best.toml", *seed, "--out", out / "best")
    show.say(f"train it with: {best}")
