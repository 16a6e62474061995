"""Train a `Model` on a dataset by a plan: the core that runs and estimators share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.formats import reading_of
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling
from gsina.graphs.split_names import SPLITS
from gsina.listeners import Listener
from gsina.methods import Method, build_method
from gsina.methods.ensemble import Ensemble
from gsina.methods.trees import BoostedTrees, Forest, WithTrees
from gsina.metrics import METRICS
from gsina.models.architecture import Architecture
from gsina.models.boosting import described, grow_forest, grow_trees
from gsina.models.imbalance import weighted
from gsina.models.model import Model, Scale, fingerprint_of_graphs
from gsina.models.plan import Plan, Trial
from gsina.models.shortcuts import shortcut_weights
from gsina.models.uncertainty.fit import with_uncertainty
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.ops.host import kept_generators
from gsina.training.checkpoint import FILE as CHECKPOINT
from gsina.training.checkpoint import read_progress
from gsina.training.devices import choose_device
from gsina.training.distributed import Ranks
from gsina.training.loop import Progress, fit
from gsina.training.versions import versions


class Fitted(NamedTuple):
    """A method that was trained, how that went, and what it was."""

    method: Method
    progress: Progress
    trial: Trial


class Trained(NamedTuple):
    """A finished training.

    Attributes:
        model: The model with the selected weights; without scores yet.
        progress: What happened in the training that was kept; of an ensemble that of its first
            member.
        others: What happened in the trainings of its other members.
    """

    model: Model
    progress: Progress
    others: tuple[Progress, ...] = ()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The record of every epoch, as listeners and the log have it; of members with theirs."""
        members = self.progress, *self.others
        return [
            in_units(record, self.model.scale) | ({"member": member} if self.others else {})
            for member, progress in enumerate(members)
            for record in progress.history
        ]

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """What trained when, in order, each session once."""
        found: list[dict[str, Any]] = []
        for progress in (self.progress, *self.others):
            found += [one for one in progress.sessions if one not in found]
        return found


