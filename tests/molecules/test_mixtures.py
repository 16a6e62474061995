"""Several molecules per row."""

from __future__ import annotations

import pytest
import torch

from gsina.molecules.features import ATOM_FEATURE_SIZES, featurise
from gsina.molecules.mixtures import (
    atom_sizes,
    mix,
    pack_mixtures,
    prepare_mixtures,
    row_name,
)
from gsina.molecules.packing import pack_smiles

pytest.importorskip("rdkit")

COLUMNS = {
    "solute": ["CCO", "broken", "c1ccccc1", "C", "CC"],
    "solvent": ["O", "O", "", "CCl", "O"],
}


def test_a_row_is_the_graph_of_its_smiles_with_a_dot() -> None:
    """Atoms and bonds are those of ``solute.solvent``, so that explanations can be drawn."""
    graphs, kept, reasons = pack_mixtures(COLUMNS)
    assert kept == [0, 3, 4]
    assert set(reasons) == {1, 2}
    assert reasons[1].startswith("solute: ")
    assert reasons[2] == "solvent: the cell of the SMILES is empty"
    for place, row in enumerate(kept):
        name = row_name([cells[row] for cells in COLUMNS.values()])
        whole, batch = featurise(name), graphs.batch([place])
        assert batch.x[:, :-1].tolist() == whole.x.tolist()
        assert batch.edge_index.tolist() == whole.edge_index.tolist()
        assert batch.edge_attr is not None
        assert batch.edge_attr.tolist() == whole.edge_attr.tolist()
    assert graphs.batch([0]).x[:, -1].tolist() == [0, 0, 0, 1]
    assert graphs.batch([1]).x[:, -1].tolist() == [0, 1, 1]


def test_prepared_rows_are_those_of_the_stream() -> None:
    graphs, kept, reasons = pack_mixtures(COLUMNS)
    found = prepare_mixtures(COLUMNS)
    assert (found.kept, found.reasons) == (kept, reasons)
    assert found.canonical == ["CCO.O", "C.CCl", "CC.O"]
    assert len(found.scaffolds) == 3
    for name, value in graphs.tensors().items():
        assert torch.equal(value, getattr(found.graphs, name)), name


def test_one_column_is_as_before() -> None:
    alone = pack_smiles(["CCO", "C"]).graphs
    assert mix([alone]) is alone
    assert atom_sizes(1) == ATOM_FEATURE_SIZES
    assert atom_sizes(3) == (*ATOM_FEATURE_SIZES, 3)
    assert row_name([" CCO ethanol "]) == "CCO ethanol"
    assert row_name(["CCO ethanol", "O "]) == "CCO.O"


def test_no_rows() -> None:
    graphs, kept, reasons = pack_mixtures({"a": ["x"], "b": ["C"]})
    assert (len(graphs), kept, list(reasons)) == (0, [], [0])
