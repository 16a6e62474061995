"""``gsina train``: from options to one run, or to several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gsina.cli import options, show
from gsina.cli.completion import complete_data, complete_recipe, complete_runs
from gsina.cli.file_options import with_file_options
from gsina.cli.one_run import PlannedRun, run_one, unpublished
from gsina.cli.options import class_weights, given_only, numbers, pairs
from gsina.cli.recipes import Request
from gsina.cli.repeats import run_repeats
from gsina.errors import InputError
from gsina.formats import FileOptions
from gsina.listeners.trackers import check_tracker
from gsina.listeners.trackers.tracker import read_tracked

if TYPE_CHECKING:
    from gsina.runs.recipe import Recipe
    from gsina.runs.repeats import Repeats


@with_file_options
def train(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Your file: molecules (.csv, .sdf, .parquet), graphs (.jsonl, or a folder of "
            ".json) or one graph of tensors (.safetensors, .pt); or a named dataset (see "
            "[bold]gsina datasets[/]), or [bold]tu:NAME[/] for one of the TU collection.",
            autocompletion=complete_data,
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|published|recommended",
            help="TOML file with all settings but the seed; or, of a named dataset, the published "
            "settings (default) or the recommended ones.",
            autocompletion=complete_recipe,
        ),
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
    ensemble: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Train so many members, with --seed and those after it, into one model that "
            "predicts their mean, and says how far they are apart.",
        ),
    ] = None,
    trees: Annotated[
        bool | None,
        typer.Option(
            "--trees/--no-trees",
            help="Let boosted trees on the features of whole molecules (--features), or on "
            "descriptors of other graphs, answer beside the network, and a forest on counts of "
            "fingerprints; the mean counts. By default for all but nodes, "
            "molecules without features and named datasets.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder of the run.",
            show_default=False,
            autocompletion=complete_runs,
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Train once with each of these seeds, such as 0,1,2; see the means."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Divide your own data into so many folds and train once for each, tested on it; "
            "every row is then predicted by a model that has not seen it.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in --out.")] = False,
    baseline: Annotated[
        bool | None,
        typer.Option(
            "--baseline/--no-baseline",
            help="Train ERM with the same network, and for molecules a random forest on Morgan "
            "fingerprints, to compare with; by default for your own files.",
            show_default=False,
        ),
    ] = None,
    track: options.Track = None,
    show_recipe: Annotated[
        bool,
        typer.Option("--show-recipe", help="Print the recipe as TOML and exit."),
    ] = False,
    device: options.Device = None,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute",
            help="Compute states again in the backward pass: less memory, more time, the same "
            "numbers.",
        ),
    ] = False,
    threads: options.Threads = None,
    *,
    file_options: FileOptions,
) -> None:
    """Train one model on your own file or on a named dataset, and evaluate it on every split.

    Every option has a default: for your own file one that suits most data, for a
    named dataset that of its published recipe with this network and method, if
    there is one. A run ends with a table of scores, beside those of baselines for
    your own file, a folder with the model, and a page of explained graphs to open
    in a browser.

    \b
    [bold]Examples[/]
    gsina train molecules.csv --smiles smiles --target active --split scaffold --out run
    gsina train molecules.csv --target a --target b --ratio auto --out run
    gsina train graphs.jsonl --split size --out run
    gsina train molecules.csv --target active --ensemble 5 --out run
    gsina train molecules.csv --target active --folds 5 --out folds
    gsina train --nodes nodes.csv --edges edges.csv --label label --time year --out run
    gsina train --out run --resume
    gsina train molecules.csv --target active --device cuda --out run
    gsina train spmotif --bias 0.5 --ratio 0.6 --seed 0 --out runs/first
    gsina train spmotif --bias 0.9 --recipe recommended
    gsina train spmotif --method gsat --set final_ratio=0.5
    gsina train spmotif --show-recipe > mine.toml
    gsina train --recipe mine.toml --seed 3
    gsina train --out runs/first --resume
    gsina train spmotif --track tensorboard --out runs/first
    """
    for name in track or ():
        check_tracker(name)
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
        ensemble=ensemble,
        trees=trees,
    )
    if recipe is not None and str(recipe) in ("published", "recommended"):
        request, recipe = replace(request, which=str(recipe)), None
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
    if seeds is not None and (ensemble or 1) > 1:
        raise InputError(
            "with --seeds the members of an --ensemble would be shared between runs, as both count "
            "on from the seed; leave one of the two out."
        )
    plan = _plan(request, recipe, seed, out, again, _repeats(seed, seeds, folds))
    plan = plan._replace(recipe=plan.recipe.on_device(device, recompute=recompute or None))
    plan = plan._replace(track=_trackers(plan.out, track, resume))
    plan = plan._replace(baselines=_wants_baselines(plan, baseline, resume))
    if show_recipe:
        given = given_only(
            seed=seed,
            seeds=seeds,
            folds=folds,
            out=None if again else out,
            force=force or None,
            baseline=baseline,
            track=track,
        )
        for name in given:
            raise InputError(
                f"--{name} is not part of a recipe; leave it out beside --show-recipe."
            )
        _show(plan.recipe)
    else:
        options.check_device(plan.recipe.run.device)
        (run_one if plan.repeats is None else run_repeats)(plan, resume, force, threads)


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


def _repeats(seed: int | None, seeds: str | None, folds: int | None) -> Repeats | None:
    """What is to be repeated; ``None`` for nothing."""
    if seeds is None and folds is None:
        return None
    from gsina.runs.repeats import Repeats

    if seeds is not None and seed is not None:
        raise InputError("--seeds names all seeds; leave --seed out.")
    return Repeats(() if seeds is None else tuple(numbers(seeds, "--seeds")), folds)


def _plan(
    request: Request,
    file: Path | None,
    seed: int | None,
    out: Path | None,
    again: bool,
    repeats: Repeats | None,
) -> PlannedRun:
    """The recipe from options, from a file, or from the run to resume."""
    from gsina.runs.folder import default_folder, read_repeats, read_run
    from gsina.runs.recipe import Recipe
    from gsina.runs.repeats import Repeats

    if file is not None:
        recipe = Recipe.read(file)
    elif again and request.data is None and request.file_options.nodes is None:
        assert out is not None
        recipe, old_seed = read_run(out)
        seed = old_seed if seed is None else seed
        repeats = Repeats.of(read_repeats(out)) if repeats is None else repeats
        values = recipe.model_dump()
        values["optimiser"] |= request.changes
        recipe = Recipe.parse(values)
    else:
        recipe = request.recipe()
    seed = 0 if seed is None else seed
    if out is None:
        out = default_folder(recipe, seed)
        if repeats is not None:
            out = out.with_name(f"{out.name}-{'folds' if repeats.folds else 'seeds'}")
    return PlannedRun(recipe, seed, out, repeats)


def _trackers(out: Path, asked: list[str] | None, resume: bool) -> tuple[str, ...]:
    """Names of trackers, as asked, or as the run to resume began, if they are here."""
    if asked is not None or not resume:
        return tuple(dict.fromkeys(asked or ()))
    found = []
    for name in read_tracked(out):
        try:
            found.append(check_tracker(name))
            show.say(f"told to {name}, as the run began; --track chooses others")
        except InputError as missing:
            show.say(f"note: this session is not tracked by {name}: {missing}")
    return tuple(found)


def _wants_baselines(plan: PlannedRun, asked: bool | None, resume: bool) -> bool:
    """As asked, or as the run to resume began, or for users' files only; repeats have none."""
    if plan.repeats is not None:
        if asked:
            raise InputError("--baseline is for one run, not for --seeds or --folds; leave it out.")
        return False
    from gsina.runs.data import FileData
    from gsina.runs.folder import has_baselines

    begun = has_baselines(plan.out) if resume else None
    wanted = begun if asked is None else asked
    return isinstance(plan.recipe.data, FileData) if wanted is None else wanted


def _show(recipe: Recipe) -> None:
    """Print a recipe as a file for ``--recipe``."""
    from gsina.runs.toml import to_toml

    note = unpublished(recipe)
    show.say((f"# {note}\n" if note else "") + to_toml(recipe.model_dump()).rstrip("\n"))
