"""Every format: how files are recognised, and what reads more of the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tiny
import tiny_nodes
from gsina.errors import InputError
from gsina.formats import FORMATS, find_format, format_of, reading_of
from gsina.graphs.dataset import Dataset, Origin
from gsina.molecules.features import ATOM_FEATURE_SIZES, BOND_FEATURE_SIZES, FEATURES_VERSION


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_code(name: str) -> None:
    one = FORMATS[name]
    assert one.name == name
    assert callable(one.read)
    assert one.level in ("graph", "node")
    assert callable(one.code.reading_of)
    if name != "tu":  # new graphs of the collection come as JSON
        assert callable(one.code.read_again)
    assert not {*one.suffixes} & {
        suffix for other in FORMATS.values() if other is not one for suffix in other.suffixes
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a.csv", "molecules"),
        ("A.CSV.gz", "molecules"),
        ("a.jsonl", "graphs"),
        ("a.safetensors", "node tensors"),
        ("tu:PROTEINS", "tu"),
        (".", "graphs"),
        ("spmotif", None),
    ],
)
def test_files_are_recognised_by_their_names(text: str, name: str | None) -> None:
    found = find_format(text)
    assert (found and found.name) == name


def test_a_file_of_no_known_kind(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").touch()
    with pytest.raises(InputError, match=r"a\.xyz has an unknown file format; expected molecules"):
        find_format(str(tmp_path / "a.xyz"))


def test_graphs_of_a_benchmark_come_as_json() -> None:
    reading = reading_of(tiny.dataset(2))
    assert format_of(reading).name == "graphs"
    assert reading["features"] == {"node": tiny.FEATURES, "edge": 1}


def test_molecules_of_a_benchmark_come_as_smiles() -> None:
    graphs = replace(
        tiny.motifs(2),
        x=torch.zeros(tiny.motifs(2).x.size(0), len(ATOM_FEATURE_SIZES), dtype=torch.long),
    )
    sizes = {"node_sizes": ATOM_FEATURE_SIZES, "edge_sizes": BOND_FEATURE_SIZES}
    data = Dataset("ogbg-molx", tiny.CLASSES, {"train": graphs, "val": graphs}, **sizes)
    reading = reading_of(data)
    assert format_of(reading).molecules
    assert format_of(reading).version(reading) == reading["version"] == FEATURES_VERSION
    assert format_of(reading_of(replace(data, edge_sizes=()))).molecules  # bonds left out
    drugs = replace(tiny.dataset(2), name="drugood-ec50-size")
    assert reading_of(drugs)["features"] == "drugood"


def test_nodes_of_a_benchmark_come_as_tables_or_tensors() -> None:
    data = tiny_nodes.dataset()
    assert format_of(reading_of(data)).name == "nodes"
    assert format_of({"kind": "nodes", "version": 1}).name == "node tensors"


def test_what_no_file_can_give_is_said() -> None:
    odd = replace(tiny.dataset(2), node_sizes=(3,) * tiny.FEATURES)
    with pytest.raises(InputError, match=r"no file format gives; use it from Python"):
        format_of(reading_of(odd))


def test_the_origin_has_the_first_word() -> None:
    data = replace(tiny.dataset(2), origin=Origin(reading={"kind": "graphs", "version": 1}))
    assert reading_of(data) == {"kind": "graphs", "version": 1}


def test_one_mutual_pair_does_not_make_a_graph_undirected(tmp_path: Path) -> None:
    """A model must read its own training graph as it was."""
    one_way = [[0, 1], [1, 2], [2, 3], [3, 2]]
    edges = torch.tensor(one_way).T
    data = tiny_nodes.dataset(nodes=4)
    graph = replace(data.train[[0]], edge_index=edges, edge_ptr=torch.tensor([0, 4]))
    mixed = replace(data, splits={"train": graph, "val": graph})
    assert reading_of(mixed)["directed"]
    nodes, pairs = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    width = graph.x.size(1)
    header = ",".join(["id", *(f"f{i}" for i in range(width)), "label"])
    rows = [",".join([f"n{i}", *("0.5" for _ in range(width)), "a"]) for i in range(4)]
    nodes.write_text("\n".join([header, *rows]))
    pairs.write_text("\n".join(["source,target", *(f"n{a},n{b}" for a, b in one_way)]))
    again = format_of(reading_of(mixed)).read_again([nodes, pairs], reading_of(mixed))
    assert again.graphs.edge_index.T.tolist() == one_way
    assert again.graphs.x.size(1) == width  # without the column of labels
