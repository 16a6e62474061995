"""From a dataset and a few choices to a `Model`: what the estimators and ``gsina train`` share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import standardise
from gsina.methods import METHODS, Method, build_method, make_config
from gsina.models.model import Architecture, Model, Scale, fingerprint_of_graphs
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.training.loop import OnBatch, OnEpoch, Progress, Settings, fit
from gsina.training.selection import Selection, StrictBest
from gsina.training.versions import versions

#: The shares of the edges that ``ratio="auto"`` tries.
RATIOS = (0.3, 0.5, 0.7)
#: The order in which splits are told.
SPLITS = ("train", "val", "id_test", "test")


@dataclass(frozen=True)
class Plan:
    """What to train and how.

    Attributes:
        spec: How to make the networks.
        method: Name of the method.
        options: Its settings.
        auto_ratio: Train once with each of :data:`RATIOS` and keep the best on validation data.
        settings: Optimisation.
        selection: Which epoch wins, and when to stop.
        seed: Of initialisation, shuffling, dropout and noise.
    """

    spec: NetworkSpec
    method: str = "gsina"
    options: dict[str, Any] = field(default_factory=dict)
    auto_ratio: bool = False
    settings: Settings = field(default_factory=Settings)
    selection: Selection = field(default_factory=StrictBest)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.auto_ratio:
            check_auto_ratio(self.method)

    def trials(self) -> list[Trial]:
        """The trainings that the plan consists of; one, unless the ratio is to be chosen."""
        if not self.auto_ratio:
            return [Trial(self.options, None)]
        return [Trial({**self.options, "ratio": ratio}, ratio) for ratio in RATIOS]


class Trial(NamedTuple):
    """One training: the settings of the method, and the ratio if it is one of several."""

    options: dict[str, Any]
    ratio: float | None

    def folder(self, out: Path | None) -> Path | None:
        """Where its checkpoint goes."""
        return out if out is None or self.ratio is None else out / f"ratio-{self.ratio}"


class Trained(NamedTuple):
    """A finished training.

    Attributes:
        model: The model with the selected weights; without scores yet.
        progress: What happened in the training that was kept.
        tried: Validation metric by ratio; empty if the ratio was given.
    """

    model: Model
    progress: Progress
    tried: dict[float, float | None]


#: Called before every training.
OnTrial = Callable[[Trial], None]


def train_model(
    dataset: Dataset,
    plan: Plan,
    *,
    out: Path | None = None,
    resume: bool = False,
    featuriser: dict[str, Any] | None = None,
    target_names: tuple[str, ...] = (),
    class_names: tuple[Hashable, ...] = (),
    data: dict[str, Any] | None = None,
    on_trial: OnTrial | None = None,
    on_batch: OnBatch | None = None,
    on_epoch: OnEpoch | None = None,
) -> Trained:
    """Train on ``train``, select on ``val``; other splits are not looked at.

    Regression targets are brought to mean 0 and variance 1 by the training split; the model gives
    its answers in their units. Features are scaled as the dataset says, and the model does so with
    those that it is given later. Torch's random state is as before when this returns.

    Args:
        dataset: The splits.
        plan: What to train.
        out: Folder of the checkpoint; ``None`` keeps nothing.
        resume: Go on from the checkpoint.
        featuriser: How the graphs were made, for the model folder.
        target_names: Names of the outputs.
        class_names: Labels of the classes.
        data: What else to tell about the data in the model folder.
        on_trial: Called before every training.
        on_batch: Called after every batch.
        on_epoch: Called after every epoch; a single target's error is in its units.
    """
    task = dataset.task
    labels = dataset.train.labels(task.level)
    if labels is None:
        raise InputError(f"the train split of {dataset.name} has no labels to learn.")
    if task.level == "node" and dataset.train.mask is not None:
        labels = labels[dataset.train.mask]  # the others may be test labels
    scale = Scale.of(labels) if task.kind == "regression" else None
    unscaled = _standardised(dataset if scale is None else scale.apply(dataset))
    told = on_epoch if on_epoch is None or scale is None else _in_units(on_epoch, scale)
    finished: list[tuple[Method, Progress, Trial]] = []
    for trial in plan.trials():
        if on_trial is not None:
            on_trial(trial)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed)
            method = build_method(plan.method, plan.spec, task, trial.options)
            progress = fit(
                method,
                unscaled,
                plan.settings,
                plan.selection,
                seed=plan.seed,
                out=trial.folder(out),
                resume=resume,
                on_batch=on_batch,
                on_epoch=told,
            )
        finished.append((method, progress, trial))
    method, progress, trial = max(finished, key=lambda one: _rank(one[1]))
    tried = {
        trial.ratio: _metric(progress, task.metric)
        for _, progress, trial in finished
        if trial.ratio is not None
    }
    if scale is not None and task.outputs == 1:
        tried = {r: None if value is None else value * scale.std[0] for r, value in tried.items()}
    model = Model(
        method=method.eval(),
        task=task,
        architecture=Architecture.of(plan.method, trial.options, plan.spec),
        featuriser=(featuriser or {"kind": "tensors", "version": 1})
        | ({"scaling": dataset.scaling} if dataset.scaling else {}),
        target_names=target_names,
        class_names=class_names,
        scale=scale,
        training=_training(plan, progress, tried),
        data={
            "name": dataset.name,
            "fingerprint": fingerprint_of_graphs(dataset.train),
            "sizes": {
                split: _size(dataset.splits[split]) for split in sorted(dataset.splits, key=_order)
            },
            **(data or {}),
        },
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return Trained(model, progress, tried)


def with_scores(model: Model, dataset: Dataset) -> Model:
    """The model with its scores on every labelled split."""
    level = model.task.level
    scores = {
        split: model.score(graphs)
        for split, graphs in sorted(dataset.splits.items(), key=lambda part: _order(part[0]))
        if len(graphs) and graphs.labels(level) is not None
    }
    return replace(model, metrics=scores)


def _standardised(dataset: Dataset) -> Dataset:
    """The dataset with its features scaled as it says."""
    if not dataset.scaling:
        return dataset
    graphs = standardise(dataset.scaling, *dataset.splits.values())
    return replace(dataset, splits=dict(zip(dataset.splits, graphs, strict=True)))


def named_spec(
    backbone: str,
    node_channels: int | Sequence[int],
    edge_channels: int | Sequence[int],
    sizes: dict[str, Any],
) -> NetworkSpec:
    """How to make a named backbone, with those of the sizes that it has."""
    make = BACKBONES[check_name(backbone, BACKBONES, "backbone")]
    known = inspect.signature(make).parameters
    options = {name: value for name, value in sizes.items() if name in known}
    return NetworkSpec(backbone, node_channels, edge_channels, options)


def suited(method: str) -> dict[str, Any]:
    """Settings of a method that suit people's own data better than those of its benchmark.

    On molecules the paper's two-layer scorer is quicker than that of the GSAT benchmark, and was
    better on validation data.
    """
    return {"scorer": "plain"} if method == "gsina" else {}


def first_epoch(method: str, options: dict[str, Any]) -> int:
    """The first epoch that may be selected: GSAT's prior has to come to rest first."""
    return int(getattr(make_config(method, options), "first_eligible_epoch", 0))


