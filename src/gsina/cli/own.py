"""Training on a user's own file: from the options to what is said at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from gsina.cli import show
from gsina.cli.options import command
from gsina.cli.own_options import TU, Source, read_options
from gsina.cli.progress import Count, Epochs
from gsina.errors import InputError, MissingFileError
from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.formats import OwnData
    from gsina.models.train import Trial
    from gsina.runs.own import OwnRun
    from gsina.runs.own_recipe import OwnRecipe

#: Metrics shown besides the main one.
ALSO = ("roc_auc", "accuracy", "f1", "rmse", "r2")
#: Features that are named before it is said how many more there are.
NAMED = 12


class OwnPlan(NamedTuple):
    """What was said about a training on a user's file; ``kind`` is ``None`` for the run in out."""

    kind: str | None
    file: str | None
    source: Source
    method: str | None
    backbone: str | None
    options: dict[str, Any]
    changes: dict[str, Any]
    seed: int | None
    out: Path | None


def run_plan(plan: OwnPlan, resume: bool, force: bool) -> None:
    """Make the recipe, from options or from the run to resume, and train."""
    from gsina.runs.own_folder import read_own_run
    from gsina.runs.own_recipe import OwnRecipe

    kind, _, source, method, backbone, options, changes, seed, out = plan
    if kind is None:
        assert out is not None
        given = {"method": method, "backbone": backbone} | options | changes
        said = [name for name, value in given.items() if value is not None and name != "epochs"]
        for other in (*sorted(said), *source.given()):
            raise InputError(
                f"--resume without a file takes everything from the run, so {other} cannot be "
                "given too; leave it out."
            )
        recipe, old_seed = read_own_run(out)
        values = recipe.model_dump()
        values["optimiser"] |= changes
        seed = old_seed if seed is None else seed
        train_own(OwnRecipe.parse(values), seed, out, resume=resume, force=force)
        return
    recipe, folder = make_recipe(plan)
    train_own(recipe, seed or 0, out or folder, resume=resume, force=force)


def make_recipe(plan: OwnPlan) -> tuple[OwnRecipe, Path]:
    """The recipe that the options say, and where a run goes when nothing is said."""
    from gsina.runs.own_recipe import own_recipe

    kind, file, source, method, backbone, options, changes, _, _ = plan
    assert kind is not None
    files: tuple[Path | str, ...]
    if kind == "nodes":
        if file is not None:
            raise InputError(f"give either {file}, or --nodes and --edges.")
        reading = read_options(source, kind, None)
        files = tuple(path for path in (source.nodes, source.edges) if path is not None)
    else:
        assert file is not None
        if kind == "tu":
            files = (file.removeprefix(TU),)
        else:
            files = (Path(file),)
            if not Path(file).exists():
                raise MissingFileError(f"there is no file {file}; check the path.")
        reading = read_options(source, kind, Path(file))
    recipe = own_recipe(
        kind,
        files,
        reading,
        method=method or "gsina",
        backbone=backbone,
        ratio=options.get("ratio"),
        method_options={name: value for name, value in options.items() if name != "ratio"},
        **changes,
    )
    return recipe, default_out(files, kind)


def run_recipe(file: Path, seed: int | None, out: Path | None, resume: bool, force: bool) -> None:
    """Train a recipe for a user's file, as ``gsina tune`` writes it."""
    from gsina.runs.own_recipe import OwnRecipe

    recipe = OwnRecipe.read(file)
    folder = out or default_out(recipe.data.files, recipe.data.kind)
    train_own(recipe, seed or 0, folder, resume=resume, force=force)


def default_out(files: tuple[Path | str, ...], kind: str) -> Path:
    """Where a run goes when nothing is said."""
    name = str(files[0]).removeprefix(TU) if kind == "tu" else Path(files[0]).name.split(".")[0]
    return Path("runs") / (name or "data")


def train_own(recipe: OwnRecipe, seed: int, out: Path, *, resume: bool, force: bool) -> None:
    """Read, train, and say what came out."""
    from gsina.runs.folder import alone_in

    if resume and force:
        raise InputError("--resume goes on with a run and --force replaces it; give one of them.")
    with alone_in(out):
        _train_own(recipe, seed, out, resume, force)


def _train_own(recipe: OwnRecipe, seed: int, out: Path, resume: bool, force: bool) -> None:
    from gsina.runs.folder import saved
    from gsina.runs.own import run_own
    from gsina.runs.own_folder import claim_own, note_own

    claim_own(out, recipe, seed, resume=resume, force=force)
    bars = Bars(recipe, out, resume)
    try:
        with Count("reading") as count:
            own = recipe.data.read(count.update)
        note_own(out, recipe, seed, own, force=force)
        bars.metric = own.dataset.task.metric
        _introduce(own)
        with bars:
            finished = run_own(
                recipe,
                own,
                out,
                seed,
                resume=resume,
                on_trial=bars.on_trial,
                on_batch=bars.on_batch,
                on_epoch=bars.on_epoch,
            )
    except KeyboardInterrupt:
        epochs = sum(len(saved(folder).history) for folder in bars.folders)
        show.say(f"interrupted; {epochs} whole epochs are saved in {out}.")
        show.say(f"go on with: {command('train', '--out', out, '--resume')}")
        raise typer.Exit(show.INTERRUPTED) from None
    _conclude(finished, own, out)


