"""Models for the tests of the network in the page, and the page's answers under node."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from gsina.explain.report import page
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.scaling import apply_scaling
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.molecules.packing import pack_smiles
from gsina.nn.predictor import NetworkSpec
from page_cases import data_of

SMILES = (
    "C",
    "CCO",
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C)C(=O)N2C",
    "[Na+].[Cl-]",
    "C[C@H]([NH3+])C(=O)[O-]",
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",
)
#: Runs `answer(page, whatif)`, a function of the page's data, under node.
RUN = """
const [, folder, code] = process.argv;
const whatif = require(folder + "/whatif.js");
const page = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(eval(code)(page, whatif)));
"""
ANSWERS = """(page, whatif) => {
  const net = whatif.load(page.network);
  return page.graphs.map((graph) => {
    const names = page.outputNames[graph.names] ?? [];
    const { found, answer } = whatif.ask(net, whatif.input(graph), whatif.noEdits(), names);
    const list = (values) => values && Array.from(values);
    return { ...answer, logits: list(found.logits), edge: list(found.edge),
      node: list(found.node), scores: list(found.scores) };
  });
}"""


def make_model(
    method: str,
    backbone: str,
    graphs: PackedGraphs,
    task: Task = tiny.CLASSES,
    *,
    settings: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    edges: bool = True,
    members: int = 1,
    trees: tuple[int, int, int] | None = None,
    **given: Any,
) -> Model:
    """An untrained model whose batch norms have seen the graphs, in evaluation."""
    torch.manual_seed(7)
    categories = not graphs.x.is_floating_point()
    sizes = (119, 4, 12, 12, 10, 6, 6, 2, 2), (5, 6, 2)
    edge_channels: Any = 0
    if edges and backbone in ("gin", "ogb-gin") and graphs.edge_attr is not None:
        edge_channels = sizes[1] if categories else graphs.num_edge_features
    spec = NetworkSpec(
        backbone,
        sizes[0] if categories else graphs.num_features,
        edge_channels,
        {"hidden_channels": 16, "num_layers": 3, **(options or {})},
        graph_channels=0 if graphs.graph_attr is None else graphs.num_graph_features,
    )
    architecture = Architecture.of(method, settings or {}, spec, members, trees)
    built = architecture.build(task)
    scaling = given.get("featuriser", {}).get("scaling", {})
    (scaled,) = apply_scaling(scaling, graphs)
    built.train()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
        for _ in range(3):
            built(tiny.whole(scaled))
    built.eval()
    return Model(method=built, task=task, architecture=architecture, **given)


def molecules() -> PackedGraphs:
    """A few molecules, one atom and two ions among them."""
    return pack_smiles(SMILES, jobs=1).graphs


def hundred_edges() -> PackedGraphs:
    """One graph of 100 undirected edges, without labels."""
    torch.manual_seed(0)
    edges = [(i, i + 1) for i in range(89)] + [(i, i + 5) for i in range(0, 77, 7)]
    assert len(edges) == 100
    graphs = PackedGraphs.from_pyg([tiny.graph(90, edges, undirected=True)])
    return replace(graphs, edge_truth=None, y=None)


def write(path: Path, model: Model, graphs: PackedGraphs, **given: Any) -> dict[str, Any]:
    """Write the page of a model, and read what it holds."""
    names = given.pop("names", [f"graph {number}" for number in range(len(graphs))])
    named = {"named": False, **given}
    page(path, model, graphs, model.predict(graphs), names, "cases", [], **named)
    return data_of(path)


def in_node(data: dict[str, Any], code: str = ANSWERS) -> Any:
    """What a function of the page's data returns under node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, which is not installed")
    folder = str(files("gsina.explain.page"))
    done = subprocess.run(
        [node, "-e", RUN, folder, code], input=json.dumps(data), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
