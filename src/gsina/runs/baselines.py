"""Baselines beside a run: ERM with the same network and budget, and for molecules a forest.

Both learn from the rows that the run learns from. What is finished is kept in the folder of the
run: the checkpoint of ERM in ``baselines/erm``, the answers of the forest in ``baselines``. Of a
model of a network and trees, every part alone is a baseline, too, and ERM is a network alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.files import load_tensors, save_tensors
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.listeners import Listener
from gsina.methods.trees import WithTrees
from gsina.models.comparison import LABELS, Contender, compare
from gsina.models.forest import MOST_LABELS, forest_logits, has_molecules
from gsina.models.imbalance import best_cuts, chooses_threshold, training_shares
from gsina.models.model import Model
from gsina.models.train import train_model
from gsina.runs.names import BASELINES
from gsina.runs.recipe import MethodPart, Recipe

#: What the parts beside a network are called as baselines; ``forest`` is the usual one.
PARTS = {"trees": "trees", "forest": "counts"}


class _Baseline(Listener):
    """Passes on what is heard of a baseline, under its name."""

    def __init__(self, name: str, listeners: Sequence[Listener]) -> None:
        self.name, self.listeners = f"baseline {LABELS[name]}", listeners

    def on_trial(self, name: str, done: int, best: float | None = None) -> None:
        for listener in self.listeners:
            listener.on_trial(f"{self.name}, {name}" if name else self.name, done, best)

    def on_batch(self, done: int, of: int) -> None:
        for listener in self.listeners:
            listener.on_batch(done, of)

    def on_epoch(self, record: dict[str, Any]) -> None:
        for listener in self.listeners:
            listener.on_epoch(record)

    def on_part(self, name: str, done: int, of: int) -> None:
        for listener in self.listeners:
            listener.on_part(self.name, done, of)


def compare_with_baselines(
    recipe: Recipe,
    seed: int,
    model: Model,
    dataset: Dataset,
    *,
    out: Path | None = None,
    resume: bool = False,
    device: str | torch.device = "cpu",
    listeners: Sequence[Listener] = (),
) -> dict[str, Any]:
    """Train the baselines of a run, or read those that are finished, and compare.

    Args:
        recipe: What the run trained; ERM needs no ERM beside it.
        seed: Its seed, also of the baselines.
        model: Its model.
        dataset: Its data.
        out: Its folder; ``None`` keeps nothing.
        resume: Whether what is in the folder counts.
        device: Where ERM is trained.
        listeners: Notified of the progress.

    Returns:
        As :func:`~gsina.models.comparison.compare`; empty if there is nothing to compare with. A
        forest that would take too long is ``left_out``, a sentence.
    """
    folder = None if out is None else out / BASELINES
    rivals, left_out = _parts(recipe, model, dataset), ""
    if recipe.method.name != "erm":
        seen = without_graph_features(dataset) if recipe.trees else dataset
        trained = train_model(
            seen,
            erm_recipe(recipe).plan(seen, seed),
            out=None if folder is None else folder / "erm",
            resume=resume,
            device=device,
            listeners=[_Baseline("erm", listeners)],
        )
        rivals.append(Contender.of(trained.model, seen))
    if has_molecules(dataset):
        labels = 0 if dataset.train.y is None else dataset.train.y.numel()
        if labels > MOST_LABELS:
            left_out = (
                f"no random forest was trained: {labels:,} training labels are more than the "
                f"{MOST_LABELS:,} that it takes a reasonable time for."
            )
        else:
            rivals.append(_forest(recipe, seed, dataset, folder, resume, listeners))
    found = compare(model, rivals, dataset)
    return found | ({"left_out": left_out} if left_out else {})


def without_graph_features(dataset: Dataset) -> Dataset:
    """The dataset as a network alone sees it."""
    splits = {name: replace(one, graph_attr=None) for name, one in dataset.splits.items()}
    return replace(dataset, splits=splits)


def _parts(recipe: Recipe, model: Model, dataset: Dataset) -> list[Contender]:
    """The network, trees and forest of a model, each alone; nothing for a model without trees."""
    if not isinstance(model.method, WithTrees):
        return []
    network = model.network_alone()
    answers: dict[str, Callable[[PackedGraphs], Tensor]] = {
        "network": lambda graphs: network.predict(graphs).logits
    }
    for name in model.method.parts:
        answers[PARTS[name]] = partial(model.trees, part=name)
    found = []
    for name, answer in answers.items():
        logits = {split: answer(graphs) for split, graphs in dataset.splits.items()}
        found.append(Contender(name, logits, _cut(recipe, dataset, logits["val"])))
    return found


def _cut(recipe: Recipe, dataset: Dataset, logits: Tensor) -> tuple[float, ...]:
    """The logits above which yes-or-no outputs say yes, chosen as those of the model."""
    y = dataset.val.y
    if y is None or not chooses_threshold(dataset, recipe.selection.metric):
        return ()
    return best_cuts(logits, y, dataset.task, training_shares(dataset))


def erm_recipe(recipe: Recipe) -> Recipe:
    """The plain network of a recipe: ERM with its data, budget and selection."""
    return recipe.model_copy(
        update={
            "method": MethodPart(name="erm"),
            "optimiser": recipe.optimiser.model_copy(update={"resample": None}),
            "auto_ratio": False,
            "trees": False,
        }
    )


def _forest(
    recipe: Recipe,
    seed: int,
    dataset: Dataset,
    folder: Path | None,
    resume: bool,
    listeners: Sequence[Listener],
) -> Contender:
    kept = None if folder is None else folder / "forest.safetensors"
    logits = _read(kept, dataset) if kept is not None and resume else None
    if logits is None:
        heard = _Baseline("forest", listeners)
        logits = forest_logits(
            dataset,
            class_weight=recipe.optimiser.class_weight,
            seed=seed,
            on_trees=lambda done, of: heard.on_part("", done, of),
        )
        if kept is not None:
            save_tensors(kept, logits, {})
    return Contender("forest", logits, _cut(recipe, dataset, logits["val"]))


def _read(path: Path, dataset: Dataset) -> dict[str, Tensor] | None:
    """Kept answers; ``None`` if there are none, or not for these data."""
    try:
        tensors = load_tensors(path)[0]
    except (OSError, InputError):
        return None
    sizes = {split: len(graphs) for split, graphs in dataset.splits.items()}
    return tensors if {split: len(rows) for split, rows in tensors.items()} == sizes else None
