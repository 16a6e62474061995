"""How long runs will take: from those that are done, or from a few measured steps."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gsina.files import save_json
from gsina.graphs.dataset import Dataset
from gsina.paper.clock import work_clock
from gsina.paper.grid.results import Results
from gsina.runs.job import Job
from gsina.runs.provenance import commit, hardware
from gsina.runs.recipe import Recipe
from gsina.runs.run import make_method
from gsina.runs.trained import model_folder
from gsina.training import seed_everything
from gsina.training.versions import versions

#: Steps that are measured, after one that is not.
STEPS = 5


def seconds_by_kind(results: Results) -> dict[str, float]:
    """Median time of finished work by name: of trainings, and of explaining a trained model.

    A training goes by its recipe and by its kind; so does an explanation, with the whole name of
    its explainer, which also goes alone: for data without any.
    """
    times: dict[str, list[float]] = {}
    trained: set[str] = set()
    for path in sorted(results.folder.glob("*.json")):
        try:
            result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            recipe = result["recipe"]
            data = recipe["data"]
            named = _named(data.get("name") or data["title"], data.get("options", {}))
            kind = " ".join([named, *(recipe[part]["name"] for part in ("backbone", "method"))])
            exact, _, run = path.stem.rpartition("-seed")
            training, explaining = _training_seconds(result), _explaining_seconds(result)
        except (ValueError, KeyError, TypeError):
            continue  # the caller reports a broken file, whose job is run again
        seed, _, explainer = run.partition("-")
        names = {kind, exact}
        if explaining is not None:
            for name in (f"{kind} {explainer}", f"{exact} {explainer}", explainer):
                times.setdefault(name, []).append(explaining)
        if training is not None and f"{exact} {seed}" not in trained:
            trained.add(f"{exact} {seed}")  # all explainers of a model tell of one training
            for name in names:
                times.setdefault(name, []).append(training)
    return {name: statistics.median(values) for name, values in times.items()}


class Times:
    """How long runs take, as far as that is known from results."""

    def __init__(self, results: Results) -> None:
        self.known, self.measured = seconds_by_kind(results), epoch_times(results)

    def of(self, job: Job) -> float | None:
        """Seconds of a job in one process, alone; ``None`` if nothing is known of its kind."""
        return self.together([job])[0]

    def together(self, jobs: Sequence[Job]) -> list[float | None]:
        """Seconds of jobs one after the other: a model is trained once for all its explainers.

        Of an explainer that was never run, only the training counts: a lower bound.
        """
        seen: set[str] = set()
        found = []
        for job in jobs:
            own = training = self._training(job)
            if job.explainer is not None:
                own = self._explaining(job)
                if own is None and training is not None:
                    own = 0.0
                model = model_folder(job.recipe, job.seed)
                if own is not None and model.name not in seen:
                    seen.add(model.name)
                    first = 0.0 if model.is_dir() else training
                    own = None if first is None else own + first
            found.append(own)
        return found

    def _training(self, job: Job) -> float | None:
        """A kind of run that has only been measured counts with all its epochs."""
        kind = kind_name(job.recipe)
        for name in (_exact(job), kind):
            if name in self.known:
                return self.known[name]
        if kind in self.measured:
            return self.measured[kind] * job.recipe.optimiser.epochs
        return None

    def _explaining(self, job: Job) -> float | None:
        assert job.explainer is not None
        whole, first = job.explainer, job.explainer.partition(",")[0]
        names = [
            f"{name} {explainer}"
            for explainer in (whole, first)
            for name in (_exact(job), kind_name(job.recipe))
        ]
        return next((self.known[name] for name in [*names, whole] if name in self.known), None)


def estimate(jobs: Sequence[Job], results: Results) -> tuple[float, list[Job]]:
    """Seconds that the jobs will take in one process, and the jobs of which nothing is known."""
    seconds = Times(results).together(jobs)
    unknown = [job for job, known in zip(jobs, seconds, strict=True) if known is None]
    return sum(known for known in seconds if known is not None), unknown


def seconds_taken(result: dict[str, Any]) -> float | None:
    """How long a finished run took; ``None`` if its result does not say."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        explaining = _explaining_seconds(result)
        return _training_seconds(result) if explaining is None else explaining
    return None


