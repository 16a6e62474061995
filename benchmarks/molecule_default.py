"""Which parts the default for molecules is made of: chosen on training and validation rows alone.

Of BACE, BBBP and ClinTox only those rows are taken that are test rows of neither split of
`gsina bench own`. They are divided into five folds by scaffold and five at random; every candidate
learns from the training rows of a fold and answers for its held-out rows. The network is trained
once per fold and its answers are used again.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.held_out import Answers, Floats, kept, tables_of
from benchmarks.report import Cell, Report, Table
from gsina.files import data_dir
from gsina.formats import read_molecules
from gsina.graphs.dataset import Dataset
from gsina.models.train import train_model
from gsina.molecules.descriptors import describe, describe_smiles
from gsina.molecules.quick import quick_values
from gsina.paper.tables.own import SOURCES, Source
from gsina.runs.defaults import file_recipe

FOLDS = 5
#: Trees of a forest; the baseline has 500.
TREES = 200
#: Molecules whose features are timed.
TIMED = 200
#: Descriptors that are computed in C++, too, but take five times as long as all quick ones: paths
#: of bonds, and Crippen's contributions of atoms.
SLOWER = (
    *(f"CalcChi{order}{kind}" for kind in "vn" for order in (2, 3, 4)),
    *("CalcKappa2", "CalcKappa3", "CalcCrippenDescriptors", "SlogP_VSA_", "SMR_VSA_"),
)
#: Where answers are kept.
FOLDER = "molecule-default"


class Part(NamedTuple):
    """Something that answers: a kind of trees, and the features it reads."""

    grow: str
    features: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.grow} on {' and '.join(self.features)}"


class Held(NamedTuple):
    """One fold: where it is from, the labels and the answers of every part."""

    source: str
    rule: str
    fold: int
    labels: dict[str, Floats]
    answers: dict[str, Answers]


def _parts() -> list[Part]:
    by_kind = {
        ("rdkit",): ("boosting",),
        ("wide",): ("boosting",),
        ("quick",): ("boosting", "extra trees"),
        ("bits",): ("forest",),
        ("counts",): ("forest", "extra trees"),
        ("quick", "counts"): ("boosting", "extra trees"),
    }
    return [Part(grow, features) for features, kinds in by_kind.items() for grow in kinds]


def run(quick: bool) -> Report:
    held: list[Held] = []
    spent: dict[tuple[str, str], float] = {}
    ready = []
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            if source.chosen_on:
                path = Path(folder) / f"{source.title}.csv"
                names, table = _write_allowed(source, path), {}
                for kind in FEATURES:
                    table[kind], spent[kind, source.title] = _described(kind, names)
                ready.append((source, path, table))
        for fold in range(1 if quick else FOLDS):
            for source, path, table in ready:
                for rule in (source.shifted, "random"):
                    data = _read(source, path, rule, fold)
                    held.append(_answered(source, rule, fold, data, table, quick))
    return report(held, spent)


def report(held: Sequence[Held], spent: dict[tuple[str, str], float]) -> Report:
    """The scores of all candidates, by fold and on average, and what features cost."""
    scores = {name: [_score(one, answer) for one in held] for name, answer in _candidates().items()}
    costs: list[tuple[Cell, ...]] = [
        (
            kind,
            *(
                round(spent[kind, source], 3)
                for source in dict.fromkeys(one.source for one in held)
            ),
        )
        for kind in FEATURES
    ]
    sources = tuple(dict.fromkeys(one.source for one in held))
    candidates, every = tables_of(scores, held, CHOSEN, "fold")
    spent_on = Table("CPU ms per molecule", ("features", *sources), costs)
    return Report([candidates, spent_on, every])


#: What was chosen.
CHOSEN = "1/4 network, boosting on quick, forest on counts"


def _candidates() -> dict[str, Callable[[Held], Floats]]:
    """What every candidate says of the held-out rows of a fold."""
    parts = [str(part) for part in _parts()]
    found: dict[str, Callable[[Held], Floats]] = {
        name: partial(_mean, 0.0, (name,)) for name in parts
    }
    found["network"] = partial(_mean, 1.0, ())
    for beside in [(one,) for one in parts] + list(combinations(parts, 2)):
        named = ", ".join(beside)
        if len(beside) > 1:
            found[named] = partial(_mean, 0.0, beside)
        for share in ("1/2", "1/3", "1/4"):
            found[f"{share} network, {named}"] = partial(_mean, float(Fraction(share)), beside)
    for shrink in (0.0, 0.5):
        told = f"chosen on validation rows, drawn {shrink:.0%} towards 1/4" if shrink else "chosen"
        found[f"share {told}, boosting on quick, forest on counts"] = partial(_chosen, shrink)
    return found


def _mean(share: float, beside: Sequence[str], one: Held, split: str = "test") -> Floats:
    trees = sum(one.answers[name][split] for name in beside) / max(len(beside), 1)
    return np.asarray(share * one.answers["network"][split] + (1 - share) * trees)


def _chosen(shrink: float, one: Held) -> Floats:
    """The share of the network that is best on validation rows, drawn towards a quarter."""
    beside = "boosting on quick", "forest on counts"
    tried = np.linspace(0, 1, 11)
    best = [_auc(one.labels["val"], _mean(share, beside, one, "val")) for share in tried]
    share = (1 - shrink) * tried[int(np.nanargmax(best))] + shrink / 4
    return _mean(share, beside, one)


def _score(one: Held, answer: Callable[[Held], Floats]) -> float:
    return 100 * _auc(one.labels["test"], answer(one))


def _auc(labels: Floats, logits: Floats) -> float:
    """Mean over the targets that have both classes."""
    from sklearn.metrics import roc_auc_score

    found = []
    for y, logit in zip(labels.T, logits.T, strict=True):
        known = np.isfinite(y)
        if len(set(y[known])) > 1:
            found.append(float(roc_auc_score(y[known], logit[known])))
    return mean(found) if found else float("nan")


def _write_allowed(source: Source, path: Path) -> list[str]:
    """Write the rows that are test rows of neither split, and give their SMILES.

    Molecules that RDKit does not read are left out, so that rows are numbered as they are here.
    """
    file = data_dir() / source.file.removeprefix("data:")
    columns: dict[str, Any] = {"smiles": "smiles", "targets": list(source.targets)}
    allowed: set[int] | None = None
    for rule in (source.shifted, "random"):
        rows = read_molecules(file, split=rule, **columns).origin.rows
        mine = {*rows["train"], *rows["val"]}
        allowed = mine if allowed is None else allowed & mine
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        found = [row for number, row in enumerate(csv.DictReader(text), 2) if number in allowed]
    with path.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, ["smiles", *source.targets], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(found)
    return [row["smiles"].strip() for row in found]


def _read(source: Source, path: Path, rule: str, fold: int) -> Dataset:
    columns: dict[str, Any] = {"smiles": "smiles", "targets": list(source.targets)}
    return read_molecules(path, split=rule, fold=(fold, FOLDS), **columns)


def _counts(molecule: Any) -> Any:
    return _generator().GetCountFingerprintAsNumPy(molecule)


def _generator() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def _wide(molecule: Any) -> list[float]:
    from rdkit.Chem import rdMolDescriptors

    more = [np.ravel(getattr(rdMolDescriptors, name)(molecule)) for name in SLOWER]
    return [*quick_values(molecule), *np.concatenate(more)]


#: Features of one molecule by the names of their kinds.
FEATURES: dict[str, Callable[[Any], Any]] = {
    "rdkit": lambda molecule: describe([molecule], ["rdkit"])[0][0],
    "quick": quick_values,
    "wide": _wide,
    "bits": lambda molecule: _generator().GetFingerprintAsNumPy(molecule),
    "counts": _counts,
}


def _described(kind: str, smiles: list[str]) -> tuple[Floats, float]:
    """Features of every molecule ``[M, F]``, and CPU milliseconds per molecule, of the first."""
    from rdkit import rdBase
    from rdkit.Chem import MolFromSmiles

    make = FEATURES[kind]
    with rdBase.BlockLogs():
        molecules = [MolFromSmiles(text) for text in smiles]
        began = process_time()
        for molecule in molecules[:TIMED]:
            make(molecule)
        spent = 1e3 * (process_time() - began) / len(molecules[:TIMED])
        if kind == "rdkit":  # minutes, but for the cache
            return describe_smiles(smiles, ["rdkit"], cached=True)[0].astype(np.float64), spent
        rows = np.array([make(molecule) for molecule in molecules], np.float32)
    rows[~np.isfinite(rows)] = np.nan
    return rows.astype(np.float64), spent


def _answered(
    source: Source,
    rule: str,
    fold: int,
    data: Dataset,
    table: dict[str, Floats],
    quick: bool,
) -> Held:
    rows = {split: np.array(numbers) - 2 for split, numbers in data.origin.rows.items()}
    labels = {split: graphs.y.double().numpy() for split, graphs in data.splits.items()}
    name = f"{source.title}-{rule}-{fold}{'-quick' if quick else ''}"
    answers = {}
    for part in _parts():

        def grow(part: Part = part) -> Answers:
            x = np.concatenate([table[kind] for kind in part.features], axis=1)
            return _grown(part.grow, x, rows, labels, fold, quick)

        answers[str(part)] = kept(FOLDER, f"{name}-{part}", grow)
    answers["network"] = kept(FOLDER, f"{name}-network", lambda: _network(data, fold, quick))
    return Held(source.title, rule, fold, labels, answers)


def _network(data: Dataset, seed: int, quick: bool) -> Answers:
    """What a network that is trained as `gsina train` does says."""
    settings = {"epochs": 1} if quick else {}
    columns = {"smiles": "smiles", "targets": list(data.target_names)}
    recipe = file_recipe("molecules", ("x.csv",), columns, metric="roc_auc", **settings)
    data = recipe.judge(data)
    model = train_model(data, recipe.plan(data, seed)).model
    return {split: model.predict(one).logits.numpy() for split, one in data.splits.items()}


def _grown(
    kind: str,
    x: Floats,
    rows: dict[str, NDArray[np.int64]],
    labels: dict[str, Floats],
    seed: int,
    quick: bool,
) -> Answers:
    """What trees that are grown on the training rows say, one model per target."""
    grown = {split: np.empty_like(values) for split, values in labels.items()}
    for column in range(labels["train"].shape[1]):
        y = labels["train"][:, column]
        known = np.isfinite(y)
        logits = _grow(kind, x[rows["train"]][known], y[known], seed, quick)
        for split, places in rows.items():
            grown[split][:, column] = logits(x[places])
    return grown


def _grow(kind: str, x: Floats, y: Floats, seed: int, quick: bool) -> Callable[[Floats], Floats]:
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )

    if kind == "boosting":
        boosted = HistGradientBoostingClassifier(
            random_state=seed, early_stopping=False, max_iter=5 if quick else 100
        ).fit(x, y)
        return boosted.decision_function
    make = RandomForestClassifier if kind == "forest" else ExtraTreesClassifier
    fill = np.where(np.isnan(x).all(0), 0.0, np.nanmean(x, axis=0))
    trees = 10 if quick else TREES
    grown = make(trees, random_state=seed, n_jobs=1).fit(_filled(x, fill), y)

    def logits(rows: Floats) -> Floats:
        share = (trees * grown.predict_proba(_filled(rows, fill))[:, 1] + 0.5) / (trees + 1)
        return np.log(share / (1 - share))

    return logits


def _filled(x: Floats, fill: Floats) -> Floats:
    return np.where(np.isnan(x), fill, x)
