"""The estimators: scikit-learn's conventions, labels of any kind, backbones, saving."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch_geometric.nn as pyg
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn
from torch_geometric.data import Data

import tiny
from estimator_cases import FEW, nodes, shapes
from gsina import GraphClassifier, GraphRegressor, NodeClassifier
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.formats import from_pyg, read_data_file, read_graphs
from gsina.graphs.packed import PackedGraphs
from gsina.models.folder import load_model
from gsina.models.predict import predict_files

QUICK = {**FEW, "epochs": 25, "learning_rate": 2e-2, "patience": None}


@pytest.fixture(scope="module")
def fitted() -> GraphClassifier:
    return GraphClassifier(**QUICK).fit(*shapes())


def test_it_learns_text_labels_and_explains(fitted):
    graphs, labels = shapes(10)
    assert fitted.classes_.tolist() == ["ring", "star"]
    assert fitted.score(graphs, labels) == 1
    assert fitted.predict(graphs).tolist() == labels
    shares = fitted.predict_proba(graphs)
    assert shares.shape == (10, 2)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-6)
    found = fitted.explain(graphs)
    assert len(found) == 10
    for graph, attention in zip(graphs, found, strict=True):
        assert attention.edge_mask.shape == (graph.num_edges,)
        assert attention.node_mask.shape == (graph.num_nodes, 1)
        assert float(attention.edge_mask.mean()) == pytest.approx(0.5, abs=1e-5)


def test_conventions():
    model = GraphClassifier(ratio=0.3, backbone=pyg.GIN)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(ratio=0.7).ratio == 0.7
    assert is_classifier(model)
    assert is_regressor(GraphRegressor())
    with pytest.raises(NotFittedError):
        model.predict(shapes(2)[0])


def test_cross_validation_and_grid_search_with_lists_of_graphs():
    graphs, labels = shapes(24)
    scores = cross_val_score(GraphClassifier(**QUICK), graphs, labels, cv=2)
    assert scores.tolist() == [1, 1]
    search = GridSearchCV(GraphClassifier(**FEW), {"ratio": [0.3, 0.6]}, cv=2)
    assert search.fit(graphs, labels).best_params_["ratio"] in (0.3, 0.6)


def test_the_same_seed_gives_the_same_model_and_leaves_torch_alone():
    graphs, labels = shapes(12)
    torch.manual_seed(5)
    first = GraphClassifier(**FEW).fit(graphs, labels)
    state = torch.rand(1)
    second = GraphClassifier(**FEW).fit(graphs, labels)
    assert (first.predict_proba(graphs) == second.predict_proba(graphs)).all()
    other = GraphClassifier(**FEW, random_state=1).fit(graphs, labels)
    assert (first.predict_proba(graphs) != other.predict_proba(graphs)).any()
    torch.manual_seed(5)
    assert torch.equal(state, torch.rand(1))


@pytest.mark.parametrize("labels", [[3, 7, 9], [("a", 1), ("b", 2), 4.5], [True, False, None]])
def test_labels_of_any_hashable_type(labels, tmp_path):
    graphs, _ = shapes(12)
    y = [labels[i % 3] for i in range(12)]
    model = GraphClassifier(**FEW).fit(graphs, y)
    kinds = {label for label in labels if label is not None}
    assert set(model.classes_.tolist()) == kinds
    assert set(model.predict(graphs).tolist()) <= kinds
    model.save(tmp_path)
    again = GraphClassifier.load(tmp_path)
    assert again.predict(graphs).tolist() == model.predict(graphs).tolist()
    assert list(map(type, again.classes_.tolist())) == list(map(type, model.classes_.tolist()))


def test_labels_of_the_graphs_themselves_and_packed_graphs():
    data = tiny.dataset(per_class=6)
    model = GraphClassifier(**FEW).fit(data.train, val=data.val)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(data.test).shape == (18, 3)
    whole = GraphClassifier(**FEW).fit(data)
    truth = data.test.y.numpy().reshape(-1)
    assert whole.score(data.test) == (whole.predict(data.test) == truth).mean()
    listed = GraphClassifier(**FEW).fit(data.train.to_pyg(), val=data.val.to_pyg())
    assert (listed.predict_proba(data.test) == model.predict_proba(data.test)).all()


@pytest.mark.parametrize("numbers", [(3, 7), (3, 7, 9)])
def test_scores_of_own_data_whose_classes_are_text(numbers):
    graphs, _ = shapes(48)
    for place, graph in enumerate(graphs):
        graph.y = torch.tensor(numbers[place % len(numbers)])
    own = from_pyg(graphs)
    model = GraphClassifier(**FEW).fit(own)
    assert model.classes_.tolist() == list(map(str, numbers))
    whole = own.train
    assert model.score(whole) == pytest.approx(model.model_.score(whole)["accuracy"])


def test_a_model_of_own_data_reads_new_files(tmp_path):
    graphs, labels = shapes()
    lines = [
        {"nodes": graph.x.tolist(), "edges": graph.edge_index.T.tolist(), "label": label}
        for graph, label in zip(graphs, labels, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = GraphClassifier(**FEW).fit(read_graphs(tmp_path / "a.jsonl"))
    model.save(tmp_path / "model")
    predict_files(load_model(tmp_path / "model"), [tmp_path / "a.jsonl"], tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["prediction"] for row in rows] == model.predict(graphs).tolist()


def test_smiles_and_a_saved_model_that_reads_them_again(tmp_path):
    pytest.importorskip("rdkit")
    smiles, labels = ["CCO", "CCN", "c1ccccc1", "CC(=O)O"] * 4, ["yes", "no"] * 8
    model = GraphClassifier(**FEW).fit(smiles, labels, val=(smiles[:4], labels[:4]))
    assert model.predict_proba(["CCO"]).shape == (1, 2)
    assert [len(one.node_mask) for one in model.explain(smiles[:2])] == [3, 3]
    model.save(tmp_path / "model")
    again = GraphClassifier.load(tmp_path / "model")
    expected = model.predict_proba(smiles)
    assert (again.predict_proba(smiles) == expected).all()
    (tmp_path / "new.csv").write_text("\n".join(["smiles", *smiles, "C(("]))
    predict_files(load_model(tmp_path / "model"), [tmp_path / "new.csv"], tmp_path / "out.csv")
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == [*model.predict(smiles), ""]
    for ask in (model.predict, lambda some: GraphClassifier(**FEW).fit(some, labels[:3])):
        with pytest.raises(ValueError, match=r"1 of 3 molecules .* position 2 \('C\(\('\)"):
            ask(["CCO", "C", "C(("])


def test_scores_of_own_nodes_whose_classes_are_text(tmp_path):
    torch.save(nodes().to_dict(), tmp_path / "a.pt")
    own = read_data_file(tmp_path / "a.pt")
    model = NodeClassifier(**{**QUICK, "epochs": 15}).fit(own)
    test = own.test
    assert model.score(test) > 0.5
    assert model.score(test) == pytest.approx(model.model_.score(test)["accuracy"])


def test_labels_that_look_like_numbers_of_classes():
    graphs, labels = shapes()
    for graph, label in zip(graphs, labels, strict=True):
        graph.y = torch.tensor([[1.0 + (label == labels[0])]])
    model = GraphClassifier(**FEW).fit(graphs)
    truth = np.array([float(graph.y) for graph in graphs])
    assert model.score(graphs) == (model.predict(graphs) == truth).mean() < 1


def test_several_targets_with_gaps():
    graphs, _ = shapes(20)
    y = np.tile([[0.0, 1.0], [1.0, np.nan]], (10, 1))
    y[:4, 1] = 0
    model = GraphClassifier(**FEW).fit(graphs, y)
    assert model.predict_proba(graphs).shape == (20, 2)
    answers = model.predict(graphs)
    assert answers.shape == (20, 2)
    assert model.score(graphs, y) == pytest.approx((answers == y)[~np.isnan(y)].mean())


def test_regression_is_in_the_units_of_the_target(tmp_path):
    graphs, _ = shapes(40)
    y = [1000.0 + 50 * graph.num_nodes for graph in graphs]
    model = GraphRegressor(**{**QUICK, "epochs": 60, "method": "erm"}).fit(graphs, y)
    assert model.score(graphs, y) > 0.4
    assert model.rmse(graphs, y) < 35
    assert model.predict(graphs).shape == (40,)
    assert model.history_[-1]["val"]["rmse"] > 1  # of numbers whose deviation is 41
    both = GraphRegressor(**FEW).fit(graphs, np.stack([y, np.ones(40)], 1))
    assert both.rmse(graphs, np.stack([y, np.ones(40)], 1)).shape == (2,)
    assert both.score(graphs, np.stack([y, np.ones(40)], 1)) < 1
    model.save(tmp_path)
    assert (GraphRegressor.load(tmp_path).predict(graphs) == model.predict(graphs)).all()
    with pytest.raises(ValueError, match="GraphRegressor instead of GraphClassifier"):
        GraphClassifier.load(tmp_path)


def test_ratio_auto_is_chosen_on_validation_data():
    graphs, labels = shapes(16)
    model = GraphClassifier(ratio="auto", **FEW).fit(graphs, labels)
    tried = model.model_.training["ratios_tried"]
    assert sorted(tried) == ["0.3", "0.5", "0.7"]
    assert tried[str(model.best_ratio_)] == max(tried.values())
    with pytest.raises(ValueError, match="erm has no ratio to choose"):
        GraphClassifier(method="erm", ratio="auto").fit(graphs, labels)


def test_a_budget_in_edges_is_kept_saved_and_loaded(tmp_path):
    graphs, labels = shapes(8)
    model = GraphClassifier(budget=3, **FEW).fit(graphs, labels)
    for graph, found in zip(graphs, model.explain(graphs), strict=True):
        assert float(found.edge_mask.sum()) == pytest.approx(
            2 * min(3, graph.num_edges // 2), abs=1e-4
        )
    model.save(tmp_path)
    again = GraphClassifier.load(tmp_path)
    assert (again.best_ratio_, again.ratio, again.budget) == (None, None, 3)
    assert (again.fit(graphs, labels).predict_proba(graphs) == model.predict_proba(graphs)).all()


class Own(nn.Module):
    """A network of a user, with edge features."""

    out_channels = 8

    def __init__(self, in_channels: int, edge_dim: int) -> None:
        super().__init__()
        self.conv = pyg.GINEConv(nn.Linear(in_channels, 8), edge_dim=edge_dim)

    def forward(self, x, edge_index, edge_attr):
        return self.conv(x, edge_index, edge_attr).relu()


@pytest.mark.parametrize(
    "backbone",
    [
        pyg.GraphSAGE,
        pyg.GIN(tiny.FEATURES, 8, 2),
        Own,
        lambda in_channels: pyg.GAT(in_channels, 8, 2, edge_dim=1),
    ],
    ids=["class", "instance", "own", "function"],
)
def test_any_pyg_network(backbone, tmp_path):
    graphs = tiny.ragged()
    graphs = graphs[[*range(len(graphs))] * 3]
    model = GraphClassifier(backbone=backbone, **FEW).fit(graphs)
    assert model.explain(graphs)[0].edge_mask.shape == (5,)
    model.save(tmp_path)
    again = GraphClassifier.load(tmp_path, backbone=backbone)
    assert (again.predict_proba(graphs) == model.predict_proba(graphs)).all()
    with pytest.raises(ValueError, match="load it with backbone="):
        GraphClassifier.load(tmp_path)


def test_categories_in_front_of_a_pyg_network():
    data = tiny.dataset(per_class=4)
    x = {name: torch.randint(0, 3, (part.x.size(0), 2)) for name, part in data.splits.items()}
    splits = {name: replace(part, x=x[name]) for name, part in data.splits.items()}
    data = replace(data, splits=splits, node_sizes=(3, 3))
    model = GraphClassifier(backbone=pyg.GCN, **FEW).fit(data)
    with pytest.raises(ValueError, match="value that the model was not made for"):
        model.predict(replace(data.test, x=data.test.x + 2))


@pytest.mark.parametrize("method", ["erm", "gsat", "gib", "dir"])
def test_other_methods(method):
    graphs, labels = shapes(12)
    model = GraphClassifier(method=method, **FEW).fit(graphs, labels)
    assert model.predict(graphs).shape == (12,)
    if method == "erm":
        found = model.explain(graphs[:2], GNNExplainer(steps=2))
        assert [one.explainer for one in found] == ["GNNExplainer"] * 2
    if method == "dir":
        assert model.best_ratio_ == 0.25  # the method's own


def test_features_that_are_not_finite_are_told(fitted):
    graphs, _ = shapes(4)
    graphs[2].x[1, 0] = torch.nan
    for ask in (fitted.predict, fitted.predict_proba, fitted.explain):
        with pytest.raises(ValueError, match="the node features of graph 2 hold NaN"):
            ask(graphs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"epochs": 0}, "epochs must be .* 1 or more"), ({"method": None}, "method must be a name")],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        GraphClassifier(**settings).fit(*shapes(12))


def test_nodes(tmp_path):
    data = nodes()
    model = NodeClassifier(**{**QUICK, "epochs": 15}).fit(data)
    assert model.predict(data).shape == (60,)
    assert model.score(data) > 0.8
    assert model.score(data, mask=data.train_mask) > 0.8
    assert model.explain(data).edge_mask.shape == (data.num_edges,)
    model.save(tmp_path)
    assert (NodeClassifier.load(tmp_path).predict_proba(data) == model.predict_proba(data)).all()
    names = np.array(["b", "a"])[data.y.numpy()]
    named = NodeClassifier(**FEW).fit(data, names)
    assert named.classes_.tolist() == ["a", "b"]


def test_nodes_without_masks_hold_some_out():
    data = nodes()
    del data.train_mask, data.val_mask, data.test_mask
    model = NodeClassifier(**FEW).fit(data)
    assert model.score(data) == (model.predict(data) == data.y.numpy()).mean()


@pytest.mark.parametrize("gone", [["train_mask"], ["train_mask", "val_mask"]])
def test_nodes_of_the_test_are_never_trained_or_validated_on(gone, monkeypatch):
    data = nodes()
    for name in gone:
        del data[name]
    seen = {}
    plain = NodeClassifier._train
    monkeypatch.setattr(
        NodeClassifier,
        "_train",
        lambda self, dataset, **k: (seen.update(dataset.splits), plain(self, dataset, **k)),
    )
    NodeClassifier(**FEW).fit(data)
    masks = [seen["train"].mask, seen["val"].mask, data.test_mask]
    assert int(sum(mask.int() for mask in masks).max()) == 1
    assert bool((masks[0] | masks[1] | masks[2]).all())


def test_masks_of_nodes_that_share_a_node_or_are_not_everywhere():
    data = nodes()
    data.test_mask[44] = True
    with pytest.raises(ValueError, match="node 44 is in val_mask and in test_mask"):
        NodeClassifier(**FEW).fit(data)
    one, other = nodes(), nodes()
    del other.train_mask
    with pytest.raises(ValueError, match="1 of 2 graphs have a train_mask; expected one in all"):
        NodeClassifier(**FEW).fit([one, other])


def test_verbose_logs_epochs(caplog):
    graphs, labels = shapes(8)
    with caplog.at_level(logging.INFO, logger="gsina"):
        GraphClassifier(**FEW, verbose=True).fit(graphs, labels)
    assert "epoch 2: training loss" in caplog.text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": ["a"] * 8}, "at least two classes, got 1"),
        ({"y": ["a", "b"]}, "got 2 labels for 8 graphs"),
        ({"y": None}, "these graphs have no labels"),
        ({"method": "gsnia"}, "did you mean 'gsina'"),
        ({"backbone": "gni"}, "did you mean 'gin'"),
        ({"backbone": 3}, "backbone must be a name"),
        ({"ratio": "most"}, 'number or "auto"'),
        ({"ratio": 2.0}, "ratio must lie in"),
        ({"method": "erm", "ratio": 0.3}, "erm has no ratio, got 0.3; leave it out"),
        ({"ratio": 0.3, "budget": 8}, "got ratio 0.3 and budget 8; leave one out"),
        ({"ratio": "auto", "budget": 8}, "got ratio auto and budget 8; leave one out"),
        ({"method": "dir", "budget": 8}, "dir has no budget, got 8; leave it out"),
        ({"backbone": "ogb-gnc"}, "did you mean 'ogb-gcn'"),
        ({"epochs": "a"}, "epochs must be a whole number, 1 or more, got 'a'"),
        ({"method": "irm", "method_options": {"penalty": float("inf")}}, "penalty must be finite"),
        ({"y": [[1]] * 4 + [[1, 0]] * 4}, "got some of shape (1,) and some of shape (2,)"),
        ({"y": [[1, 2]] * 8}, "must be 0, 1, or NaN where missing, got 2"),
        ({"graphs": 7}, "expected a list of PyG Data"),
        ({"graphs": []}, "got no graphs"),
    ],
)
def test_bad_input_gets_one_sentence(change, sentence):
    graphs, labels = shapes(8)
    given = {"graphs": graphs, "y": labels} | {
        name: change.pop(name) for name in ("graphs", "y") if name in change
    }
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        GraphClassifier(**{**FEW, **change}).fit(given["graphs"], given["y"])
    assert "\n" not in str(caught.value)


def test_graphs_with_other_features_are_refused(fitted):
    with pytest.raises(ValueError, match="have 4 node features, but the model was trained on 1"):
        fitted.predict(PackedGraphs.from_pyg([tiny.cycle(4)]))


def test_a_graph_without_nodes_is_predicted(fitted):
    empty = Data(x=torch.zeros(0, 1), edge_index=torch.zeros(2, 0, dtype=torch.long))
    assert np.isfinite(fitted.predict_proba([empty])).all()
