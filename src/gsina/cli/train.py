"""``gsina train``: one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

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
    numbers,
    pairs,
    use_threads,
)
from gsina.cli.own import OwnPlan, run_plan, run_recipe
from gsina.cli.own_options import Source, kind_of, takes_source
from gsina.cli.progress import Epochs, load_with_bar
from gsina.errors import InputError

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.recipe import Recipe
    from gsina.training.distributed import Ranks


class Plan(NamedTuple):
    """What to run, and where it goes."""

    recipe: Recipe
    seed: int
    out: Path


@takes_source
def train(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Your file: molecules (.csv), graphs (.jsonl, or a folder of .json), one graph of "
            "tensors (.safetensors, .pt); or the name of a dataset (see [bold]gsina datasets[/]), "
            "or [bold]tu:NAME[/] of the TU collection."
        ),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="A TOML file that says everything but the seed.")
    ] = None,
    method: MethodName = None,
    backbone: BackboneName = None,
    bias: Bias = None,
    ratio: Annotated[
        str | None,
        typer.Option(
            help="Share of the edges to keep, short for --set ratio=...; for your own file also "
            "[bold]auto[/], which tries a few and keeps the best on validation data."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the method; may be repeated."
        ),
    ] = None,
    data_options: DataOptions = None,
    epochs: Annotated[int | None, typer.Option(help="Largest number of epochs.")] = None,
    batch_size: BatchSize = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam.")] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="float32, or bf16: quicker steps on processors that have it."),
    ] = None,
    patience: Patience = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            help="For graphs too large for one step: the most neighbours of a node to draw in each "
            "hop, such as 10,10; a step then takes --batch-size nodes."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the training, not of the data; by default 0."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in --out.")] = False,
    show_recipe: Annotated[
        bool,
        typer.Option(
            "--show-recipe", help="Print the recipe for a named dataset as TOML, and train nothing."
        ),
    ] = False,
    threads: Threads = None,
    *,
    source: Source,
) -> None:
    """Train one model and evaluate it on every split: on your own file, or on a named dataset.

    For your own file there are defaults for everything; a run ends with a model
    folder, a table of scores and a page to look at. For named datasets, what is
    not said follows the published recipe of the dataset with this network and
    method; if there is none, general settings hold.

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
    use_threads(threads)
    data = pairs(data_options or [], "--data-option") | given_only(bias=bias)
    options = pairs(settings or [], "--set") | given_only(ratio=_ratio(ratio))
    changes = given_only(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        precision=precision,
        patience=patience,
        neighbours=None if neighbours is None else numbers(neighbours, "--neighbours", 1),
    )
    given = given_only(method=method, backbone=backbone) | data | options | changes
    from gsina.runs.own_folder import is_own_run
    from gsina.runs.own_recipe import is_own_recipe

    own = None if dataset is None else kind_of(dataset)
    if source.nodes is not None or source.edges is not None:
        own = "nodes"
    again = own is None and dataset is None and recipe is None and resume and out is not None
    if own is not None or (again and out is not None and is_own_run(out)):
        if recipe is not None or data:
            raise InputError("--recipe, --bias and --data-option are for named datasets.")
        _only_named(show_recipe)
        said = OwnPlan(own, dataset, source, method, backbone, options, changes, seed, out)
        run_plan(said, resume, force)
        return
    if source.given():
        raise InputError(
            f"{source.given()[0]} is for your own files; {dataset or 'this'} is none of them."
        )
    if options.get("ratio") == "auto":
        raise InputError("--ratio auto is for your own files; name a share such as 0.5.")
    if recipe is not None:
        _alone("--recipe", given | given_only(dataset=dataset))
        if is_own_recipe(recipe):
            _only_named(show_recipe)
            run_recipe(recipe, seed, out, resume, force)
            return
    elif dataset is None:
        if not resume or out is None:
            raise InputError("name a dataset, a --recipe, or with --resume the --out of a run.")
        _alone("--resume without a dataset", given.keys() - {"epochs"})
    plan = _plan(dataset, recipe, method, backbone, data, options, changes, seed, out)
    if show_recipe:
        _check_shown(given_only(seed=seed, out=out if dataset else None, force=force or None))
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


def _only_named(show_recipe: bool) -> None:
    if show_recipe:
        raise InputError("--show-recipe is for named datasets; see gsina datasets.")


def _check_shown(given: dict[str, Any]) -> None:
    for name in given:
        raise InputError(f"--{name} is not part of a recipe; leave it out beside --show-recipe.")


def _alone(what: str, others: Any) -> None:
    """Refuse options that another one makes meaningless."""
    for other in sorted(others):
        raise InputError(
            f"{what} takes everything else from a file, so {other} cannot be given too; leave it "
            "out, or write it into the file of a --recipe."
        )


