"""People's own molecules: seconds until the first training step, and predictions per second."""

from __future__ import annotations

import gzip
import os
import tempfile
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks.report import Claim, Report, Table
from benchmarks.timing import interleaved
from gsina.files import data_dir
from gsina.formats import read_molecules, stream_molecules
from gsina.graphs.dataset import Dataset
from gsina.listeners import Listener
from gsina.models.train import train_model
from gsina.runs.defaults import file_recipe

FILE = "ogb/ogbg_molhiv/mapping/mol.csv.gz"


class _FirstStep(Exception):
    """Enough was seen."""


class _AfterOne(Listener):
    """Ends a training after its first step."""

    def on_batch(self, done: int, of: int) -> None:
        """Raise."""
        raise _FirstStep


def run(quick: bool) -> Report:
    rows = 1_000 if quick else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "molecules.csv"
        with gzip.open(data_dir() / FILE, "rt") as source:
            path.write_text("".join(islice(source, rows + 1)))
        first, data = _start(path, Path(folder) / "cache")
        again, _ = _start(path, Path(folder) / "cache")
        parse = _seconds(
            lambda: sum(len(piece.graphs) for piece in stream_molecules(path, "smiles"))
        )
        model = _train(path, data, epochs=1)
    graphs = data.train
    model_time = interleaved({"model": lambda: model.predict(graphs)}, 5, warmup=1, at_least=3)
    speed = len(graphs) / model_time["model"].median
    table = Table(
        f"{rows:,} molecules of ogbg-molhiv",
        ("what", "value"),
        [
            ("s to the first training step, nothing cached, two processes parse", round(first, 1)),
            ("s to the first training step, parsed before", round(again, 1)),
            ("molecules per second parsed for prediction", round(rows / parse)),
            ("molecules per second predicted with attention, one thread", round(speed)),
        ],
    )
    claims = [
        Claim("molecules per second, model with attention", speed, 2000, at_least=True),
        Claim(f"s to the first training step, {rows:,} molecules", first, 15),
    ]
    return Report([table], claims)


def _seconds(call: Any) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began


def _start(path: Path, cache: Path) -> tuple[float, Dataset]:
    """Seconds to read, split and take one step."""
    before = os.environ.get("GSINA_CACHE")
    os.environ["GSINA_CACHE"] = str(cache)
    began = perf_counter()
    try:
        data = read_molecules(path, smiles="smiles", targets=["Label"])
        _train(path, data, epochs=1, stop=True)
        return perf_counter() - began, data
    finally:
        if before is None:
            del os.environ["GSINA_CACHE"]
        else:
            os.environ["GSINA_CACHE"] = before


def _train(path: Path, data: Dataset, epochs: int, stop: bool = False) -> Any:
    columns = {"smiles": "smiles", "targets": ["Label"]}
    recipe = file_recipe("molecules", (path,), columns, epochs=epochs)
    torch.manual_seed(0)

    try:
        plan = recipe.plan(data, 0)
        return train_model(data, plan, listeners=[_AfterOne()] if stop else []).model
    except _FirstStep:
        return None
