from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from gsina.molecules import packing as molecules
from gsina.molecules.features import featurise
from gsina.molecules.packing import pack_smiles

pytest.importorskip("rdkit")

SMILES = ["CCO", "", "c1ccccc1", "[NH4+]", "CN(C)(C)C", "N[C@@H](C)C(=O)O", "F/C=C/F"]


def test_packs_what_featurize_makes() -> None:
    graphs, kept, failures = pack_smiles(SMILES)
    assert kept.tolist() == [0, 2, 3, 5, 6]
    assert [(row, smiles) for row, smiles, _ in failures] == [(1, ""), (4, "CN(C)(C)C")]
    assert "no atoms" in failures[0].reason
    assert "valence" in failures[1].reason
    assert graphs.y is None
    assert len(graphs) == 5
    for number, row in enumerate(kept.tolist()):
        expected, found = featurise(SMILES[row]), graphs.batch([number])
        assert found.edge_attr is not None
        for ours, theirs in zip(
            expected, (found.x, found.edge_index, found.edge_attr), strict=True
        ):
            assert theirs.dtype == torch.long
            assert np.array_equal(ours, theirs.numpy())


def test_opposite_edges_are_neighbours() -> None:
    graphs = pack_smiles(["c1ccccc1", "[Na+]", "CCO"]).graphs
    assert graphs.reverse is not None
    assert graphs.batch([1, 0, 2]).reverse.tolist() == [i ^ 1 for i in range(16)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_pieces_and_processes_change_nothing(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    whole = pack_smiles(SMILES)
    monkeypatch.setattr(molecules, "CHUNK", 2)
    seen: list[tuple[int, int | None]] = []
    parts = pack_smiles(SMILES, jobs=jobs, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert parts.failures == whole.failures
    assert torch.equal(parts.kept, whole.kept)
    for name, value in whole.graphs.tensors().items():
        assert torch.equal(parts.graphs.tensors()[name], value)


@pytest.mark.parametrize("smiles", [[], ["", "?"]])
def test_nothing_to_pack(smiles: list[str]) -> None:
    graphs, kept, failures = pack_smiles(smiles)
    assert len(graphs) == len(kept) == 0
    assert len(failures) == len(smiles)
    assert graphs.x.shape == (0, 9)
    assert graphs.edge_index.shape == (2, 0)


def test_a_number_of_jobs_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        pack_smiles(SMILES, jobs=0)


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"pip install gsina\[mol\]"):
        pack_smiles(["C"])