def _plan(
    dataset: str | None,
    file: Path | None,
    method: str | None,
    backbone: str | None,
    data: dict[str, Any],
    options: dict[str, Any],
    changes: dict[str, Any],
    seed: int | None,
    out: Path | None,
) -> Plan:
    """Make the recipe from options, from a file, or from the run to resume."""
    from gsina.datasets.catalog import DATASETS
    from gsina.methods.registry import check_can
    from gsina.runs.folder import default_folder, read_run
    from gsina.runs.published import default_recipe
    from gsina.runs.recipe import Recipe

    if file is not None:
        recipe = Recipe.read(file)
    elif dataset is not None:
        recipe = default_recipe(
            dataset,
            backbone,
            method or "gsina",
            data=data,
            options=options,
            **changes,
        )
    else:
        assert out is not None
        recipe, old_seed = read_run(out)
        seed = old_seed if seed is None else seed
        values = recipe.model_dump()
        values["optimiser"] |= changes
        recipe = Recipe.parse(values)
    check_can(recipe.method.name, DATASETS[recipe.data.name].level)
    seed = 0 if seed is None else seed
    return Plan(recipe, seed, default_folder(recipe, seed) if out is None else out)


def _run(plan: Plan, resume: bool, force: bool, threads: int | None) -> None:
    from gsina.runs.folder import alone_in
    from gsina.training.distributed import join
    from gsina.training.versions import versions

    if resume and force:
        raise InputError("--resume goes on with a run and --force replaces it; give one of them.")
    ranks = join(versions())
    if not ranks.first:
        _follow(plan, resume, ranks)
        return
    with alone_in(plan.out):
        _lead(plan, resume, force, threads, ranks)


def _lead(plan: Plan, resume: bool, force: bool, threads: int | None, ranks: Ranks) -> None:
    """The part of the first process, which writes the folder and talks."""
    from gsina.runs.folder import Saved, claim, note_run, saved
    from gsina.runs.run import run

    recipe, seed, out = plan
    claim(out, recipe, seed, resume=resume, force=force)
    try:
        dataset = load_with_bar(recipe.data.name, recipe.data.options)
        note_run(out, recipe, seed)
        ranks.agree("the data are prepared")
        _introduce(plan, dataset, ranks)
        before = saved(out) if resume else Saved([])
        if resume:
            done = len(before.history)
            show.say(f"going on after {done} epochs" if done else "nothing to resume; starting")
        metric = dataset.task.metric
        bar = Epochs(
            recipe.method.name,
            recipe.optimiser.epochs,
            metric,
            len(before.history),
            before.best(metric),
        )
        with bar:
            finished = run(
                recipe,
                seed,
                out=out,
                resume=resume,
                dataset=dataset,
                ranks=ranks,
                on_batch=bar.on_batch,
                on_epoch=bar.on_epoch,
            )
    except KeyboardInterrupt:
        epochs = len(saved(out).history)
        show.say(f"interrupted; {epochs} whole epochs are saved in {out}.")
        extra = () if threads is None else ("--threads", str(threads))
        again = command("train", "--out", out, "--resume", *extra)
        show.say(f"go on with: {again}")
        raise typer.Exit(show.INTERRUPTED) from None
    _conclude(plan, finished.result, metric)


def _follow(plan: Plan, resume: bool, ranks: Ranks) -> None:
    """The part of the other processes of a job: no word, no file."""
    from gsina.runs.run import run

    ranks.agree("")  # the first process prepares the data for all
    run(plan.recipe, plan.seed, out=plan.out, resume=resume, ranks=ranks)


def _show(recipe: Recipe) -> None:
    """Print a recipe as a file for ``--recipe``."""
    from gsina.runs.toml import to_toml

    note = _unpublished(recipe)
    show.say((f"# {note}\n" if note else "") + to_toml(recipe.model_dump()).rstrip("\n"))


def _unpublished(recipe: Recipe) -> str:
    """A sentence if nothing was published for these three, so that runs may not compare."""
    from gsina.runs.published import is_published

    names = recipe.data.name, recipe.backbone.name, recipe.method.name
    if is_published(*names):
        return ""
    dataset, backbone, method = names
    return (
        f"there are no published settings here for {method} with {backbone} on {dataset}, so "
        f"general ones hold for all the rest, such as rule {recipe.selection.rule} and "
        f"batches of {recipe.optimiser.batch_size}."
    )


def _shifted(plan: Plan) -> bool:
    """Whether the test data differ from the training data in kind."""
    from gsina.datasets.catalog import DATASETS

    return not DATASETS[plan.recipe.data.name].shift.startswith("none")


def _introduce(plan: Plan, dataset: Dataset, ranks: Ranks) -> None:
    sizes = ", ".join(f"{len(part):,} {split}" for split, part in dataset.splits.items())
    show.say(f"{dataset.name}: {sizes} graphs")
    if not ranks.alone:
        size = plan.recipe.optimiser.batch_size
        show.say(f"{ranks.world} processes share every batch of {size}")
    for note in [*dataset.notes, _unpublished(plan.recipe)]:
        if note:
            show.say(f"note: {note}")


def _conclude(plan: Plan, result: dict[str, Any], metric: str) -> None:
    epoch, rule = result["best_epoch"], result["selection"]
    show.console.print(show.metrics_table(result, metric, _shifted(plan)))
    if epoch < 0:
        first = plan.recipe.selection.first_epoch + 1
        show.say(
            f"no epoch could be selected (the rule {rule} counts from epoch {first}), so these are "
            "the last weights."
        )
    else:
        show.say(
            f"epoch {epoch + 1} of {result['epochs']}, selected on validation data by the rule "
            f"{rule}; {result['seconds_per_epoch']:.1f} s an epoch"
        )
    show.say(f"weights, log and result are in {plan.out}")
