"""DrugOOD: features, its file format, and the real EC50 files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from gsina.datasets import drugood
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.datasets.raw import compressed_files
from gsina.datasets.raw.sources import at_hand
from gsina.molecules.drugood import ATOM_FEATURES, BOND_FEATURES, ELEMENTS, pack_drugs

pytest.importorskip("rdkit")


def hot(row: torch.Tensor) -> list[int]:
    return row.nonzero()[:, 0].tolist()


def test_atom_features() -> None:
    """Alanine's chiral carbon, a charged nitrogen, an aromatic carbon, an element of the rest."""
    graphs = pack_drugs(["C[C@H](N)C(=O)O", "C[N+](C)(C)C", "c1ccccc1", "C[Na]"], jobs=1).graphs
    assert graphs.x.shape[1] == ATOM_FEATURES == 39
    centre = graphs.batch([0]).x[1]
    # carbon, 3 neighbours, sp3, one implicit... none: its hydrogen is written, chiral, S or R
    assert hot(centre)[:2] == [ELEMENTS.index("C"), 16 + 3]
    assert float(centre[24 + 2]) == 1
    assert float(centre[36]) == 1
    assert float(centre[37] + centre[38]) == 1
    methyl = graphs.batch([0]).x[0]
    assert hot(methyl) == [1, 16 + 1, 24 + 2, 31 + 3]
    nitrogen = graphs.batch([1]).x[1]
    assert float(nitrogen[22]) == 1  # charge
    assert float(nitrogen[16 + 4]) == 1
    aromatic = graphs.batch([2]).x[0]
    assert hot(aromatic) == [1, 16 + 2, 24 + 1, 30, 31 + 1]
    assert float(graphs.batch([3]).x[1, 15]) == 1  # other element


def test_mirror_images_differ_in_the_cip_code_only() -> None:
    graphs = pack_drugs(["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"], jobs=1).graphs
    left, right = graphs.batch([0]).x, graphs.batch([1]).x
    assert (left != right).any(0).nonzero()[:, 0].tolist() == [37, 38]


def test_bond_features() -> None:
    graphs = pack_drugs(["F/C=C/F", "c1ccccc1", "C#N"], jobs=1).graphs
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.shape[1] == BOND_FEATURES == 10
    double = graphs.batch([0])
    assert double.edge_attr is not None
    assert double.edge_index[:, 2:4].tolist() == [[1, 2], [2, 1]]  # both ways, one after the other
    assert hot(double.edge_attr[2]) == hot(double.edge_attr[3]) == [1, 9]  # E
    assert hot(graphs.batch([1]).edge_attr[0]) == [3, 4, 5, 6]  # type: ignore[index]
    assert hot(graphs.batch([2]).edge_attr[0]) == [2, 6]  # type: ignore[index]


def test_what_the_benchmark_leaves_out() -> None:
    packed = pack_drugs(["CC", "[Na+]", "nonsense", "S(F)(F)(F)(F)(F)F", "[Na+].[Cl-].CC"], jobs=1)
    assert packed.kept == [0, 4]  # isolated ions beside a bond stay
    assert [failure.row for failure in packed.failures] == [1, 2, 3]
    assert packed.failures[0].reason == "it has no bond"
    assert "more than 5 neighbours" in packed.failures[2].reason


def row(smiles: str, label: int, domain: int) -> dict[str, Any]:
    return {"smiles": smiles, "cls_label": label, "domain_id": domain, "reg_label": 5.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "drugood").mkdir()
    return tmp_path / "drugood"


def content() -> dict[str, Any]:
    return {
        "cfg": {},
        "split": {
            "train": [row("CCO", 1, 7), row("CCC", 0, 7), row("c1ccccc1", 1, 3)],
            "ood_val": [row("CCN", 0, 1), row("not a molecule", 1, 1)],
            "ood_test": [row("CC", 1, 0)],
            "iid_val": [row("CCCC", 0, 7)],
            "iid_test": [row("CCCCC", 1, 3), row("C=C", 0, 3)],
        },
    }


@pytest.mark.parametrize("packed", [True, False])
def test_load(folder: Path, packed: bool) -> None:
    assert not DATASETS["drugood-ic50-size"].at_hand()
    text = json.dumps(content()).encode()
    if packed:
        (folder / "lbap_core_ic50_size.json.gz").write_bytes(gzip.compress(text))
    else:
        (folder / "lbap_core_ic50_size.json").write_bytes(text)
    assert DATASETS["drugood-ic50-size"].at_hand()
    dataset = load_dataset("drugood-ic50-size")
    sizes = {split: len(part) for split, part in dataset.splits.items()}
    assert sizes == {"train": 3, "val": 1, "test": 1, "id_val": 1, "id_test": 2}
    assert dataset.train.y is not None
    assert dataset.train.y.tolist() == [1, 0, 1]
    assert dataset.train.environment is not None
    assert dataset.train.environment.tolist() == [7, 7, 3]
    assert dataset.task.metric == "roc_auc"
    assert dataset.notes[0] == "measured is IC50"
    assert "1 of 2 molecules of ood_val could not be read" in dataset.notes[1]
    oracle = load_dataset("drugood-ic50-size", iid=True)
    assert {split: len(part) for split, part in oracle.splits.items()} == {
        "train": 3,
        "val": 1,
        "test": 2,
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-5],
        lambda text: b"[]",
        lambda text: text.replace(b"ood_test", b"ood_tset"),
        lambda text: text.replace(b'"cls_label": 1', b'"cls_label": 2'),
        lambda text: text.replace(b'"smiles"', b'"smile"'),
        lambda text: gzip.compress(text)[:-9],
    ],
)
def test_broken_files(folder: Path, change: Any) -> None:
    path = folder / "lbap_core_ec50_assay.json"
    path.write_bytes(change(json.dumps(content()).encode()))
    with pytest.raises(ValueError, match=r"ec50_assay\.json is not a complete DrugOOD file"):
        load_dataset("drugood-ec50-assay")


def test_a_small_file_that_would_become_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed_files, "LARGEST", 1 << 10)
    text = json.dumps(content()).encode() + b" " * (1 << 20)
    (folder / "lbap_core_ec50_assay.json").write_bytes(gzip.compress(text))
    with pytest.raises(ValueError, match=r"DrugOOD file .*when it is unpacked"):
        load_dataset("drugood-ec50-assay")
    (folder / "lbap_core_ec50_assay.json").write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match=r"DrugOOD file .*nested too deeply"):
        load_dataset("drugood-ec50-assay")


@pytest.mark.usefixtures("folder")
def test_missing_file() -> None:
    with pytest.raises(FileNotFoundError, match=r"lbap_core_ec50_size\.json is missing"):
        load_dataset("drugood-ec50-size")


@pytest.mark.data
@pytest.mark.parametrize(("measure", "domain"), drugood.SIZES)
def test_real_rows(measure: str, domain: str) -> None:
    file = drugood.raw(measure, domain)
    if not at_hand(file):
        pytest.skip(f"{file.path} is not there")
    rows = drugood.read_rows(file.target)
    sizes = tuple(len(rows[key]) for key in ("train", "ood_val", "ood_test"))
    assert sizes == drugood.SIZES[measure, domain]
    packed = pack_drugs([one["smiles"] for one in rows["ood_test"][:200]], jobs=1)
    assert not packed.failures