class Bars:
    """One bar of epochs for every training; there are several if the ratio is chosen."""

    def __init__(self, recipe: OwnRecipe, out: Path, resume: bool) -> None:
        self.recipe, self.out, self.resume = recipe, out, resume
        self.metric = ""
        self.folders: list[Path] = []
        self._bar: Epochs | None = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)
            self._bar = None

    def on_trial(self, trial: Trial) -> None:
        """A training begins."""
        from gsina.runs.folder import saved

        self.__exit__(None, None, None)
        folder = trial.folder(self.out) or self.out
        self.folders.append(folder)
        before = saved(folder).history if self.resume else []
        if before:
            show.say(f"going on after {len(before)} epochs")
        name = self.recipe.method.name
        label = name if trial.ratio is None else f"{name}, ratio {trial.ratio}"
        self._bar = Epochs(label, self.recipe.optimiser.epochs, self.metric, len(before))
        self._bar.__enter__()

    def on_batch(self, done: int, of: int) -> None:
        """A batch has passed."""
        if self._bar is not None:
            self._bar.on_batch(done, of)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch has passed."""
        if self._bar is not None:
            self._bar.on_epoch(record)


def _introduce(own: OwnData) -> None:
    from gsina.runs.own import shifted

    task, far = own.dataset.task, shifted(own)
    parts = sorted(own.dataset.splits, key=lambda split: [*SPLITS, split].index(split))
    sizes = ", ".join(f"{len(own.names[part]):,} {show.split_name(part, far)}" for part in parts)
    show.say(f"{own.dataset.name}: {sizes} {task.level}s")
    what = {"binary": "yes or no", "multiclass": f"{task.outputs} classes"}
    targets = ", ".join(own.target_names)
    show.say(f"to predict: {targets} ({what.get(task.kind, 'numbers')})")
    features = own.source.get("features")
    if isinstance(features, list) and features:
        more = f" and {len(features) - NAMED} more" if len(features) > NAMED else ""
        show.say(f"features: {', '.join(features[:NAMED])}{more}")
    for warning in own.warnings:
        show.say(f"note: {warning}")


def _conclude(finished: OwnRun, own: OwnData, out: Path) -> None:
    result, model = finished.result, finished.model
    table = show.metrics_table(result, result["metric"], result["shifted"], ALSO)
    show.console.print(table)
    if result["targets"]:
        show.console.print(_targets_table(result))
    if result["ratios_tried"]:
        tried = ", ".join(
            f"{ratio}: {metric_text(value, result['metric'])}"
            for ratio, value in result["ratios_tried"].items()
        )
        ratio = model.architecture.method_options["ratio"]
        show.say(f"ratio {ratio} was the best on validation data ({tried})")
    if result["best_epoch"] < 0:
        show.say("no epoch could be selected on validation data, so these are the last weights")
    else:
        show.say(
            f"epoch {result['best_epoch'] + 1} of {result['epochs']}, selected on validation "
            f"data; {result['seconds_per_epoch']:.1f} s an epoch"
        )
    if own.unreadable:
        show.say(f"rows that could not be read: {out / 'unreadable.csv'}")
    show.say(f"model: {out / 'model'}")
    show.say(f"to look at in a browser: {out / 'report.html'}")
    show.say(f"next: {_next(model.featuriser, out)}")


def _targets_table(result: dict[str, Any]) -> Table:
    """The main metric, target by target."""
    metric = result["metric"]
    splits = [split for split in SPLITS if split in result["metrics"]]
    title = metric_label(metric)
    heads = (show.split_name(split, result["shifted"]) for split in splits)
    table = Table(f"{title} of", *heads, box=show.BOX)
    for column in table.columns[1:]:
        column.justify = "right"
    for target, row in result["targets"].items():
        cells = [metric_text(row.get(split), metric) for split in splits]
        table.add_row(Text(target), *cells)
    return table


def _next(featuriser: dict[str, Any], out: Path) -> str:
    kind = featuriser.get("kind")
    if kind == "nodes" and "columns" in featuriser:
        return command(
            "predict", out, "--nodes", "nodes.csv", "--edges", "edges.csv", "-o", "out.csv"
        )
    file = {"molecules": "new.csv", "nodes": "new.safetensors"}.get(str(kind), "new.jsonl")
    return command("predict", out, file, "-o", "out.csv")
