"""A model as a program of torch alone: the same answers, for any number of graphs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import tiny
from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import find_scaling
from gsina.graphs.task import Task
from gsina.models.model import Model, Scale
from gsina.models.uncertainty.calibration import Calibration
from network_cases import make_model, molecules

PLAIN: dict[str, Any] = {"scorer": "plain"}


def tensors(model: Model, graphs: PackedGraphs) -> dict[str, Tensor]:
    """What the program takes, as anybody can make it without this package."""
    batch = graphs.batch(range(len(graphs)))
    found = {"x": batch.x, "edge_index": batch.edge_index, "ptr": graphs.node_ptr}
    if model.architecture.edge_channels:
        assert batch.edge_attr is not None
        found["edge_attr"] = batch.edge_attr
    return found


def answers(model: Model, graphs: PackedGraphs) -> Tensor:
    values = model.predict(graphs).logits
    return values if model.task.kind == "regression" else model.probabilities(values)


NAMES = ("erm", "scaled", "molecules", "budget", "number", "members")


def cases() -> dict[str, tuple[Model, PackedGraphs]]:
    undirected, drugs = tiny.ragged(undirected=True), molecules()
    scaling = {"kind": "tensors", "version": 1, "scaling": find_scaling(undirected)}
    binary, number = Task("binary", 1), Task("regression", 1, "rmse")
    warm, units = Calibration(temperature=(1.7,), offset=(0.3,)), Scale((5.0,), (3.0,))
    return {
        "erm": (make_model("erm", "gin", undirected), undirected),
        "scaled": (
            make_model("gsina", "gin", undirected, settings=PLAIN, featuriser=scaling),
            undirected,
        ),
        "molecules": (make_model("gsina", "gin", drugs, binary, calibration=warm), drugs),
        "budget": (make_model("gsina", "ogb-gcn", drugs, settings={"budget": 3.0}), drugs),
        "number": (make_model("gsina", "ogb-gin", drugs, number, scale=units), drugs),
        "members": (make_model("erm", "gin", drugs, members=2), drugs),
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_program_answers_as_the_model(name: str) -> None:
    model, graphs = cases()[name]
    program = model.export()
    calls = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not [one for one in calls if not one.startswith(("aten.", "<built-in", "sym_"))]
    for size in (2, len(graphs)):
        some = graphs[torch.arange(len(graphs) - size, len(graphs))]
        found = program.module()(**tensors(model, some))
        torch.testing.assert_close(found, answers(model, some), rtol=1e-4, atol=1e-5)


def test_one_graph_goes_beside_an_empty_one() -> None:
    model, graphs = cases()["molecules"]
    program = model.export().module()
    for place in (0, 2):  # an atom without bonds, and a larger molecule
        alone = graphs[torch.tensor([place])]
        given = tensors(model, alone)
        found = program(**given | {"ptr": torch.cat([given["ptr"], given["ptr"][-1:]])})
        torch.testing.assert_close(found[:1], answers(model, alone), rtol=1e-4, atol=1e-5)


SERVE = """
import sys
for name in ("gsina", "torch_geometric"):
    sys.modules[name] = None
import torch
given = torch.load(sys.argv[2], weights_only=True)
torch.save(torch._inductor.aoti_load_package(sys.argv[1])(**given), sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_it_is_compiled_and_served_without_pyg_and_this_package(tmp_path: Path) -> None:
    graphs = molecules()
    model = make_model("gsina", "gin", graphs, Task("binary", 1), settings=PLAIN)
    package, given, out = (str(tmp_path / name) for name in ("model.pt2", "given.pt", "out.pt"))
    torch._inductor.aoti_compile_and_package(model.export(), package_path=package)
    torch.save(tensors(model, graphs), given)
    subprocess.run([sys.executable, "-c", SERVE, package, given, out], check=True)
    found = torch.load(out, weights_only=True)
    torch.testing.assert_close(found, answers(model, graphs), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_exported_says_why() -> None:
    drugs = molecules()
    with pytest.raises(InputError, match="messages PyG does not let one weight"):
        make_model("gsina", "pna", drugs, edges=False, settings=PLAIN).export()
    nodes = make_model("erm", "gcn", tiny.ragged(), Task("multiclass", 3, level="node"))
    with pytest.raises(InputError, match="got a model of nodes, expected one of graphs"):
        nodes.export()
    described = replace(drugs, graph_attr=torch.randn(len(drugs), 2))
    with pytest.raises(InputError, match="features of whole graphs"):
        make_model("erm", "gin", described).export()