def takes(method: str, option: str) -> bool:
    """Whether a method has a setting of this name."""
    entry = METHODS[check_name(method, METHODS, "method")]
    return option in {one.name for one in fields(entry.config)}


def check_auto_ratio(method: str) -> None:
    """Refuse to choose the ratio of a method that has none."""
    if not takes(method, "ratio"):
        able = sorted(name for name in METHODS if takes(name, "ratio"))
        raise InputError(
            f"method {method} has no ratio to choose; methods that have one: {', '.join(able)}."
        )


def _order(split: str) -> int:
    return SPLITS.index(split) if split in SPLITS else len(SPLITS)


def _size(graphs: PackedGraphs) -> int:
    """Graphs of a split, or the nodes that count in it."""
    return len(graphs) if graphs.mask is None else int(graphs.mask.sum())


def _rank(progress: Progress) -> tuple[float, float]:
    """Larger is better: the selected metric, and of equal ones the smaller loss."""
    if progress.best is None:
        return -math.inf, -math.inf
    metric, loss = progress.best
    return metric, -loss


def _metric(progress: Progress, name: str) -> float | None:
    if progress.best_epoch < 0:
        return None
    return float(progress.history[progress.best_epoch]["val"][name])


def _in_units(on_epoch: OnEpoch, scale: Scale) -> OnEpoch:
    """Tell errors of a single target in its units."""

    def tell(record: dict[str, Any]) -> None:
        values = dict(record["val"])
        if len(scale.std) == 1:
            values["rmse"] *= scale.std[0]
        on_epoch({**record, "val": values})

    return tell


def _training(plan: Plan, progress: Progress, tried: dict[float, float | None]) -> dict[str, Any]:
    return {
        "settings": asdict(plan.settings),
        "selection": {"rule": plan.selection.name, **asdict(plan.selection)},
        "seed": plan.seed,
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch,
        "ratios_tried": {str(ratio): value for ratio, value in tried.items()},
    }
