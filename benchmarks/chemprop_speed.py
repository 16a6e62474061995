"""Against chemprop 2: training per epoch and prediction per molecule on BACE, one thread each.

chemprop lives in an environment of its own, whose interpreter ``CHEMPROP_PYTHON`` names::

    python -m venv peer && peer/bin/pip install chemprop -c constraints.txt
    CHEMPROP_PYTHON=peer/bin/python python -m benchmarks chemprop_speed

Both train with their defaults for a user's file on the same four fifths of BACE, drawn at random,
and validate on a tenth after every epoch, which counts; ROC-AUC of the last tenth says how good
both are then. Predictions are timed from SMILES on molecules of molhiv, which neither has seen. CPU
seconds, as other processes do not count in them.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import subprocess
import tempfile
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from sklearn.metrics import roc_auc_score

from benchmarks.report import Cell, Claim, Report, Table
from gsina.files import data_dir
from gsina.formats import read_molecules
from gsina.listeners import OnEpoch
from gsina.models.train import train_model
from gsina.runs.defaults import file_recipe

FILE, TARGET = "ogb/ogbg_molbace/mapping/mol.csv.gz", "Class"
NEW = "ogb/ogbg_molhiv/mapping/mol.csv.gz"
EPOCHS, PREDICTED = 10, 3000


def run(quick: bool) -> Report:
    epochs, count = (2, 300) if quick else (EPOCHS, PREDICTED)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "bace.csv", Path(folder) / "new.csv"
        table, new = _bace(), _new(count)
        for path, rows in zip(files, (table, new), strict=True):
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        test = [row for row in table if row["part"] == "test"]
        ours = _ours(files[0], test, new, epochs)
        theirs = _theirs(*files, epochs)
    truth = [int(row[TARGET]) for row in test]
    lines: list[tuple[Cell, ...]] = [
        (
            name,
            f"{found['parameters']:,}",
            round(median(found["epochs"]), 2),
            round(1e3 * found["prediction"] / len(new), 3),
            round(100 * float(roc_auc_score(truth, found["answers"])), 1),
        )
        for name, found in (("gsina", ours), (f"chemprop {theirs['version']}", theirs))
    ]
    columns = ("what", "parameters", "CPU s per epoch", "CPU ms per prediction", "ROC-AUC")
    faster = median(theirs["epochs"]) / median(ours["epochs"])
    quicker = theirs["prediction"] / ours["prediction"]
    title = f"BACE at random, {epochs} epochs, the first not counted; {len(new):,} predictions"
    return Report(
        [Table(title, columns, lines)],
        [
            Claim("times as fast as chemprop per epoch", faster, 2, at_least=True),
            Claim("times as fast as chemprop per prediction", quicker, 3, at_least=True),
        ],
    )


def _bace() -> list[dict[str, str]]:
    """BACE in random order, with a column that says what trains."""
    with gzip.open(data_dir() / FILE, "rt", newline="") as source:
        table = list(csv.DictReader(source))
    random.Random(0).shuffle(table)
    for place, row in enumerate(table):
        row["part"] = ("val", "test")[place % 2] if place < len(table) // 5 else "train"
    return table


def _new(count: int) -> list[dict[str, str]]:
    """Molecules to predict that RDKit can read; chemprop's command would stop at others."""
    from rdkit.Chem import MolFromSmiles

    with gzip.open(data_dir() / NEW, "rt", newline="") as source:
        rows = (row for row in csv.DictReader(source) if MolFromSmiles(row["smiles"]) is not None)
        return [{"smiles": row["smiles"], TARGET: "0"} for row in islice(rows, count)]


def _ours(
    file: Path, test: list[dict[str, str]], new: list[dict[str, str]], epochs: int
) -> dict[str, Any]:
    """The defaults of ``gsina train``."""
    columns: dict[str, Any] = {"smiles": "smiles", "targets": [TARGET]}
    columns |= {"split": "own", "split_column": "part"}
    data = read_molecules(file, **columns)
    recipe = file_recipe("molecules", (file,), columns, epochs=epochs, patience=epochs)
    times: list[float] = []
    heard = OnEpoch(lambda record: times.append(process_time()))
    model = train_model(data, recipe.plan(data, 0), listeners=[heard]).model

    def predicted(rows: list[dict[str, str]]) -> list[float]:
        logits = model.predict([row["smiles"] for row in rows]).logits
        found: list[float] = model.probabilities(logits)[:, 0].tolist()
        return found

    answers = predicted(test)
    start = process_time()
    predicted(new)
    return {
        "parameters": sum(one.numel() for one in model.method.parameters()),
        "epochs": [after - before for before, after in pairwise(times)],
        "prediction": process_time() - start,
        "answers": answers,
    }


def _theirs(file: Path, new: Path, epochs: int) -> dict[str, Any]:
    python = os.environ.get("CHEMPROP_PYTHON")
    if not python:
        raise SystemExit("set CHEMPROP_PYTHON to the interpreter that has chemprop; see the module")
    script = Path(__file__).with_name("chemprop_peer.py")
    # -P: beside the script there are modules with names of the standard library.
    command = [python, "-P", str(script), str(file), str(new), TARGET, str(epochs)]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean | {"OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        raise SystemExit(f"chemprop failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["epochs"] = found["epochs"][1:]
    return found
