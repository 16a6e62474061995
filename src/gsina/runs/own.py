"""Train on a user's file: the run's folder, the model, its scores and its page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gsina.explain.report import split_in_words, write_report
from gsina.files import save_json
from gsina.formats import OwnData
from gsina.metrics import METRICS
from gsina.models.folder import save_model
from gsina.models.model import Model
from gsina.models.train import OnTrial, Trained, train_model, with_scores
from gsina.runs.folder import RESULT
from gsina.runs.own_folder import MODEL, REPORT
from gsina.runs.own_recipe import OwnRecipe
from gsina.training.loop import OnBatch, OnEpoch


@dataclass(frozen=True)
class OwnRun:
    """A finished run.

    Attributes:
        model: The model, as in its folder.
        result: The content of ``result.json``.
    """

    model: Model
    result: dict[str, Any]


def run_own(
    recipe: OwnRecipe,
    own: OwnData,
    out: Path,
    seed: int = 0,
    *,
    resume: bool = False,
    on_trial: OnTrial | None = None,
    on_batch: OnBatch | None = None,
    on_epoch: OnEpoch | None = None,
) -> OwnRun:
    """Train, score every split, and write the model folder, the page and the result.

    Args:
        recipe: What to train.
        own: Its data.
        out: Folder of the run; :func:`gsina.runs.own_folder.claim_own` has checked it.
        seed: Seed of the training.
        resume: Go on from the checkpoint in ``out``.
        on_trial: Called before every training; there are several if the ratio is chosen.
        on_batch: Called after every batch.
        on_epoch: Called after every epoch.
    """
    trained = train_model(
        own.dataset,
        recipe.plan(own.dataset, seed),
        out=out,
        resume=resume,
        featuriser=own.featuriser,
        target_names=own.target_names,
        class_names=own.class_names,
        data={
            "file": own.source.get("file"),
            "file_fingerprint": own.source.get("fingerprint"),
            "split": split_in_words(own),
            "unreadable": len(own.unreadable),
        },
        on_trial=on_trial,
        on_batch=on_batch,
        on_epoch=on_epoch,
    )
    model = with_scores(trained.model, own.dataset)
    save_model(out / MODEL, model)
    result = _result(recipe, own, seed, trained, model)
    write_report(out / REPORT, model, own)
    # Last: a run with a result is a finished one.
    save_json(out / RESULT, result)
    return OwnRun(model, result)


def _result(
    recipe: OwnRecipe, own: OwnData, seed: int, trained: Trained, model: Model
) -> dict[str, Any]:
    progress = trained.progress
    seconds = sorted(record["seconds"] for record in progress.history)
    return {
        "recipe": recipe.model_dump(),
        "seed": seed,
        "metrics": model.metrics,
        "metric": model.task.metric,
        "targets": target_scores(model, own),
        "shifted": shifted(own),
        "selection": recipe.selection.rule,
        "best_epoch": progress.best_epoch,
        "epochs": progress.epoch,
        "ratios_tried": model.training["ratios_tried"],
        "seconds_per_epoch": seconds[len(seconds) // 2] if seconds else None,
        "notes": list(own.warnings),
        "unreadable": len(own.unreadable),
        "versions": model.versions,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def shifted(own: OwnData) -> bool:
    """Whether the test data differ from the training data in kind."""
    split = own.source.get("split")
    return not (isinstance(split, dict) and split.get("used") == "random")


def target_scores(model: Model, own: OwnData) -> dict[str, dict[str, float]]:
    """The main metric of every target on every split; empty if there is one target only."""
    task = model.task
    if task.outputs == 1 or task.kind == "multiclass":
        return {}
    one = replace(task, outputs=1)
    found: dict[str, dict[str, float]] = {name: {} for name in own.target_names}
    for split, graphs in own.dataset.splits.items():
        y = graphs.labels(task.level)
        if y is None:
            continue
        logits = model.predict(graphs).logits
        if task.level == "node" and graphs.mask is not None:
            logits, y = logits[graphs.mask], y[graphs.mask]
        for column, name in enumerate(own.target_names):
            score = METRICS[task.metric].function
            found[name][split] = score(logits[:, [column]], y[:, [column]], one)
    return found
