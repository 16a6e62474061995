"""Own molecules against a random forest on fingerprints: the same file, split, rows and run."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Claim, Report, Table
from gsina.files import data_dir
from gsina.formats import read_molecules
from gsina.graphs.dataset import Dataset
from gsina.models.train import score_splits, train_model
from gsina.runs.defaults import file_recipe
from gsina.runs.recipe import Recipe

SEEDS = (0, 1, 2)
COLUMNS: dict[str, Any] = {"smiles": "smiles", "targets": ["p_np"]}
FILE = "ogb/ogbg_molbbbp/mapping/mol.csv.gz"


def run(quick: bool) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bbbp.csv"
        path.write_bytes(gzip.decompress((data_dir() / FILE).read_bytes()))
        data = read_molecules(path, **COLUMNS)
        settings = {"epochs": 1} if quick else {}
        recipe = file_recipe("molecules", (path,), COLUMNS, **settings)
    forest = [_forest(data, seed, 20 if quick else 500) for seed in SEEDS]
    ours = [_ours(recipe, data, seed) for seed in (SEEDS[:1] if quick else SEEDS)]
    rows = [
        ("GSINA, defaults of gsina train", len(ours), *_cells(ours)),
        ("random forest, 500 trees, Morgan fingerprints of radius 2", len(forest), *_cells(forest)),
    ]
    columns = ("BBBP, scaffold split", "seeds", "validation", "id_test", "OOD test")
    gap = mean(one["test"] for one in ours) - mean(one["test"] for one in forest)
    claim = Claim("BBBP: ROC-AUC of GSINA minus the forest's", gap, 0, at_least=True)
    return Report([Table("ROC-AUC, mean and standard deviation", columns, rows)], [claim])


def _cells(scores: list[dict[str, float]]) -> list[str]:
    return [_text([one[split] for one in scores]) for split in ("val", "id_test", "test")]


def _text(values: list[float]) -> str:
    spread = f" +- {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}"


def _ours(recipe: Recipe, data: Dataset, seed: int) -> dict[str, float]:
    """One run with the defaults; the epoch is selected on validation data."""
    trained = train_model(data, recipe.plan(data, seed))
    scores, _ = score_splits(trained.model, data)
    return {split: scores[split]["roc_auc"] for split in ("val", "id_test", "test")}


def _forest(data: Dataset, seed: int, trees: int) -> dict[str, float]:
    """The forest has nothing to select, so it trains on the training rows alone, as ours does."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    features = {split: _fingerprints(names) for split, names in data.origin.names.items()}
    truth = {
        split: graphs.y.numpy().ravel()
        for split, graphs in data.splits.items()
        if graphs.y is not None
    }
    forest = RandomForestClassifier(trees, random_state=seed, n_jobs=1)
    forest.fit(features["train"], truth["train"])
    return {
        split: float(roc_auc_score(truth[split], forest.predict_proba(features[split])[:, 1]))
        for split in ("val", "id_test", "test")
    }


def _fingerprints(smiles: tuple[str, ...]) -> NDArray[np.uint8]:
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    rows = [make.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles]
    return np.stack(rows).astype(np.uint8)
