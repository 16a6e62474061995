"""One run: a recipe and a seed in, a trained model and a result out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.explain.report import write_report
from gsina.files import save_json
from gsina.graphs.dataset import Dataset
from gsina.listeners import Beginning, Listener, told
from gsina.listeners.log import LOG, write_log
from gsina.methods import Method, build_method
from gsina.metrics import metric_label, metric_text
from gsina.models.folder import save_model
from gsina.models.model import Model
from gsina.models.plan import trial_folders
from gsina.models.train import Trained, in_units, score_splits, train_model
from gsina.runs.baselines import compare_with_baselines
from gsina.runs.display import result_html
from gsina.runs.names import MODEL, REPORT, RESULT
from gsina.runs.provenance import note_other_rounding, provenance
from gsina.runs.recipe import Recipe
from gsina.training import seed_everything
from gsina.training.checkpoint import FILE as CHECKPOINT
from gsina.training.checkpoint import read_progress
from gsina.training.devices import choose_device
from gsina.training.distributed import Ranks, leave


@dataclass(frozen=True)
class Run:
    """A finished run: the model with the selected weights, its data, and the result."""

    model: Model
    dataset: Dataset
    result: dict[str, Any]

    @property
    def method(self) -> Method:
        """The trained method."""
        return self.model.method

    def __repr__(self) -> str:
        return f"Run({self.dataset.name!r}, {self.model.architecture.method!r}, {self._score()})"

    def _repr_html_(self) -> str:
        """What was trained on what, and its scores, for notebooks."""
        return result_html(self.result)

    def _score(self) -> str:
        metric = self.result.get("metric", "")
        row = self.result.get("metrics", {}).get("test", {})
        return f"test {metric_label(metric)} {metric_text(row.get(metric), metric)}"

    def explain(self, graphs: Any, explainer: Any = None, **options: Any) -> Any:
        """:meth:`Model.explain`, with the run's own training graphs for explainers that learn."""
        return self.model.explain(graphs, explainer, **{"train": self.dataset.train} | options)


def run(
    recipe: Recipe,
    seed: int = 0,
    *,
    out: Path | None = None,
    resume: bool = False,
    dataset: Dataset | None = None,
    device: str | None = None,
    ranks: Ranks | None = None,
    report: bool = True,
    baselines: bool = False,
    listeners: Sequence[Listener] = (),
) -> Run:
    """Train a recipe under a seed and evaluate the selected weights on every split.

    Everything that is trained from the command line goes through here: named datasets, users'
    files, cells of a table.

    Args:
        recipe: What to run.
        seed: Seeds initialisation, shuffling, dropout and noise. The data have a seed of their own.
        out: Folder for the checkpoint, the log, the model, ``report.html`` and ``result.json``.
        resume: Go on from the checkpoint in ``out``.
        dataset: The recipe's dataset, if it is loaded already.
        device: Where the model is trained; by default where the recipe says.
        ranks: The processes that train together; only the first of them evaluates and writes, and
            the others get an empty result.
        report: Whether to write the page of test graphs into ``out``.
        baselines: Whether to train ERM, and for molecules a forest, and to compare with them.
        listeners: Notified of the progress, from the start to the end.
    """
    dataset = recipe.judge(recipe.data.load() if dataset is None else dataset)
    for name, graphs in dataset.splits.items():
        if len(graphs) == 0:  # fail before hours of training
            raise InputError(f"the {name} split of {dataset.name} has no graphs; expected some.")
    recipe = recipe.on_device(device)
    place = choose_device(recipe.run.device)
    session = provenance(place, 1 if ranks is None else ranks.world)
    if resume and out is not None and (ranks is None or ranks.first):
        before = [read_progress(folder / CHECKPOINT) for folder in trial_folders(out)]
        note_other_rounding(before, session)
    begins = Beginning(
        name=recipe.method.name,
        data=dataset.name,
        epochs=recipe.optimiser.epochs,
        metric=dataset.task.metric,
        settings=recipe.spelt_out() | {"seed": seed},
        folder=out,
        resumed=resume,
    )
    with told(listeners, begins) as ending:
        seed_everything(seed)
        trained = train_model(
            dataset,
            recipe.plan(dataset, seed),
            out=out,
            resume=resume,
            session=session,
            device=place,
            ranks=ranks,
            listeners=listeners,
        )
        model = trained.model
        if ranks is not None:
            leave()
            if not ranks.first:
                return Run(model, dataset, {})
        scores, targets = score_splits(model, dataset)
        model = replace(model, metrics=scores)
        ending.metrics = scores
        if out is not None:
            if (
                recipe.auto_ratio or recipe.ensemble > 1
            ):  # of what was kept; all are in their folders
                write_log(out / LOG, trained.records)
            save_model(out / MODEL, model)
        if baselines:
            compared = compare_with_baselines(
                recipe,
                seed,
                model,
                dataset,
                out=out,
                resume=resume,
                device=place,
                listeners=listeners,
            )
            model = replace(model, baselines=compared)
        result = describe(recipe, seed, trained, model, dataset, session) | {"targets": targets}
        if out is not None:
            if model.baselines:
                save_model(out / MODEL, model)  # again, with them on its card
            if report:
                write_report(out / REPORT, model, dataset, trained.records)
            # Last: a run with a result is a finished one.
            save_json(out / RESULT, result)
    return Run(model, dataset, result)


def make_method(recipe: Recipe, dataset: Dataset) -> Method:
    """A fresh model of the recipe for the dataset's features."""
    plan = recipe.plan(dataset, 0)
    return build_method(plan.method, plan.network_spec, dataset.task, plan.options)


def describe(
    recipe: Recipe,
    seed: int,
    trained: Trained,
    model: Model,
    dataset: Dataset,
    session: dict[str, Any],
) -> dict[str, Any]:
    """The content of a result file, but for the scores of single targets."""
    progress, sessions = trained.progress, trained.sessions or [session]
    seconds = sorted(record["seconds"] for record in progress.history)
    return {
        "recipe": recipe.model_dump(),
        "seed": seed,
        "metrics": model.metrics,
        "baselines": model.baselines,
        "metric": dataset.task.metric,
        "shifted": dataset.shifted,
        "selection": recipe.selection.rule,
        "best_epoch": progress.best_epoch,
        "epochs": progress.epoch,
        # Of the main metric, epoch by epoch; of an ensemble that of its first member.
        "validation": [
            round(in_units(record, model.scale)["val"][dataset.task.metric], 5)
            for record in progress.history
        ],
        "ratios_tried": model.training["ratios_tried"],
        "members": model.training.get("members", []),
        "seconds_per_epoch": seconds[len(seconds) // 2] if seconds else None,
        "notes": list(dataset.notes),
        "unreadable": len(dataset.origin.unreadable),
        "method_settings": model.architecture.method_options,
        # Of the last session that trained; a resumed run may have several.
        **sessions[-1],
        "sessions": sessions,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
