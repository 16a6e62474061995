"""One post-hoc run: train a plain network, explain its predictions on the test split, score."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.explainers.frozen import OnProgress
from gsina.explainers.registry import (
    EXPLAINERS,
    Explainer,
    explain_split,
    make_explainer,
    sample_graphs,
)
from gsina.graphs.dataset import Dataset
from gsina.listeners import Listener
from gsina.methods.erm import ERM
from gsina.runs.provenance import provenance
from gsina.runs.recipe import Recipe
from gsina.runs.trained import trained
from gsina.training import predict, score

#: The metrics that an explanation adds to those of the model.
ADDED = ("explanation_auc", "explanation_auc_per_graph", "precision_at_5")


def run_posthoc(
    recipe: Recipe,
    seed: int,
    explainer: str | Explainer,
    limit: int | None = None,
    *,
    folder: Path | None = None,
    dataset: Dataset | None = None,
    listeners: Sequence[Listener] = (),
    progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Explain the test graphs of a recipe's ERM model.

    Args:
        recipe: A recipe of the method ``erm``.
        seed: Seeds the training of the model, the sample of graphs and the explainer.
        explainer: Name of the explainer, or an explainer with settings of its own.
        limit: Explain a random sample of that many test graphs; ``None`` for all of them.
        folder: Folder of the trained model. One that is there is used, otherwise it is trained
            and put there, so that several explainers can share it. Without a folder it is trained
            and not kept.
        dataset: The recipe's dataset, if it is loaded already.
        listeners: Notified of the model's training.
        progress: Called with the steps of the explainer done and in all.

    Returns:
        The content of a result file: that of the model, with the explanation metrics among its
        ``test`` metrics and, beside them, ``explainer`` (its name), ``explainer_settings``,
        ``graphs_explained``, ``graphs_in_split``, ``seconds_explaining``, and ``model`` (when and
        from which commit the explained model was trained).

    Raises:
        InputError: The recipe is not of ERM, the data have no true explanations, or the folder
            holds another model.
    """
    if recipe.method.name != "erm":
        raise InputError(
            f"recipe field method.name: post-hoc explainers explain a model of the method erm, "
            f"got {recipe.method.name!r}."
        )
    how = make_explainer(explainer)
    dataset = recipe.data.load() if dataset is None else dataset
    if dataset.test.edge_truth is None:
        raise InputError(
            f"dataset {dataset.name} has no true explanations of edges to score against; use one "
            "that has, such as spmotif."
        )
    chosen = sample_graphs(dataset.test, limit, seed)
    model = trained(recipe, seed, folder, dataset, listeners)
    method = model.method
    assert isinstance(method, ERM)
    begin = time.perf_counter()
    edge = explain_split(method, chosen, how, train=dataset.train, seed=seed, progress=progress)
    seconds = time.perf_counter() - begin
    scores = score(replace(predict(method, chosen), edge=edge), chosen, dataset.task)
    old = model.result
    test = {**old["metrics"]["test"], **{name: scores[name] for name in ADDED}}
    return {
        **old,
        "metrics": {**old["metrics"], "test": test},
        "explainer": _name(how),
        "explainer_settings": asdict(how),  # type: ignore[call-overload]
        "graphs_explained": len(chosen),
        "graphs_in_split": len(dataset.test),
        "seconds_explaining": round(seconds, 3),
        "model": {name: old[name] for name in ("commit", "finished")},
        **provenance(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _name(explainer: Explainer) -> str:
    names = [name for name, kind in EXPLAINERS.items() if isinstance(explainer, kind)]
    return names[0] if names else type(explainer).__name__
