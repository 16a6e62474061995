"""The forest on fingerprints: it learns, leaves out missing labels, and heeds weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("rdkit")

import tiny
from gsina.formats import read_molecules
from gsina.graphs.dataset import Dataset
from gsina.metrics import accuracy, r2, roc_auc
from gsina.models import forest
from gsina.models.forest import forest_logits, has_molecules

RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccsc1")
TAILS = ("O", "N", "CC", "CO", "Cl", "F", "CCO", "CN")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 60)
    monkeypatch.setattr(forest, "STEP", 20)


def molecules(folder: Path, **options: object) -> Dataset:
    """Eighty molecules: whether there is an oxygen, which of three, a number, one label missing."""
    lines = ["smiles,oxygen,halogen,kind,size"]
    for number, head in enumerate(("", "C")):
        for ring in RINGS:
            for tail in TAILS:
                text = head + ring + tail
                halogen = (
                    int("F" in tail or "Cl" in tail) if (number, ring) != (0, RINGS[0]) else ""
                )
                kind = "acid" if "O" in tail else "base" if "N" in tail else "other"
                lines.append(f"{text},{int('O' in text)},{halogen},{kind},{len(tail) + 0.5}")
    path = folder / "molecules.csv"
    path.write_text("\n".join(lines))
    return read_molecules(path, smiles="smiles", split="random", **options)  # type: ignore[arg-type]


def test_classes_with_missing_labels(tmp_path: Path) -> None:
    data = molecules(tmp_path, targets=["oxygen", "halogen"])
    assert has_molecules(data)
    heard = []
    found = forest_logits(data, on_trees=lambda done, of: heard.append((done, of)))
    assert found.keys() == data.splits.keys()
    assert data.test.y is not None
    assert found["test"].shape == data.test.y.shape
    assert roc_auc(found["val"], data.val.y, data.task) > 0.95
    assert bool(found["train"].isfinite().all())
    assert heard[0] == (0, 120)
    assert heard[-1] == (120, 120)
    assert torch.equal(found["val"], forest_logits(data)["val"])


def test_several_classes_and_numbers(tmp_path: Path) -> None:
    data = molecules(tmp_path, targets=["kind"])
    logits = forest_logits(data)["val"]
    assert logits.shape == (len(data.val), 3)
    assert accuracy(logits, data.val.y, data.task) > 0.8
    numbers = molecules(tmp_path, targets=["size"], kind="regression")
    assert r2(forest_logits(numbers)["val"], numbers.val.y, numbers.task) > 0.5


def test_weights_of_classes_move_the_answers(tmp_path: Path) -> None:
    data = molecules(tmp_path, targets=["oxygen"])
    y = data.train.y
    assert y is not None
    noisy = y.clone()
    noisy[::2] = 1 - noisy[::2]  # nothing to learn, so shares follow the weights
    data = replace(data, splits={**data.splits, "train": replace(data.train, y=noisy)})
    plain, heavy = (
        forest_logits(data, class_weight=weight)["val"].mean()
        for weight in (None, {"0": 1, "1": 50})
    )
    assert heavy > plain


def test_graphs_are_no_molecules() -> None:
    assert not has_molecules(tiny.dataset(4))
