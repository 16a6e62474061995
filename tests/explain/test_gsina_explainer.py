"""A model's own weights through PyG's ``Explainer``, judged by PyG's own metrics."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, ModelConfig, fidelity, unfaithfulness

import tiny
from gsina.explain import GSINAExplainer
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.graphs.task import Task
from gsina.models.architecture import Architecture
from gsina.models.folder import save_model
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec


def model(method: str = "gsina", task: Task = tiny.CLASSES, backbone: str = "gin") -> Model:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 0, {"hidden_channels": 8})
    made = Architecture.of(method, {}, spec)
    return Model(made.build(task).eval(), task, made)


def explainer(made: Model, **given: Any) -> Explainer:
    quick = GNNExplainer(steps=2) if made.architecture.method == "erm" else None
    usual = {"edge_mask_type": "object", "node_mask_type": "object", "explanation_type": "model"}
    config = ModelConfig("multiclass_classification", made.task.level, "raw")
    return Explainer(
        made.as_pyg(), GSINAExplainer(made, quick), model_config=config, **(usual | given)
    )


@pytest.mark.parametrize("method", ["gsina", "gsat", "dir", "erm"])
def test_graphs(method: str) -> None:
    made, graphs = model(method), tiny.ragged()
    data = Batch.from_data_list(graphs.to_pyg())
    asked = explainer(made)
    found = asked(data.x, data.edge_index, batch=data.batch)
    quick = GNNExplainer(steps=2) if method == "erm" else None
    own = torch.cat([one.edge_mask for one in made.explain(graphs, quick)])
    torch.testing.assert_close(found.edge_mask, own)
    assert found.node_mask.shape == (data.num_nodes, 1)
    assert found.validate()
    assert 0 <= unfaithfulness(asked, found) <= 1
    assert all(0 <= value <= 1 for value in fidelity(asked, found))


def test_nodes() -> None:
    ring = torch.arange(20)
    edges = torch.stack([ring, (ring + 1) % 20])
    x = torch.randn(20, tiny.FEATURES)
    made = model(task=Task("multiclass", 3, level="node"), backbone="gcn")
    found = explainer(made)(x, edges, index=torch.tensor([3, 4]))
    assert 0 < int((found.edge_mask > 0).sum()) < 20
    assert found.index.tolist() == [3, 4]
    own = made.explain(Data(x=x, edge_index=edges), index=[3, 4])
    torch.testing.assert_close(found.edge_mask, own.edge_mask)


def test_pygs_metrics_take_explanations_as_they_are() -> None:
    made = model()
    (data,) = tiny.ragged()[[5]].to_pyg()
    asked = explainer(made)
    by_pyg = asked(data.x, data.edge_index)
    ours = made.explain(data)
    assert unfaithfulness(asked, ours) == pytest.approx(unfaithfulness(asked, by_pyg), abs=1e-6)
    assert fidelity(asked, ours) == fidelity(asked, by_pyg)


def test_only_masks_that_are_asked_for() -> None:
    data = tiny.ragged()[[0]].to_pyg()[0]
    found = explainer(model(), node_mask_type=None)(data.x, data.edge_index)
    assert "node_mask" not in found
    found = explainer(model(), edge_mask_type=None)(data.x, data.edge_index)
    assert "edge_mask" not in found
    for wrong in ({"node_mask_type": "attributes"}, {"node_mask_type": "common_attributes"}):
        with pytest.raises(ValueError, match="does not support the given explanation settings"):
            explainer(model(), **wrong)


def test_it_takes_whatever_holds_a_model(tmp_path: Path) -> None:
    made = model()
    save_model(tmp_path, made)
    holders = (made, SimpleNamespace(model_=made), SimpleNamespace(model=made), tmp_path)
    for holder in holders:
        assert isinstance(GSINAExplainer(holder).model, Model)
    with pytest.raises(ValueError, match="got a Linear, expected a trained model"):
        GSINAExplainer(torch.nn.Linear(2, 2))
