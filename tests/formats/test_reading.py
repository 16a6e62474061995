"""What a model keeps of how its files were read, checked before it is believed."""

from __future__ import annotations

from typing import Any

import pytest

from gsina.formats.reading import check_reading

GRAPHS = {"kind": "graphs", "version": 1, "features": {"node": 2, "edge": 0}, "directed": False}
MOLECULES = {"kind": "molecules", "version": 1, "columns": {"smiles": "s", "targets": ["t"]}}
COLUMNS = {"id": "id", "source": "a", "target": "b", "targets": ["y"]}
NODES = {"kind": "nodes", "version": 1, "columns": COLUMNS, "features": ["x"]}


@pytest.mark.parametrize(
    "reading",
    [
        GRAPHS,
        GRAPHS | {"edge_constant": [1.0], "scaling": {"node": {"mean": [0.0], "scale": [1.0]}}},
        MOLECULES,
        MOLECULES | {"descriptors": {"kinds": ["rdkit"], "names": ["MolWt"]}, "more": 1},
        NODES,
        {"kind": "nodes", "version": 1},
        {"kind": "tensors", "version": 1},
    ],
    ids=str,
)
def test_what_formats_keep(reading: dict[str, Any]) -> None:
    check_reading(reading)


@pytest.mark.parametrize(
    "reading",
    [
        None,
        [],
        {},
        {"kind": []},
        GRAPHS | {"features": None},
        GRAPHS | {"features": {"node": "2"}},
        GRAPHS | {"features": {"node": 2, "edge": -1}},
        GRAPHS | {"scaling": {"node": {"mean": [float("nan")], "scale": [1.0]}}},
        GRAPHS | {"edge_constant": "1"},
        GRAPHS | {"scaling": {"node": {"mean": ["x"], "scale": [1.0]}}},
        MOLECULES | {"columns": {}},
        MOLECULES | {"descriptors": []},
        NODES | {"columns": COLUMNS | {"id": 3}},
        NODES | {"encoding": {"nodes": [1]}},
    ],
    ids=str,
)
def test_what_no_format_keeps(reading: Any) -> None:
    with pytest.raises(ValueError, match="no format keeps"):
        check_reading(reading)
