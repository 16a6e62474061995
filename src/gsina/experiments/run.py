"""One run: a recipe and a seed in, a trained model and a result out."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from gsina.data.catalog import load_dataset
from gsina.data.dataset import Dataset
from gsina.data.files import save_json, save_tensors
from gsina.experiments.recipe import Recipe
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, evaluate, fit, make_selection, seed_everything
from gsina.training.loop import OnBatch, OnEpoch, Progress

PACKAGES = ("gsina", "torch", "torch-geometric", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Run:
    """A finished run: the model with the selected weights, and the result as in its file."""

    method: Method
    dataset: Dataset
    result: dict[str, Any]


def run(
    recipe: Recipe,
    seed: int = 0,
    *,
    out: Path | None = None,
    resume: bool = False,
    dataset: Dataset | None = None,
    on_start: Callable[[Dataset], None] | None = None,
    on_batch: OnBatch | None = None,
    on_epoch: OnEpoch | None = None,
) -> Run:
    """Train a recipe under a seed and evaluate the selected weights on every split.

    Args:
        recipe: What to run.
        seed: Seeds initialisation, shuffling, dropout and noise. The data have a seed of their own.
        out: Folder for the checkpoint, the log, ``model.safetensors`` and ``result.json``.
        resume: Go on from the checkpoint in ``out``.
        dataset: The recipe's dataset, if it is loaded already.
        on_start: Called with the dataset before training.
        on_batch: Called after every batch.
        on_epoch: Called after every epoch.
    """
    dataset = load_dataset(recipe.data.name, **recipe.data.options) if dataset is None else dataset
    if on_start is not None:
        on_start(dataset)
    seed_everything(seed)
    method = make_method(recipe, dataset)
    progress = fit(
        method,
        dataset,
        Settings(**recipe.optimiser.model_dump()),
        make_selection(
            recipe.selection.rule, recipe.selection.patience, recipe.selection.first_epoch
        ),
        seed=seed,
        out=out,
        resume=resume,
        on_batch=on_batch,
        on_epoch=on_epoch,
    )
    scores = {
        split: evaluate(method, graphs, dataset.task) for split, graphs in dataset.splits.items()
    }
    result = describe(recipe, seed, progress, scores, dataset)
    if out is not None:
        save_tensors(out / "model.safetensors", method.state_dict(), {"recipe": result["recipe"]})
        save_json(out / "result.json", result)
    return Run(method, dataset, result)


def make_method(recipe: Recipe, dataset: Dataset) -> Method:
    """A fresh model of the recipe for the dataset's features."""
    spec = NetworkSpec(
        recipe.backbone.name,
        dataset.node_sizes or dataset.train.num_features,
        dataset.edge_sizes or dataset.train.num_edge_features,
        recipe.backbone.options,
    )
    return build_method(recipe.method.name, spec, dataset.task, recipe.method.options)


def describe(
    recipe: Recipe,
    seed: int,
    progress: Progress,
    scores: dict[str, dict[str, float]],
    dataset: Dataset,
) -> dict[str, Any]:
    """The content of a result file."""
    seconds = sorted(record["seconds"] for record in progress.history)
    return {
        "recipe": recipe.model_dump(),
        "seed": seed,
        "metrics": scores,
        "metric": dataset.task.metric,
        "selection": recipe.selection.rule,
        "best_epoch": progress.best_epoch,
        "epochs": progress.epoch,
        "seconds_per_epoch": seconds[len(seconds) // 2] if seconds else None,
        "notes": list(dataset.notes),
        "versions": versions(),
        "hardware": hardware(),
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def hardware() -> dict[str, Any]:
    """What the run was made on."""
    return {
        "machine": platform.machine(),
        "cpu": _cpu(),
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str:
    """The commit of the source tree, with ``+`` if it has changes; empty outside a checkout."""
    folder = Path(__file__).parent
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
        dirty = subprocess.run(
            ["git", "status", "--porcelain", "--", str(folder)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if dirty else "")
