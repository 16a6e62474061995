"""The runtime table: seconds of a training epoch, as ratios to the plain network's.

All methods take turns batch by batch, in one process and on one thread, so that a busy machine
slows all of them alike. A training epoch is the assembly of every batch and the step on it;
evaluation is not counted, and a warm-up is not either. What the paper prints was measured on
another machine and in an unknown way, so only its ratios are shown.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.errors import InputError, MissingFileError
from gsina.files import save_json
from gsina.graphs.dataset import Dataset
from gsina.methods import METHODS, Method
from gsina.methods.gsina import GSINA
from gsina.paper.studies.padded import use_padded_loop
from gsina.runs.provenance import commit, hardware
from gsina.runs.published import default_recipe
from gsina.runs.run import make_method
from gsina.training import seed_everything
from gsina.training.versions import versions

#: Datasets with their backbone and the name in the paper's table.
DATA = {
    "spmotif-struc": ("ogb-gcn", "SPMotif-Struc", "spmotif"),
    "nci1": ("ogb-gcn", "NCI1", "nci1"),
    "nci109": ("ogb-gcn", "NCI109", "nci109"),
    "proteins": ("ogb-gin", "PROTEINS", "proteins"),
    "dd": ("ogb-gcn", "DD", "dd"),
    **{
        f"drugood-ec50-{domain}": ("ogb-gin", f"DrugOOD {domain} (EC50)", f"drugood-{domain}")
        for domain in ("size", "assay", "scaffold")
    },
}
PLAIN = "ERM"
#: Rows: the method, the options that make it what the row says, and the name in the paper's table.
ROWS: dict[str, tuple[str, dict[str, Any], str]] = {
    PLAIN: ("erm", {}, "erm"),
    "GSAT": ("gsat", {}, "gsat"),
    "GSINA, scope batch": ("gsina", {"scope": "batch"}, "gsina-macro"),
    "GSINA, scope graph": ("gsina", {"scope": "graph"}, "gsina-micro"),
    "CIGAv2": ("cigav2", {}, "ciga"),
    "GSINA, padded loop": ("gsina", {"scope": "graph", "solver": "sinkhorn"}, "gsina-micro"),
}
PADDED = "GSINA, padded loop"
EPOCHS, QUICK_STEPS = 5, 3


@dataclass(frozen=True)
class Measured:
    """Seconds of every measured epoch of one row on one dataset."""

    row: str
    dataset: str
    seconds: list[float]
    ratios: list[float]


def measure(
    datasets: Sequence[str] | None = None,
    *,
    quick: bool = False,
    epochs: int = EPOCHS,
    load: Callable[[str], Dataset] = load_dataset,
    begun: dict[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], object] = lambda content: None,
    tell: Callable[[str], object] = lambda line: None,
) -> dict[str, Any]:
    """Measure all rows; the content of the result file.

    Args:
        datasets: Names out of :data:`DATA`; by default those that are at hand.
        quick: A few batches of one epoch only.
        epochs: Epochs to measure.
        load: Loads a dataset by name.
        begun: What an interrupted measurement kept. Its datasets are not measured again if the
            code, the libraries, the machine and the epochs are the same.
        keep: Called with all that is known when a dataset is done.
        tell: Called with a line about what is taken over, and when a dataset is done.
    """
    names = [name for name in DATA if DATASETS[name].at_hand()] if datasets is None else datasets
    epochs = 1 if quick else epochs
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        content: dict[str, Any] = {
            "benchmark": "runtime",
            "quick": quick,
            "epochs": epochs,
            "versions": versions(),
            "hardware": hardware(),
            "commit": commit(),
        }
        rows = _still_good(begun, content, tell)
        done = {one["dataset"] for one in rows}
        for name in names:
            if name in done:
                continue
            new = _measure_one(name, load(name), epochs, quick)
            rows += [vars(one) for one in new]
            keep(content | {"rows": rows})
            tell(", ".join(f"{one.row} {one.seconds[0]:.2f} s" for one in new) + f" on {name}")
    finally:
        torch.set_num_threads(threads)
    return content | {"rows": rows, "finished": datetime.now(UTC).isoformat(timespec="seconds")}


def _still_good(
    begun: dict[str, Any] | None, now: dict[str, Any], tell: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Rows of an interrupted measurement that may be continued."""
    if begun is None:
        return []
    known = bool(now["commit"]) and not now["commit"].endswith("+")
    if not known or any(begun.get(key) != value for key, value in now.items()):
        tell(
            "an interrupted measurement was made with other or unknown code, libraries or "
            "hardware, so everything is measured again."
        )
        return []
    rows: list[dict[str, Any]] = list(begun["rows"])
    names = dict.fromkeys(one["dataset"] for one in rows)
    tell(f"an interrupted measurement is continued; it has {', '.join(names)}.")
    return rows


