"""One run: a recipe and a seed in, a trained model and a result out."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gsina.datasets.catalog import load_dataset
from gsina.errors import InputError
from gsina.files import save_json, save_tensors
from gsina.graphs.dataset import Dataset
from gsina.methods import Method, build_method, make_config
from gsina.nn.predictor import NetworkSpec
from gsina.ops.compiled import kernels
from gsina.runs.recipe import Recipe
from gsina.training import Settings, evaluate, fit, make_selection, seed_everything
from gsina.training.distributed import Ranks, leave
from gsina.training.evaluate import evaluation_size
from gsina.training.loop import OnBatch, OnEpoch, Progress
from gsina.training.versions import versions


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
    ranks: Ranks | None = None,
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
        ranks: The processes that train together; only the first of them evaluates and writes, and
            the others get an empty result.
        on_batch: Called after every batch.
        on_epoch: Called after every epoch.
    """
    dataset = load_dataset(recipe.data.name, **recipe.data.options) if dataset is None else dataset
    for name, graphs in dataset.splits.items():
        if len(graphs) == 0:  # before hours of training
            raise InputError(f"the {name} split of {dataset.name} has no graphs; give it some.")
    session = provenance()
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
        session=session,
        ranks=ranks,
        on_batch=on_batch,
        on_epoch=on_epoch,
    )
    if ranks is not None:
        leave()
        if not ranks.first:
            return Run(method, dataset, {})
    size = evaluation_size(method, recipe.optimiser.batch_size)
    scores = {
        split: evaluate(method, graphs, dataset.task, size)
        for split, graphs in dataset.splits.items()
    }
    result = describe(recipe, seed, progress, scores, dataset, session)
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
    session: dict[str, Any],
) -> dict[str, Any]:
    """The content of a result file."""
    sessions = progress.sessions or [session]
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
        "method_settings": asdict(make_config(recipe.method.name, recipe.method.options)),
        # Of the last session that trained; a resumed run may have several.
        **sessions[-1],
        "sessions": sessions,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def provenance() -> dict[str, Any]:
    """What a run is made with: commit, versions and hardware."""
    return {"commit": commit(), "versions": versions(), "hardware": hardware()}


def hardware() -> dict[str, Any]:
    """What the run was made on."""
    return {
        "machine": platform.machine(),
        "cpu": _cpu(),
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "kernels": kernels() is not None,  # of small groups on the CPU; else it is torch
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str:
    """The commit of the package's source, with ``+`` if it has changes; empty if it has none."""
    package = Path(__file__).parents[1]
    try:
        _git(package, "ls-files", "--error-unmatch", str(Path(__file__)))
        dirty = _git(package, "status", "--porcelain", "--", str(package))
        return _git(package, "rev-parse", "HEAD") + ("+" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return ""  # not a checkout, or installed inside somebody else's


def _git(folder: Path, *arguments: str) -> str:
    call = ["git", *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def short_commit(commit: str) -> str:
    """The first ten digits; the ``+`` of changed source stays."""
    return commit[:10] + "+" * commit.endswith("+")
