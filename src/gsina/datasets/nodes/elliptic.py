"""Elliptic: bitcoin transactions in 49 steps of time; which of them are illicit?

Weber et al., "Anti-Money Laundering in Bitcoin", 2019; as a benchmark of shifts in EERM (Wu et al.
2022). One graph per step, payments flow along its edges. Most transactions have no label: they pass
messages but count neither in the loss nor in the score.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.nodes.whole_graphs import induced, node_archive, pack, stamp
from gsina.datasets.raw.number_files import read_table
from gsina.datasets.raw.sources import OnProgress, RawFile
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task

VERSION = 1
#: A mirror of the files, one archive each; the original is on Kaggle and asks for an account.
URL = "https://data.pyg.org/datasets/elliptic"
PARTS = ("features", "edgelist", "classes")
NAMES = {part: f"elliptic_txs_{part}.csv" for part in PARTS}
FILES = {part: RawFile(f"elliptic/{name}") for part, name in NAMES.items()}
ARCHIVES = {p: RawFile(f"elliptic/{n}.zip", f"{URL}/{n}.zip") for p, n in NAMES.items()}
#: Transactions, payments, licit and illicit transactions of the whole files.
COUNTS = (203_769, 234_355, 42_019, 4_545)
FEATURES = 165
LABELS = {"2": 0.0, "1": 1.0, "unknown": float("nan")}
#: Steps from 0 to 48 by split; those before 6 are not used. The tests are groups of steps.
STEPS = {"train": range(6, 11), "val": range(11, 16), "test-1": range(16, 17)} | {
    f"test-{number}": range(4 * number + 9, 4 * number + 13) for number in range(2, 10)
}


def load(*, progress: OnProgress | None = None) -> Dataset:
    """Load Elliptic: steps 6 to 10 (counted from 0) for training, 11 to 15 for validation.

    Returns:
        ``train``, ``val`` and ``test-1`` to ``test-9``, one graph per step: ``test-1`` is step 16,
        ``test-2`` steps 17 to 20, and so on in fours; ``x`` float ``[N, 165]``, ``node_y`` float
        ``[N, 1]``, 1 for illicit, NaN and out of the ``mask`` where not known.
    """
    for part, file in FILES.items():
        node_archive(ARCHIVES[part], {NAMES[part]: file}, progress)
    return cached(f"elliptic-v{VERSION}-{stamp(list(FILES.values()))}", _prepare)


def _prepare() -> Dataset:
    paths = {part: file.target for part, file in FILES.items()}
    table = read_table(paths["features"].read_bytes(), str(paths["features"]), np.float64)
    if table.shape[1] != FEATURES + 2:
        raise InputError(
            f"{paths['features']} has {table.shape[1]} columns, expected {FEATURES + 2}: id, step "
            f"and {FEATURES} features; delete it and fetch it again."
        )
    ids, step = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64) - 1
    order = ids.argsort(kind="stable")
    y = _labels(paths["classes"], ids, order)
    payments = _rows_of(_pairs(paths["edgelist"]), ids, order, paths["edgelist"])
    counts = (len(ids), len(payments), int((y == 0).sum()), int((y == 1).sum()))
    if counts != COUNTS:
        raise InputError(
            f"the files in {paths['features'].parent} are truncated or altered: they have "
            f"{counts[0]} transactions, {counts[1]} payments, {counts[2]} licit and {counts[3]} "
            f"illicit ones; expected {COUNTS}: delete them and fetch them again from {URL}."
        )
    inside = payments[step[payments[:, 0]] == step[payments[:, 1]]]
    edges = np.unique(inside, axis=0)
    notes = [
        f"left out {count} payments {why}"
        for count, why in (
            (len(payments) - len(inside), "between two steps"),
            (len(inside) - len(edges), "that are there twice"),
        )
        if count
    ]
    labels = torch.from_numpy(y).float()[:, None]
    known = ~labels[:, 0].isnan()
    graphs = [induced(table[:, 2:], edges, labels, step == number, known) for number in range(49)]
    splits = {name: pack([graphs[i] for i in steps], list(steps)) for name, steps in STEPS.items()}
    return Dataset("elliptic", Task("binary", 1, "f1", "node"), splits, tuple(notes))


def _labels(path: Path, ids: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Labels ``[N]`` in the order of ``ids``, NaN where not known."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for line, row in enumerate(rows, start=2):
        if len(row) != 2 or not row[0].isdigit() or row[1] not in LABELS:
            raise InputError(
                f"{path} has {','.join(row)!r} in line {line}; expected an id and 1, 2 or unknown: "
                f"delete it and fetch it again."
            )
    named = np.array([[int(row[0])] for row in rows], dtype=np.int64).reshape(-1, 1)
    place = _rows_of(named, ids, order, path)[:, 0]
    if not len(place) == len(np.unique(place)) == len(ids):
        raise InputError(
            f"{path} has {len(place)} labels of {len(np.unique(place))} transactions, expected one "
            f"for each of {len(ids)}; it is truncated or altered: delete it and fetch it again."
        )
    y = np.empty(len(ids))
    y[place] = [LABELS[row[1]] for row in rows]
    return y


def _pairs(path: Path) -> NDArray[np.int64]:
    pairs = read_table(path.read_bytes().partition(b"\n")[2], str(path))
    if pairs.shape[1] != 2:
        raise InputError(f"{path} has {pairs.shape[1]} columns, expected two: fetch it again.")
    return pairs


def _rows_of(
    named: NDArray[np.int64], ids: NDArray[np.int64], order: NDArray[np.int64], path: Path
) -> NDArray[np.int64]:
    """Row of every transaction that a file with a header names; same shape as ``named``."""
    place: NDArray[np.int64] = order[
        np.searchsorted(ids, named, sorter=order).clip(max=len(ids) - 1)
    ]
    if (wrong := ids[place] != named).any():
        line, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{path} names transaction {named[line, column]} in line {line + 2}, which has no "
            f"features; the files do not belong together: delete them and fetch them again."
        )
    return place
