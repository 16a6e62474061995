"""Python objects as graphs: SMILES, RDKit molecules, NetworkX graphs, and all that PyG has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from gsina.errors import InputError
from gsina.formats.molecule_tables import packer_of
from gsina.formats.networkx_graphs import Attributes, attributes_of, to_data
from gsina.graphs.batch import Batch
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.pyg import is_networkx, one_by_one
from gsina.graphs.task import Level
from gsina.molecules.descriptors import choose, describe, describe_smiles
from gsina.molecules.features import ATOM_FEATURE_SIZES, BOND_FEATURE_SIZES, FEATURES_VERSION

#: Molecules named in a message; of the others only the number is given.
NAMED = 5


EXPECTED = (
    "PyG Data objects, NetworkX graphs, RDKit molecules or SMILES (of a table, its column of them)"
)


@dataclass(frozen=True)
class ReadObjects:
    """Graphs made of Python objects.

    Attributes:
        graphs: The graphs, with the labels that the objects have.
        objects: The PyG objects, one per graph; ``()`` for molecules and packed graphs.
        reading: How to make more of them, JSON-able; empty if that is just PyG's.
        node_sizes: As in :class:`~gsina.graphs.dataset.Dataset`.
        edge_sizes: The same.
    """

    graphs: PackedGraphs
    objects: Sequence[Any] = ()
    reading: dict[str, Any] = field(default_factory=dict)
    node_sizes: tuple[int, ...] = ()
    edge_sizes: tuple[int, ...] = ()


def read_objects(
    objects: Any,
    level: Level = "graph",
    reading: dict[str, Any] | None = None,
    features: Sequence[str] = (),
    *,
    if_molecules: bool = False,
) -> ReadObjects:
    """Graphs of any kind, one per graph that an object holds.

    Args:
        objects: ``PackedGraphs`` or a batch; SMILES, RDKit molecules, NetworkX graphs, PyG ``Data``
            objects, or one of them; or whatever holds such: lists, arrays, PyG and torch datasets
            and loaders (see :func:`~gsina.graphs.pyg.one_by_one`).
        level: Whether labels belong to graphs or to nodes.
        reading: How a model was trained to read them; ``None`` for new ones.
        features: Features of whole molecules that new ones bring along, such as ``quick`` and
            ``counts``: see :mod:`gsina.molecules.descriptors`.
        if_molecules: Other graphs just go without these features.

    Raises:
        InputError: An object cannot be read; the sentence says at which positions, counted from 0.
    """
    if if_molecules and isinstance(objects, Batch | PackedGraphs):
        features = ()
    if isinstance(objects, Batch):
        objects = PackedGraphs.from_batch(objects)
    if isinstance(objects, PackedGraphs):
        _only_molecules(features)
        return ReadObjects(objects)
    if isinstance(objects, Dataset):
        raise InputError(
            "got a whole dataset, expected one set of graphs; pass one of its splits, such as "
            "dataset.test."
        )
    from torch_geometric.data.data import BaseData

    found = list(one_by_one(objects))
    if not found:
        what = "molecule" if (reading or {}).get("kind") == "molecules" else "graph"
        raise InputError(f"got no {what}s, expected at least one.")
    if any(isinstance(one, str) or _is_molecule(one) for one in found):
        return _molecules(found, level, reading, features)
    _only_molecules(() if if_molecules else features)
    networks = any(map(is_networkx, found))
    for place, one in enumerate(found):
        if not (is_networkx(one) if networks else isinstance(one, BaseData)):
            expected = "NetworkX graphs, as others are" if networks else EXPECTED
            raise InputError(
                f"got a {type(one).__name__} at position {place}, expected a list of {expected}."
            )
    if not networks:
        return ReadObjects(PackedGraphs.from_pyg(found, level), found)
    names = _attributes(found, reading)
    data = [to_data(graph, place, names) for place, graph in enumerate(found)]
    return ReadObjects(PackedGraphs.from_pyg(data, level), data, {"attributes": names})


def _is_molecule(value: Any) -> bool:
    chem = sys.modules.get("rdkit.Chem")
    return chem is not None and isinstance(value, chem.Mol)


def _only_molecules(features: Sequence[str]) -> None:
    if features:
        raise InputError(
            f"features {', '.join(features)} are made of SMILES or RDKit molecules, got graphs; "
            "leave features out, or give the graphs their own as graph_attr."
        )


def _molecules(
    found: Sequence[Any], level: Level, reading: dict[str, Any] | None, features: Sequence[str]
) -> ReadObjects:
    if level == "node":
        raise InputError("got molecules, but this is for nodes of graphs; use PyG Data objects.")
    labelled = reading is None
    if reading is None:
        reading = {
            "kind": "molecules",
            "version": FEATURES_VERSION,
            "columns": {"smiles": "smiles", "targets": []},
        }
        if features:
            names = list(describe([], features)[1])
            reading["descriptors"] = {"kinds": list(features), "names": names}
    if reading.get("kind") != "molecules":
        raise InputError(
            f"got molecules, but this model was trained on {reading.get('kind', 'graphs')}; make "
            "graphs as those it was trained on, or fit one on molecules."
        )
    columns = reading.get("columns", {}).get("smiles", "smiles")
    if not isinstance(columns, str):
        raise InputError(
            f"this model was trained on {len(columns)} molecules per row ({', '.join(columns)}); "
            "give it tables with these columns, as with gsina predict."
        )
    texts = [one.strip() if isinstance(one, str) else one for one in found]
    packed = packer_of(str(reading.get("features", "ogb")))(texts)
    failed = packed.failures
    if failed:
        named = [f"position {row} ({_shown(text)}): {why}" for row, text, why in failed[:NAMED]]
        more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
        raise InputError(
            f"{len(failed)} of {len(found)} molecules cannot be read, {'; '.join(named)}{more}; "
            f"leave them out{', with their labels' if labelled else ''}."
        )
    graphs = packed.graphs
    if known := reading.get("descriptors"):
        described = describe_smiles(texts, known["kinds"], wanted=known.get("used"))
        values = choose(*described, known["names"])
        graphs = replace(graphs, graph_attr=torch.from_numpy(values))
    return ReadObjects(
        graphs,
        reading=reading,
        node_sizes=ATOM_FEATURE_SIZES,
        edge_sizes=BOND_FEATURE_SIZES,
    )


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if value is None or isinstance(value, str | float) else "a molecule"


def _attributes(graphs: Sequence[Any], reading: dict[str, Any] | None) -> Attributes:
    """The features to read: those of the training, or those that new graphs have."""
    if reading is not None and "attributes" in reading:
        known: Attributes = reading["attributes"]
        return known
    names = attributes_of(graphs)
    if reading is not None:
        for what, several in names.items():
            if len(several) > 1:
                raise InputError(
                    f"this model was not trained on NetworkX graphs, so the order of their {what} "
                    f"attributes ({', '.join(several)}) is unknown; give PyG Data objects."
                )
    return names