def train_model(
    dataset: Dataset,
    plan: Plan,
    *,
    out: Path | None = None,
    resume: bool = False,
    session: dict[str, Any] | None = None,
    device: str | torch.device = "cpu",
    ranks: Ranks | None = None,
    listeners: Sequence[Listener] = (),
) -> Trained:
    """Train on ``train``, select on ``val``; other splits are not looked at.

    Regression targets are brought to mean 0 and variance 1 by the training split; the model gives
    its answers in their units. Features are scaled as the dataset says, and the model scales new
    ones likewise. Torch's random state is as before when this returns.

    Args:
        dataset: The splits.
        plan: What to train.
        out: Folder of the checkpoint; ``None`` keeps nothing.
        resume: Go on from the checkpoint.
        session: What trains now (versions, commit, hardware), for the checkpoint.
        device: Where the model is trained, as :func:`~gsina.training.devices.choose_device` takes
            it; batches follow it there, and the model stays.
        ranks: The processes that train together; by default this one alone.
        listeners: Notified of the progress.
    """
    task, place = dataset.task, choose_device(device)
    labels = dataset.train.labels(task.level)
    if labels is None:
        raise InputError(f"the train split of {dataset.name} has no labels; add them to train on.")
    if task.level == "node" and dataset.train.mask is not None:
        labels = labels[dataset.train.mask]  # the others may be test labels
    how: dict[str, list[int]] = {}
    if plan.trees:
        dataset, how = described(dataset)  # refuses before the network is trained
    scale = Scale.of(labels) if task.kind == "regression" else None
    scaled = _standardised(dataset if scale is None else scale.apply(dataset))
    scaled = weighted(scaled, plan.settings.class_weight)

    def fitted(trial: Trial) -> Fitted:
        folder = trial.folder(out)
        before = read_progress(folder / CHECKPOINT) if resume and folder is not None else {}
        history, best = before.get("history", []), before.get("best_epoch", -1)
        # A run of an earlier version may have been judged by another metric.
        value = None if best < 0 else in_units(history[best], scale)["val"].get(task.metric)
        for listener in listeners:
            listener.on_trial(trial.name, len(history), value)
        chances = _chances(scaled, plan, trial.seed)
        with kept_generators(place):
            torch.manual_seed(trial.seed)  # of all devices
            method = build_method(plan.method, plan.network_spec, task, trial.options).to(place)
            progress = fit(
                method,
                scaled,
                plan.settings,
                plan.selection,
                seed=trial.seed,
                out=folder,
                resume=resume,
                chances=chances,
                session=session,
                ranks=ranks,
                listeners=listeners,
                shown=partial(in_units, scale=scale),
            )
        return Fitted(method, progress, trial)

    finished = [fitted(trial) for trial in plan.trials()]
    first = max(finished, key=lambda one: _rank(one.progress))
    tried = {
        str(one.trial.ratio): _selected(one.progress, task.metric, scale)
        for one in finished
        if one.trial.ratio is not None
    }
    members = [first, *map(fitted, plan.other_members(first.trial))]
    method = first.method if len(members) == 1 else Ensemble([one.method for one in members])
    beside: dict[str, Any] = {}
    if plan.trees:
        trees, forest = _grown(scaled, plan, listeners, ranks)
        method = WithTrees(method, trees, forest).to(place)
        beside = {name: part.sizes for name, part in method.parts.items()}
        beside["network_share"] = method.share
    model = Model(
        method=method.eval(),
        task=task,
        architecture=Architecture.of(
            plan.method,
            first.trial.options,
            replace(plan.spec, graph_channels=dataset.train.num_graph_features),
            members=len(members),
            **beside,
        ),
        featuriser=reading_of(dataset)
        | ({"scaling": dataset.scaling} if dataset.scaling else {})
        | ({"described": how} if how else {}),
        target_names=dataset.target_names,
        class_names=dataset.class_names,
        scale=scale,
        training=_training(plan, members, tried),
        data=_describe(dataset),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if ranks is None or ranks.first:
        model = with_uncertainty(model, dataset, threshold=plan.threshold)
    return Trained(model, first.progress, tuple(one.progress for one in members[1:]))


def _grown(
    dataset: Dataset, plan: Plan, listeners: Sequence[Listener], ranks: Ranks | None = None
) -> tuple[BoostedTrees, Forest | None]:
    """The trees of a plan, with progress; of several processes the first grows them for all."""

    def report(name: str, done: int, of: int) -> None:
        for listener in listeners:
            listener.on_part(name, done, of)

    def grow() -> tuple[BoostedTrees, Forest | None]:
        trees = grow_trees(dataset, plan.seed, partial(report, "boosted trees"))
        return trees, grow_forest(dataset, plan.seed, partial(report, "forest"))

    together = ranks or Ranks()
    grown = together.agree(grow() if together.first else None)
    assert grown is not None
    return grown


#: Scores by split and metric, and the main metric by target and split.
Scores = dict[str, dict[str, float]]


def score_splits(model: Model, dataset: Dataset) -> tuple[Scores, Scores]:
    """Scores on every labelled split, and the main metric of every target if there are several.

    Args:
        model: The model.
        dataset: Its data.
    """
    task = model.task
    several = task.outputs > 1 and task.kind != "multiclass"
    names = model.target_names or tuple(map(str, range(task.outputs)))
    scores: Scores = {}
    targets: Scores = {name: {} for name in names} if several else {}
    for split in sorted(dataset.splits, key=_order):
        graphs = dataset.splits[split]
        y = graphs.labels(task.level)
        if not len(graphs) or y is None:
            continue
        found = model.predict(graphs)
        scores[split] = model.score(graphs, found)
        logits = found.logits
        if task.level == "node" and graphs.mask is not None:
            logits, y = logits[graphs.mask], y[graphs.mask]
        decided = model.calibration.decided(logits)
        for column, name in enumerate(targets):
            one = slice(column, column + 1)
            score = METRICS[METRICS[task.metric].of_one_target].function
            targets[name][split] = score(decided[:, one], y[:, one], replace(task, outputs=1))
    return scores, targets


def split_in_words(dataset: Dataset) -> str:
    """Which rule divided the data, and by which column."""
    split = dataset.origin.split
    # A split that could not be made has fallen back to one that reads no column.
    column = split.get("column") if split.get("used") == split.get("rule") else None
    return f"{split.get('used', '')}{f' by {column}' if column else ''}"


def _describe(dataset: Dataset) -> dict[str, Any]:
    """What a model keeps of its data."""
    origin = dataset.origin
    return {
        "name": dataset.name,
        "fingerprint": fingerprint_of_graphs(dataset.train),
        "sizes": {
            split: _size(dataset.splits[split]) for split in sorted(dataset.splits, key=_order)
        },
        "file": origin.file,
        "file_fingerprint": origin.fingerprint,
        "split": split_in_words(dataset),
        "unreadable": len(origin.unreadable),
    }


def _standardised(dataset: Dataset) -> Dataset:
    """The dataset with its features scaled as it says."""
    if not dataset.scaling:
        return dataset
    graphs = apply_scaling(dataset.scaling, *dataset.splits.values())
    return replace(dataset, splits=dict(zip(dataset.splits, graphs, strict=True)))


def named_spec(
    backbone: str,
    node_channels: int | Sequence[int],
    edge_channels: int | Sequence[int],
    sizes: dict[str, Any],
    graph_channels: int = 0,
) -> NetworkSpec:
    """How to make a named backbone, with those of the sizes that it has."""
    make = BACKBONES[check_name(backbone, BACKBONES, "backbone")]
    known = inspect.signature(make).parameters
    options = {name: value for name, value in sizes.items() if name in known}
    widths = node_channels, edge_channels
    return NetworkSpec(backbone, *widths, options, graph_channels=graph_channels)


def _order(split: str) -> int:
    return [*SPLITS, split].index(split)


def _size(graphs: PackedGraphs) -> int:
    """Graphs of a split, or the nodes that count in it."""
    return len(graphs) if graphs.mask is None else int(graphs.mask.sum())


def _rank(progress: Progress) -> tuple[float, float]:
    """Larger is better: the selected metric, and of equal ones the smaller loss."""
    if progress.best is None:
        return -math.inf, -math.inf
    metric, loss = progress.best
    return metric, -loss


def _selected(progress: Progress, name: str, scale: Scale | None) -> float | None:
    """Validation metric of the selected epoch."""
    if progress.best_epoch < 0:
        return None
    return float(in_units(progress.history[progress.best_epoch], scale)["val"].get(name, math.nan))


def in_units(record: dict[str, Any], scale: Scale | None) -> dict[str, Any]:
    """The record of an epoch with errors of a single target in its units, as users see it."""
    if scale is None or len(scale.std) > 1:
        return record
    values = {
        name: value * scale.std[0] if name in METRICS and METRICS[name].unit == "target" else value
        for name, value in record["val"].items()
    }
    return {**record, "val": values}


def _training(
    plan: Plan, members: Sequence[Fitted], tried: dict[str, float | None]
) -> dict[str, Any]:
    epochs = [
        {"seed": seed, "epochs": progress.epoch, "best_epoch": progress.best_epoch}
        for seed, progress in ((one.trial.seed, one.progress) for one in members)
    ]
    return {
        "settings": asdict(plan.settings),
        "selection": {"rule": plan.selection.name, **asdict(plan.selection)},
        **epochs[0],
        "ratios_tried": tried,
        **({"members": epochs} if len(members) > 1 else {}),
    }


def _chances(dataset: Dataset, plan: Plan, seed: int) -> Tensor | None:
    """How likely every training graph is drawn, if graphs are resampled."""
    size = plan.settings.batch_size
    if plan.settings.resample != "shortcuts":
        return None
    return shortcut_weights(
        dataset.train, dataset.task, plan.network_spec, seed=seed, batch_size=size
    )
