"""``gsina train``: one run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gsina.cli import options, show
from gsina.cli.file_options import with_file_options
from gsina.cli.options import class_weights, given_only, numbers, pairs
from gsina.cli.progress import Epochs, load_with_bar
from gsina.cli.recipes import Request
from gsina.errors import InputError
from gsina.formats import FileOptions
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.recipe import Recipe
    from gsina.runs.run import Run
    from gsina.training.distributed import Ranks


#: Features named in full; of the others only the number is shown.
NAMED = 12


class PlannedRun(NamedTuple):
    """A recipe and seed to run, and the folder of the run."""

    recipe: Recipe
    seed: int
    out: Path


@with_file_options
def train(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Your file: molecules (.csv, .sdf, .parquet), graphs (.jsonl, or a folder of "
            ".json) or one graph of tensors (.safetensors, .pt); or a named dataset (see "
            "[bold]gsina datasets[/]), or [bold]tu:NAME[/] for one of the TU collection."
        ),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="TOML file with all settings but the seed.")
    ] = None,
    method: options.MethodName = None,
    backbone: options.BackboneName = None,
    bias: options.Bias = None,
    ratio: Annotated[
        str | None,
        typer.Option(
            help="Share of the edges to keep, short for --set ratio=...; [bold]auto[/] trains with "
            "a few shares and keeps the best on validation data."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Number of edges to keep, instead of --ratio; short for --set budget=..."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of the method; may be repeated."),
    ] = None,
    data_options: options.DataOptions = None,
    epochs: Annotated[int | None, typer.Option(help="Largest number of epochs.")] = None,
    batch_size: options.BatchSize = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate of Adam.")] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Precision: float32 (default), or bf16 on CPUs that support it."),
    ] = None,
    patience: options.Patience = None,
    metric: options.MetricName = None,
    class_weight: options.ClassWeight = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="For node-level graphs too large for one step: neighbours to sample per node and "
            "hop, such as 10,10; a step then trains on --batch-size nodes."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=options.LARGEST_SEED,
            help="Seed of the training, not of the data; by default 0.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in --out.")] = False,
    show_recipe: Annotated[
        bool,
        typer.Option("--show-recipe", help="Print the recipe as TOML and exit."),
    ] = False,
    threads: options.Threads = None,
    *,
    file_options: FileOptions,
) -> None:
    """Train one model on your own file or on a named dataset, and evaluate it on every split.

    Every option has a default: for your own file one that suits most data, for a
    named dataset that of its published recipe with this network and method, if
    there is one. A run ends with a table of scores, a folder with the model, and
    a page of explained graphs to open in a browser.

    \b
    [bold]Examples[/]
    gsina train molecules.csv --smiles smiles --target active --split scaffold --out run
    gsina train molecules.csv --target a --target b --ratio auto --out run
    gsina train graphs.jsonl --split size --out run
    gsina train --nodes nodes.csv --edges edges.csv --label label --time year --out run
    gsina train --out run --resume
    gsina train spmotif --bias 0.5 --ratio 0.6 --seed 0 --out runs/first
    gsina train spmotif --method gsat --set final_ratio=0.5
    gsina train spmotif --show-recipe > mine.toml
    gsina train --recipe mine.toml --seed 3
    gsina train --out runs/first --resume
    """
    request = Request(
        data=dataset,
        file_options=file_options,
        data_options=pairs(data_options or [], "--data-option") | given_only(bias=bias),
        method=method,
        backbone=backbone,
        options=pairs(settings or [], "--set") | given_only(ratio=_ratio(ratio), budget=budget),
        changes=given_only(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            precision=precision,
            patience=patience,
            metric=metric,
            class_weight=class_weights(class_weight),
            neighbours=None if neighbours is None else numbers(neighbours, "--neighbours", 1),
        ),
    )
    if resume and force:
        raise InputError("--resume continues a run and --force replaces it; give one of them.")
    again = resume and out is not None and recipe is None
    if recipe is not None:
        _alone("--recipe", request.given())
    elif again and dataset is None and file_options.nodes is None:
        _alone("--resume without a dataset or file", set(request.given()) - {"epochs"})
    elif dataset is None and file_options.nodes is None and file_options.edges is None:
        raise InputError(
            "name your file or a dataset, a --recipe, or with --resume the --out of a run."
        )
    else:
        request.format()  # refuses a wrong name before torch is imported
    options.use_threads(threads)
    plan = _plan(request, recipe, seed, out, again)
    if show_recipe:
        given = given_only(seed=seed, out=None if again else out, force=force or None)
        for name in given:
            raise InputError(
                f"--{name} is not part of a recipe; leave it out beside --show-recipe."
            )
        _show(plan.recipe)
    else:
        _run(plan, resume, force, threads)


def _ratio(text: str | None) -> float | str | None:
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--ratio must be a number such as 0.5, or auto; got {text!r}.") from None


def _alone(what: str, others: Iterable[str]) -> None:
    """Refuse options beside one that reads all settings from a file."""
    for other in sorted(others):
        raise InputError(
            f"{what} takes everything else from a file, so {other} cannot be given too; leave it "
            "out, or write it into the file of a --recipe."
        )


def _plan(
    request: Request, file: Path | None, seed: int | None, out: Path | None, again: bool
) -> PlannedRun:
    """The recipe from options, from a file, or from the run to resume."""
    from gsina.runs.folder import default_folder, read_run
    from gsina.runs.recipe import Recipe

    if file is not None:
        recipe = Recipe.read(file)
    elif again and request.data is None and request.file_options.nodes is None:
        assert out is not None
        recipe, old_seed = read_run(out)
        seed = old_seed if seed is None else seed
        values = recipe.model_dump()
        values["optimiser"] |= request.changes
        recipe = Recipe.parse(values)
    else:
        recipe = request.recipe()
    seed = 0 if seed is None else seed
    return PlannedRun(recipe, seed, default_folder(recipe, seed) if out is None else out)


def _run(plan: PlannedRun, resume: bool, force: bool, threads: int | None) -> None:
    from gsina.runs.folder import alone_in
    from gsina.runs.run import run
    from gsina.training.distributed import join
    from gsina.training.versions import versions

    ranks = join(versions())
    if not ranks.first:  # one of the other processes, which write and print nothing
        ranks.agree("")  # the first process prepares the data for all
        run(plan.recipe, plan.seed, out=plan.out, resume=resume, ranks=ranks)
        return
    with alone_in(plan.out):
        _lead(plan, resume, force, threads, ranks)


def _lead(plan: PlannedRun, resume: bool, force: bool, threads: int | None, ranks: Ranks) -> None:
    """Train as the first process, which alone writes files and prints."""
    from gsina.runs.folder import claim, note_run
    from gsina.runs.run import run
    from gsina.training.checkpoint import saved_epochs

    recipe, seed, out = plan
    claim(out, recipe, seed, resume=resume, force=force)
    try:
        dataset = recipe.judge(load_with_bar(recipe.data))
        note_run(out, recipe, seed, dataset, resume=resume)
        ranks.agree("the data are prepared")
        _introduce(plan, dataset, ranks)
        with Epochs(recipe.method.name, recipe.optimiser.epochs, dataset.task.metric) as bar:
            finished = run(
                recipe,
                seed,
                out=out,
                resume=resume,
                dataset=dataset,
                ranks=ranks,
                listeners=[bar],
            )
    except KeyboardInterrupt:
        epochs = sum(map(saved_epochs, (out, *out.glob("ratio-*"))))
        show.say(f"interrupted; {epochs} whole epochs are saved in {out}.")
        extra = () if threads is None else ("--threads", str(threads))
        again = options.command("train", "--out", out, "--resume", *extra)
        show.say(f"continue with: {again}")
        raise typer.Exit(show.INTERRUPTED) from None
    _conclude(plan, finished)


def _show(recipe: Recipe) -> None:
    """Print a recipe as a file for ``--recipe``."""
    from gsina.runs.toml import to_toml

    note = _unpublished(recipe)
    show.say((f"# {note}\n" if note else "") + to_toml(recipe.model_dump()).rstrip("\n"))


def _unpublished(recipe: Recipe) -> str:
    """A note if no recipe was published for this dataset, backbone and method; else empty."""
    from gsina.runs.published import is_published
    from gsina.runs.recipe import NamedData

    names = recipe.data.name, recipe.backbone.name, recipe.method.name
    if not isinstance(recipe.data, NamedData) or is_published(*names):
        return ""
    dataset, backbone, method = names
    return (
        f"there are no published settings here for {method} with {backbone} on {dataset}, so "
        f"general defaults apply, such as the rule {recipe.selection.rule} and batches of "
        f"{recipe.optimiser.batch_size}."
    )


def _introduce(plan: PlannedRun, dataset: Dataset, ranks: Ranks) -> None:
    task = dataset.task
    show.say(f"{dataset.name}: {show.split_sizes(dataset)}")
    if dataset.target_names:
        what = {"binary": "yes or no", "multiclass": f"{task.outputs} classes"}
        targets = ", ".join(dataset.target_names)
        show.say(f"to predict: {targets} ({what.get(task.kind, 'numbers')})")
    features = dataset.origin.reading.get("features")
    if isinstance(features, list) and features:
        more = f" and {len(features) - NAMED} more" if len(features) > NAMED else ""
        show.say(f"features: {', '.join(features[:NAMED])}{more}")
    if not ranks.alone:
        size = plan.recipe.optimiser.batch_size
        show.say(f"{ranks.world} processes share every batch of {size}")
    for note in [*dataset.notes, _unpublished(plan.recipe)]:
        if note:
            show.say(f"note: {note}")


def _conclude(plan: PlannedRun, finished: Run) -> None:
    from gsina.formats import format_of
    from gsina.runs.folder import MODEL, REPORT, UNREADABLE

    result, out = finished.result, plan.out
    show.console.print(show.metrics_table(result))
    if result["targets"]:
        show.console.print(show.targets_table(result))
    if result["ratios_tried"]:
        tried = ", ".join(
            f"{ratio}: {metric_text(value, result['metric'])}"
            for ratio, value in result["ratios_tried"].items()
        )
        ratio = finished.model.architecture.method_options["ratio"]
        show.say(f"ratio {ratio} was the best on validation data ({tried})")
    if result["best_epoch"] < 0:
        first = plan.recipe.selection.first_epoch + 1
        show.say(
            f"no epoch could be selected (the rule {result['selection']} counts from epoch "
            f"{first}), so these are the last weights."
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
