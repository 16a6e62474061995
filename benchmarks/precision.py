"""Training steps in bf16 beside float32: seconds of a step, and what it does to the scores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean, stdev
from typing import Any, NamedTuple

import torch
from scipy.stats import t as student

from benchmarks.report import Cell, Claim, Report, Table
from benchmarks.timing import Candidate, interleaved
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.graphs.dataset import Dataset
from gsina.metrics import METRICS
from gsina.models.train import score_splits, train_model
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.run import make_method

SEEDS = (0, 1, 2, 3, 4)
FORMATS = ("float32", "bf16")


class Case(NamedTuple):
    """Data, network and number of epochs: fewer graphs and epochs than published."""

    title: str
    name: str
    backbone: str
    data: dict[str, Any]
    epochs: int


CASES = (
    Case("SPMotif, GIN", "spmotif", "gin", {"bias": 0.5, "num_per_class": 500}, 30),
    Case("NCI1, GCN", "nci1", "ogb-gcn", {}, 30),
)


def run(quick: bool) -> Report:
    steps: list[tuple[Cell, ...]] = []
    quality: list[tuple[Cell, ...]] = []
    claims = []
    for case in CASES:
        if not DATASETS[case.name].at_hand():
            continue
        dataset = load_dataset(case.name, **case.data)
        timings = interleaved(
            {one: _step(case, dataset, one) for one in FORMATS},
            2 if quick else 15,
            clock=time.process_time,
        )
        ratio = timings["bf16"].median / timings["float32"].median
        milliseconds = (round(timings[one].median * 1e3, 2) for one in FORMATS)
        steps.append((case.title, *milliseconds, round(ratio, 2)))
        seeds = SEEDS[:2] if quick else SEEDS
        scores = {
            one: [_score(case, dataset, one, seed, quick) for seed in seeds] for one in FORMATS
        }
        for split in ("val", "test"):
            before, after = ([score[split] for score in scores[one]] for one in FORMATS)
            differences = [new - old for old, new in zip(before, after, strict=True)]
            low, high = _interval(differences)
            row = (_spread(before), _spread(after), f"{mean(differences):+.1f}")
            metric = METRICS[dataset.task.metric].label
            shown = (case.title, metric, split, len(seeds), *row)
            quality.append((*shown, f"{low:+.1f} to {high:+.1f}"))
            if split == "val":
                text = f"{case.title}: upper end of the difference of {split} by bf16"
                claims.append(Claim(text, high, 0, at_least=True))
    described = "; ".join(_described(case) for case in CASES)
    return Report(
        [
            Table("a step of GSINA", ("data", "float32 ms", "bf16 ms", "times float32"), steps),
            Table(
                f"scores times 100, the same seeds ({described})",
                ("data", "score", "split", "seeds", *FORMATS, "difference", "95% interval"),
                quality,
            ),
        ],
        claims,
    )


def _described(case: Case) -> str:
    options = ", ".join(f"{name} {value}" for name, value in case.data.items())
    return f"{case.title}: {options + ', ' if options else ''}{case.epochs} epochs"


def _recipe(case: Case, precision: str, epochs: int) -> Recipe:
    settings = {"epochs": epochs, "precision": precision}
    return default_recipe(case.name, case.backbone, "gsina", data=case.data, **settings)


def _step(case: Case, dataset: Dataset, precision: str) -> Candidate:
    recipe = _recipe(case, precision, 1)
    torch.manual_seed(0)
    model = make_method(recipe, dataset).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    batch = dataset.train.batch(torch.arange(min(recipe.optimiser.batch_size, len(dataset.train))))

    def step() -> None:
        with _as(precision):
            model.step(batch, optimiser)

    return step


@contextmanager
def _as(precision: str) -> Iterator[None]:
    """As the training loop does it."""
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        yield


def _score(
    case: Case, dataset: Dataset, precision: str, seed: int, quick: bool
) -> dict[str, float]:
    recipe = _recipe(case, precision, 1 if quick else case.epochs)
    trained = train_model(dataset, recipe.plan(dataset, seed))
    scores, _ = score_splits(trained.model, dataset)
    return {split: 100 * scores[split][dataset.task.metric] for split in ("val", "test")}


def _spread(values: list[float]) -> str:
    return f"{mean(values):.1f} +- {stdev(values):.1f}"


def _interval(differences: list[float]) -> tuple[float, float]:
    """Of the mean of paired differences, by Student's t."""
    count = len(differences)
    half = float(student.ppf(0.975, count - 1)) * stdev(differences) / count**0.5
    return mean(differences) - half, mean(differences) + half