def _measure_one(name: str, dataset: Dataset, epochs: int, quick: bool) -> list[Measured]:
    backbone, _, _ = DATA[name]
    methods = {
        row: _method(row, name, backbone, dataset)
        for row, (method, _, _) in ROWS.items()
        if method in METHODS
    }
    optimisers = {
        row: torch.optim.Adam(method.parameters(), lr=1e-3, fused=True)
        for row, method in methods.items()
    }
    size = default_recipe(name, backbone, "erm").optimiser.batch_size
    shuffle = torch.Generator().manual_seed(0)

    def epoch(number: int, steps: int | None) -> dict[str, float]:
        order = torch.randperm(len(dataset.train), generator=shuffle)
        batches = torch.split(order, size)[:steps]
        seconds = dict.fromkeys(methods, 0.0)
        rows = deque(methods.items())
        for ids in batches:
            rows.rotate()  # none is always the first, which finds the batch in no cache
            for row, method in rows:
                begin = time.perf_counter()
                method.step(dataset.train.batch(ids), optimisers[row], number)
                seconds[row] += time.perf_counter() - begin
        scale = math.ceil(len(dataset.train) / size) / len(batches)
        return {row: value * scale for row, value in seconds.items()}

    epoch(0, QUICK_STEPS)  # warm up
    times = [epoch(number, QUICK_STEPS if quick else None) for number in range(epochs)]
    return [
        Measured(
            row,
            name,
            [round(one[row], 4) for one in times],
            [round(one[row] / one[PLAIN], 4) for one in times],
        )
        for row in methods
    ]


def _method(row: str, name: str, backbone: str, dataset: Dataset) -> Method:
    """A fresh model of a row, with the benchmark's settings."""
    method, options, _ = ROWS[row]
    recipe = default_recipe(name, backbone, method, options=options)
    seed_everything(0)
    made = make_method(recipe, dataset)
    if row == PADDED:
        assert isinstance(made, GSINA)
        made = use_padded_loop(made)
    return made.train()


def runtime_file(results: Path) -> Path:
    """Where the measurement is kept: ``bench/runtime.json`` in the folder of results."""
    return results / "bench" / "runtime.json"


def begun_file(results: Path) -> Path:
    """Where a measurement is kept until it is complete and replaces an older one."""
    return runtime_file(results).with_suffix(".begun.json")


def save_runtime(results: Path, content: dict[str, Any]) -> Path:
    """Write a complete measurement, and remove the partial one."""
    path = runtime_file(results)
    save_json(path, content)
    begun_file(results).unlink(missing_ok=True)
    return path


def read_runtime(results: Path) -> dict[str, Any]:
    """Read a measurement.

    Raises:
        MissingFileError: Nothing has been measured.
        InputError: The file is not one of a measurement.
    """
    path = runtime_file(results)
    try:
        return _read(path)
    except FileNotFoundError:
        raise MissingFileError(f"there is no {path}; measure with: gsina bench runtime.") from None


def begun_runtime(results: Path) -> dict[str, Any] | None:
    """An interrupted measurement, to continue; ``None`` if there is none."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return _read(begun_file(results))
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is broken ({error}); measure again.") from error
    if not isinstance(content, dict) or not content.get("rows"):
        raise InputError(f"{path} is broken (it has no rows); measure again.")
    return content
