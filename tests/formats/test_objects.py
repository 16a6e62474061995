"""SMILES, molecules and PyG objects as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch as PygBatch

import tiny
from gsina.formats.molecule_tables import packer_of
from gsina.formats.objects import read_objects
from gsina.graphs.packed import PackedGraphs
from gsina.molecules.descriptors import describe_smiles
from gsina.molecules.features import ATOM_FEATURE_SIZES

Chem = pytest.importorskip("rdkit.Chem")
SMILES = ["CCO", " c1ccccc1 ", "C/C=C/[C@H](F)Cl", "[Na+].[Cl-]"]


def same(one: PackedGraphs, other: PackedGraphs) -> bool:
    first, second = one.tensors(), other.tensors()
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def test_molecules_are_read_as_their_smiles() -> None:
    expected = read_objects(SMILES)
    assert same(expected.graphs, packer_of("ogb")([text.strip() for text in SMILES]).graphs)
    assert expected.node_sizes == ATOM_FEATURE_SIZES
    assert expected.reading["kind"] == "molecules"
    molecules = [Chem.MolFromSmiles(text.strip()) for text in SMILES]
    unchecked = [Chem.MolFromSmiles(text.strip(), sanitize=False) for text in SMILES[:2]]
    hydrogens = [Chem.AddHs(molecule) for molecule in molecules]
    atoms = hydrogens[0].GetNumAtoms()
    assert same(read_objects(molecules).graphs, expected.graphs)
    assert same(read_objects(hydrogens).graphs, expected.graphs)
    assert hydrogens[0].GetNumAtoms() == atoms  # the user's molecule is as before
    assert same(read_objects(unchecked).graphs, read_objects(SMILES[:2]).graphs)
    assert same(read_objects(np.array(SMILES)).graphs, expected.graphs)
    assert same(read_objects([molecules[0], SMILES[1]]).graphs, read_objects(SMILES[:2]).graphs)
    assert len(read_objects("CCO").graphs) == len(read_objects(molecules[0]).graphs) == 1


def test_the_model_says_which_features_a_molecule_has() -> None:
    reading = {"kind": "molecules", "features": "drugood"}
    assert read_objects(["CCO"], reading=reading).graphs.x.shape == (3, 39)
    with pytest.raises(ValueError, match="got molecules, but this model was trained on graphs"):
        read_objects(["CCO"], reading={"kind": "graphs"})
    with pytest.raises(ValueError, match="got molecules, but this is for nodes"):
        read_objects(["CCO"], "node")


@pytest.mark.parametrize("bad", ["C((", "", None, float("nan"), "Chem", 3])
def test_the_position_of_what_is_no_molecule_is_told(bad: Any) -> None:
    if bad == "Chem":
        bad = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    with pytest.raises(
        ValueError, match=r"2 of 4 molecules cannot be read, position 1 .*: .*; pos"
    ):
        read_objects(["CCO", bad, "C", bad])
    with pytest.raises(ValueError, match=r"8 of 9 .* and 3 more; leave them out, with their lab"):
        read_objects(["CCO", *[bad] * 8])
    reading = read_objects(["CCO"]).reading
    with pytest.raises(ValueError, match=r"leave them out\.$"):  # there are no labels
        read_objects(["CCO", bad], reading=reading)
    with pytest.raises(ValueError, match=r"^got no molecules, expected at least one\.$"):
        read_objects([], reading=reading)


def test_objects_of_pyg_are_kept_for_their_masks() -> None:
    data = tiny.ragged().to_pyg()
    found = read_objects(PygBatch.from_data_list(data))
    assert len(found.objects) == len(found.graphs) == len(data)
    assert found.reading == {}
    assert same(found.graphs, tiny.ragged())
    assert read_objects(found.graphs).graphs is found.graphs
    assert same(read_objects(tiny.whole(found.graphs)).graphs, found.graphs)


@pytest.mark.parametrize(
    ("objects", "sentence"),
    [
        (7, "got a int at position 0, expected a list of PyG Data objects, NetworkX"),
        ([tiny.cycle(3), 4], "got a int at position 1"),
        ({"smiles": ["CCO"]}, r"got a dict .* its column of them\)"),
        ({"CCO", "C"}, "got a set at position 0"),
        ([], "got no graphs"),
        (tiny.dataset(2), "got a whole dataset, expected one set of graphs"),
    ],
)
def test_other_objects_get_one_sentence(objects: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        read_objects(objects)
    assert "\n" not in str(caught.value)


def test_molecules_bring_features_along() -> None:
    found = read_objects(SMILES, features=("morgan", "rdkit"))
    known = found.reading["descriptors"]
    assert known["kinds"] == ["morgan", "rdkit"]
    expected, names = describe_smiles([text.strip() for text in SMILES], ("morgan", "rdkit"))
    assert known["names"] == list(names)
    assert found.graphs.graph_attr is not None
    np.testing.assert_array_equal(found.graphs.graph_attr.numpy(), expected)
    molecules = [Chem.AddHs(Chem.MolFromSmiles(text.strip())) for text in SMILES]
    again = read_objects(molecules, reading=found.reading)
    assert again.graphs.graph_attr is not None
    np.testing.assert_array_equal(again.graphs.graph_attr.numpy(), expected)
    few = {**found.reading, "descriptors": {"kinds": ["rdkit"], "names": ["MolWt"]}}
    chosen = read_objects(["CCO"], reading=few).graphs.graph_attr
    assert chosen is not None
    assert chosen.tolist() == [[pytest.approx(46.069)]]


def test_features_are_made_of_molecules_only() -> None:
    graphs = tiny.motifs(2)
    for given in (graphs, tiny.whole(graphs), graphs.to_pyg()):
        with pytest.raises(ValueError, match=r"features morgan .*, got graphs"):
            read_objects(given, features=("morgan",))


def test_a_model_of_several_molecules_per_row_reads_tables() -> None:
    reading = {"kind": "molecules", "columns": {"smiles": ["solute", "solvent"]}}
    with pytest.raises(ValueError, match=r"trained on 2 molecules per row \(solute, solvent\)"):
        read_objects(["CCO"], reading=reading)
