"""Rare classes: weights of classes and rows, the metric that judges, thresholds of decisions."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.dataset import Dataset
from gsina.graphs.labels import FEWEST_TO_JUDGE
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Level, Task
from gsina.metrics import METRICS, metric_label, selecting_metrics

#: Weights of classes: ``"balanced"``, or one per class by its name.
ClassWeight = str | dict[str, float]
BALANCED = "balanced"
#: The metric is chosen by the data: see :func:`judged`.
AUTO = "auto"
#: A class is rare below this part of an even share: of two classes, below 20 %.
RARE = 0.4
#: The most thresholds that are tried.
MOST_CUTS = 200


class RareClass(NamedTuple):
    """The rarest class of a target in the training split: its name and its share of the labels."""

    name: str
    share: float


def rare_class(dataset: Dataset) -> RareClass | None:
    """The class with the smallest share of the training labels, if that is small."""
    task, y = dataset.task, counted_labels(dataset.train, dataset.task)
    if task.kind == "regression" or y is None:
        return None
    names = list(dataset.class_names) or list(range(max(2, task.outputs)))
    found = []
    for target, column in enumerate(_columns(y, task)):
        counts = torch.bincount(column[column >= 0].long())
        here = counts.nonzero().flatten()
        if len(here) > 1:
            least = int(here[counts[here].argmin()])
            share = int(counts[least]) / int(counts.sum())
            of = (
                f" of target {dataset.target_names[target]}"
                if len(dataset.target_names) > 1
                else ""
            )
            found.append((share * len(here) / RARE, RareClass(f"{names[least]}{of}", share)))
    if not found:
        return None
    relative, rarest = min(found)
    return rarest if relative < 1 else None


def check_metric(metric: str | None) -> str | None:
    """Refuse a name that is neither of a metric that may select, nor ``"auto"``."""
    if metric is None or metric in (AUTO, *selecting_metrics()):
        return metric
    tasks = {"classes": "binary", "numbers": "regression"}  # more classes have the same ones
    known = [f"for {what} {', '.join(selecting_metrics(kind))}" for what, kind in tasks.items()]
    near = difflib.get_close_matches(str(metric), selecting_metrics(), n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    raise InputError(f"unknown metric {metric!r};{hint} {'; '.join(known)}; or {AUTO}.")


def judged(dataset: Dataset, metric: str | None) -> Dataset:
    """The dataset, judged by another metric; a note says so where that was not asked for.

    Args:
        dataset: The data.
        metric: A name; ``"auto"`` takes PR-AUC (of more than two classes balanced accuracy) where
            a class is rare (:func:`rare_class`) and this can be computed on validation data, and
            else that of the dataset, as ``None`` does.
    """
    task = dataset.task
    if metric is None or metric == task.metric:
        return dataset
    if metric != AUTO:
        found = replace(dataset, task=replace(task, metric=metric))
        named = metric == "pr_auc" and task.kind == "binary"
        meant = f"PR-AUC is that of {_class_of_pr_auc(found)}." if named else ""
        return _noting(found, meant, _by_share(found))
    rare = rare_class(dataset)
    chosen = "pr_auc" if task.kind == "binary" else "balanced_accuracy"
    if rare is None or chosen == task.metric or not _defined(chosen, dataset):
        return dataset
    found = replace(dataset, task=replace(task, metric=chosen))
    kept, by, whose, cut = _by_share(found), METRICS[chosen].threshold_by, "", ""
    if task.kind == "binary":
        whose = f" of {_class_of_pr_auc(found)}"
        cut = f", and answers at the threshold with the best {metric_label(by)} on validation data"
    note = (
        f"only {100 * rare.share:.1f} % of the training labels are {rare.name}, so the model is "
        f"selected by {metric_label(chosen)}{whose}{'' if kept else cut}; choose another with "
        "--metric (in Python metric=), or let rare classes count more with --class-weight balanced "
        "(class_weight=)."
    )
    return _noting(found, note, kept)


def _noting(dataset: Dataset, *notes: str) -> Dataset:
    return replace(dataset, notes=(*dataset.notes, *filter(None, notes)))


def _class_of_pr_auc(dataset: Dataset) -> str:
    """Whose PR-AUC is meant: of two classes that which is rarer in a split."""
    task = dataset.task
    if task.outputs > 1:
        return "the rarer class of every target"
    names, found = dataset.class_names or ("0", "1"), {}
    for split, graphs in dataset.splits.items():
        y = counted_labels(graphs, task)
        if y is not None and y.numel():
            found[split] = str(names[int(float(y.nanmean()) <= 0.5)])
    usual = found["train"]
    unlike = [f"in {split} of {name}" for split, name in found.items() if name != usual]
    return usual + (f" ({', '.join(unlike)}, which is rarer there)" if unlike else "")


def _by_share(dataset: Dataset) -> str:
    """Why answers are yes as often as in training; nothing if thresholds can be chosen."""
    task, y = dataset.task, counted_labels(dataset.val, dataset.task)
    if task.kind != "binary" or y is None:
        return ""
    short = [target for target, column in enumerate(y.T) if too_few(column)]
    if not short:
        return ""
    if task.outputs > 1:
        return (
            f"the validation data have too few labels of a class in {len(short)} of {task.outputs} "
            f"targets to choose a threshold by, which takes {FEWEST_TO_JUDGE}, so the answers "
            "there are yes as often as in the training data."
        )
    yes, share = (dataset.class_names or (0, 1))[1], training_shares(dataset)[0]
    return (
        f"the validation data have only {rarest_count(y[:, 0])} labels of a class and choosing a "
        f"threshold takes {FEWEST_TO_JUDGE}, so it is the one above which {100 * share:.1f} % of "
        f"the validation rows are answered by {yes}, as in the training data."
    )


def too_few(labels: Tensor) -> bool:
    """Whether a threshold cannot be chosen by the labels of one target ``[G]``."""
    return rarest_count(labels) < FEWEST_TO_JUDGE


def training_shares(dataset: Dataset) -> tuple[float, ...]:
    """Of a binary task, how many of the known training labels of every output are yes."""
    y = counted_labels(dataset.train, dataset.task)
    if y is None:
        return (0.0,) * dataset.task.outputs
    return tuple(y.double().nanmean(0).nan_to_num(0.0).tolist())


def rarest_count(labels: Tensor) -> int:
    """How many labels of one target ``[G]`` (0, 1, NaN) are of the rarer class."""
    yes, known = int((labels == 1).sum()), int((~labels.isnan()).sum())
    return min(yes, known - yes)


def chooses_threshold(dataset: Dataset, metric: str | None) -> bool:
    """Whether a decision is made at a threshold of its own and not at one half.

    So it is in binary tasks where a metric was named, or a class is rare.
    """
    if metric is None or dataset.task.kind != "binary":
        return False
    return metric != AUTO or rare_class(dataset) is not None


def best_cuts(
    logits: Tensor, y: Tensor, task: Task, shares: Sequence[float] = ()
) -> tuple[float, ...]:
    """Per output of a binary task the logit above which the answer is yes.

    It is the one with the best metric (``threshold_by`` of the task's); of equally good ones the
    middle. With fewer labels of a class than one can judge by, it is the one above which as large a
    share of the rows lies as is yes in training; without that it is 0, a probability of one half.

    Args:
        logits: ``[G, outputs]``, of validation data.
        y: Labels ``[G, outputs]``, NaN where missing.
        task: The task.
        shares: Shares of yes among the training labels ``[outputs]``.
    """
    score = METRICS[METRICS[task.metric].threshold_by].function
    one = replace(task, outputs=1)
    cuts, given = [], tuple(shares) or (0.0,) * task.outputs
    for values, labels, share in zip(logits.double().T, y.T, given, strict=True):
        if too_few(labels):
            cuts.append(_cut_at(values, share))
            continue
        known = ~labels.isnan()
        values, labels = values[known], labels[known]
        tried = _candidates(values, labels)
        scores = [score((values - cut).unsqueeze(1), labels.unsqueeze(1), one) for cut in tried]
        best = [cut for cut, found in zip(tried, scores, strict=True) if found == max(scores)]
        cuts.append(best[len(best) // 2] if best else 0.0)
    return tuple(cuts)


def _cut_at(values: Tensor, share: float) -> float:
    """What so large a share of values lies above, at least one and not all; 0 if that is none."""
    if len(values) < 2 or not 0 < share < 1:
        return 0.0
    above = min(max(round(share * len(values)), 1), len(values) - 1)
    ordered = values.sort(descending=True).values
    return float(ordered[above - 1 : above + 1].mean())


def _candidates(values: Tensor, labels: Tensor) -> list[float]:
    """Cuts half-way between neighbouring values of different labels, where the best ones lie."""
    found, place = torch.unique(values, return_inverse=True)
    if len(found) < 2 or len(torch.unique(labels)) < 2:
        return []
    yes = torch.zeros(len(found), dtype=torch.double).index_add(0, place, labels.double())
    share = yes / torch.bincount(place)
    turns = ((share[1:] != share[:-1]) | ((share[1:] > 0) & (share[1:] < 1))).nonzero().flatten()
    if len(turns) > MOST_CUTS:
        turns = turns[torch.linspace(0, len(turns) - 1, MOST_CUTS).round().long()]
    cuts: list[float] = ((found[turns] + found[turns + 1]) / 2).tolist()
    return cuts


def check_class_weight(weights: Any) -> ClassWeight | None:
    """Refuse weights that are neither ``"balanced"`` nor positive numbers by class."""
    if weights is None or weights == BALANCED:
        return BALANCED if weights else None
    if not isinstance(weights, Mapping) or not weights:
        raise InputError(
            f"class weights must be {BALANCED!r}, or one number per class by its name; got "
            f"{weights!r}."
        )
    for name, value in weights.items():
        number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
        if not number or not (math.isfinite(value) and value > 0):
            raise InputError(
                f"the weight of class {name} must be a positive number, got {value!r}."
            )
    return {str(name): float(value) for name, value in weights.items()}


def check_sample_weight(weights: Any, count: int, what: str) -> Tensor:
    """Weights of rows as float32 ``[count]``.

    Args:
        weights: Numbers of any kind.
        count: How many there must be.
        what: ``graph`` or ``node``, for messages.
    """
    try:
        found = torch.as_tensor(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must hold numbers: {error}.") from error
    if found.shape != (count,):
        raise InputError(
            f"sample_weight has shape {list(found.shape)}, expected one number for each of "
            f"{count} {what}s."
        )
    wrong = ~(found.isfinite() & (found >= 0))
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0])
        raise InputError(
            f"sample_weight of {what} {place} is {float(found[place])}; expected a finite number, "
            "0 or more."
        )
    if not bool((found > 0).any()):
        raise InputError("all of sample_weight is 0; expected at least one positive number.")
    return found.float()


def with_sample_weight(graphs: PackedGraphs, weights: Any, level: Level) -> PackedGraphs:
    """Graphs with weights of their labels, one per graph or node ``[G]``; as they are for none."""
    if weights is None:
        return graphs
    count = graphs.x.size(0) if level == "node" else len(graphs)
    return replace(graphs, **{_field(level): check_sample_weight(weights, count, level)})


def weighted(dataset: Dataset, class_weight: ClassWeight | None) -> Dataset:
    """The dataset with weights of its training labels: those that it has times those of classes.

    Weights have mean 1 over the labels that count, so that the learning rate means the same.
    """
    task, train = dataset.task, dataset.train
    y = train.labels(task.level)
    weight = getattr(train, _field(task.level))
    if y is None or (weight is None and class_weight is None):
        return dataset
    ones = torch.ones_like(y, dtype=torch.float)
    if weight is not None:
        weight = weight.unsqueeze(1) if weight.dim() < y.dim() else weight
    weight = ones if weight is None else ones * weight
    if class_weight is not None:
        table = class_weights(dataset, class_weight)
        place = y.nan_to_num(0).clamp(min=0).long()
        of_classes = table[0][place] if task.kind == "multiclass" else table.T.gather(0, place)
        weight = weight * of_classes
    known = y != -1 if task.kind == "multiclass" else ~y.isnan()
    if task.level == "node" and train.mask is not None:
        known = known & (train.mask if known.dim() == 1 else train.mask.unsqueeze(1))
    mean = weight[known].double().mean()
    if not bool(mean > 0):
        raise InputError("all labelled training rows have weight 0; expected a positive one.")
    train = replace(train, **{_field(task.level): (weight / mean).float()})
    return replace(dataset, splits={**dataset.splits, "train": train})


def class_weights(dataset: Dataset, class_weight: ClassWeight) -> Tensor:
    """Weight of every class: ``[1, classes]``, or of several targets ``[targets, 2]``.

    Balanced weights are inverse to how often a class occurs in the training split.
    """
    task, y = dataset.task, counted_labels(dataset.train, dataset.task)
    if task.kind == "regression" or y is None:
        raise InputError("class weights are for classes, and this is regression; leave them out.")
    count = task.outputs if task.kind == "multiclass" else 2
    names = [str(name) for name in dataset.class_names or range(count)]
    given = check_class_weight(class_weight)
    columns = _columns(y, task)
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InputError(
                    f"there is a weight for class {name}, which is none of the classes: "
                    f"{', '.join(names)}."
                )
        for name in names:
            if name not in given:
                raise InputError(f"class {name} has no weight; give one for every class.")
        return torch.tensor([[given[name] for name in names]] * len(columns))
    counts = torch.stack(
        [torch.bincount(column[column >= 0].long(), minlength=count) for column in columns]
    ).float()
    # A class without training labels has no weight to learn from; 1 leaves its answers alone.
    balanced = counts.sum(1, keepdim=True) / (
        counts.clamp(min=1) * (counts > 0).sum(1, keepdim=True)
    )
    return torch.where(counts > 0, balanced, 1.0)


def counted_labels(graphs: PackedGraphs, task: Task) -> Tensor | None:
    """Labels of a split that count there: at node level those in its mask."""
    y = graphs.labels(task.level)
    if y is None or task.level == "graph" or graphs.mask is None:
        return y
    return y[graphs.mask]


def _columns(y: Tensor, task: Task) -> list[Tensor]:
    """Labels by target, each ``[G]``; below 0 where missing."""
    return [y] if task.kind == "multiclass" else list(y.nan_to_num(-1).T)


def _defined(metric: str, dataset: Dataset) -> bool:
    """Whether validation labels allow a metric."""
    task, y = dataset.task, counted_labels(dataset.val, dataset.task)
    if y is None:
        return False
    return not math.isnan(METRICS[metric].function(torch.zeros(len(y), task.outputs), y, task))


def _field(level: Level) -> str:
    return "node_label_weight" if level == "node" else "label_weight"