def _training_seconds(result: dict[str, Any]) -> float | None:
    if "epochs" not in result:
        return None
    return float(result["epochs"] * result["seconds_per_epoch"])


def _explaining_seconds(result: dict[str, Any]) -> float | None:
    """Without the training of the model; ``None`` of a run that explains nothing."""
    if "seconds_explaining" not in result:
        return None
    return float(result["seconds_explaining"]) + float(result.get("seconds_measuring", 0.0))


def _exact(job: Job) -> str:
    """The recipe, as files of results are named."""
    return replace(job, explainer=None).name.rpartition("-seed")[0]


def kind_name(recipe: Recipe) -> str:
    """Dataset, backbone and method, as in ``mnist-75sp pna gsina``."""
    named = _named(recipe.data.name, getattr(recipe.data, "options", {}))
    return f"{named} {recipe.backbone.name} {recipe.method.name}"


def _named(data: str, options: dict[str, Any]) -> str:
    """The name of the data; a sample of them is another kind."""
    return f"{data} ({options['limit']})" if options.get("limit") else data


def epochs_file(results: Results) -> Path:
    """Where measured times are kept: ``bench/epochs.json`` in the folder of results."""
    return results.root / "bench" / "epochs.json"


def epoch_times(results: Results) -> dict[str, float]:
    """Measured seconds of an epoch by kind of run; nothing where none were measured."""
    try:
        content = json.loads(epochs_file(results).read_text(encoding="utf-8"))
        return {kind: float(one["seconds"]) for kind, one in content["epochs"].items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def about(seconds: float) -> str:
    """A measured time as text, with no more digits than it is worth."""
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}"


def measure_epoch(recipe: Recipe, dataset: Dataset, steps: int = STEPS) -> dict[str, Any]:
    """Seconds of an epoch, training and validation, extrapolated from a few steps of each.

    Args:
        recipe: What to train.
        dataset: Its dataset.
        steps: Batches to measure; the median counts.
    """
    seed_everything(0)
    size = recipe.optimiser.batch_size
    method = make_method(recipe, dataset).train()
    optimiser = torch.optim.Adam(method.parameters(), lr=recipe.optimiser.learning_rate, fused=True)
    training = []
    shuffle = torch.Generator().manual_seed(0)
    for batch in itertools.islice(dataset.train.batches(size, shuffle), steps + 1):
        start = work_clock()
        method.step(batch, optimiser, 0)
        training.append(work_clock() - start)
    method.eval()
    validation = []
    with torch.no_grad():
        for batch in itertools.islice(dataset.val.batches(size), steps + 1):
            start = work_clock()
            method(batch)
            validation.append(work_clock() - start)
    seconds = _whole(training, len(dataset.train), size) + _whole(
        validation, len(dataset.val), size
    )
    return {"seconds": round(seconds, 2), "steps": len(training) - 1, "batch_size": size}


def _whole(times: list[float], graphs: int, size: int) -> float:
    """Seconds of all batches; the first one, which warms up, counts only if it is alone."""
    return statistics.median(times[1:] or times) * math.ceil(graphs / size)


def save_epochs(results: Results, found: dict[str, dict[str, Any]]) -> Path:
    """Add measured times to the file of them, with the machine they were measured on."""
    path = epochs_file(results)
    try:
        old = json.loads(path.read_text(encoding="utf-8"))["epochs"]
    except (FileNotFoundError, ValueError, KeyError):
        old = {}
    about = {
        "hardware": hardware(),
        "torch": versions()["torch"],
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    new = {kind: {**one, **about} for kind, one in found.items()}
    save_json(path, {"epochs": dict(sorted({**old, **new}.items()))})
    return path
