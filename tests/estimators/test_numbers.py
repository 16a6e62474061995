"""Intervals, sets, domain and weights from Python."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gsina import GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor
from gsina.errors import InputError
from gsina.estimators.numbers import NumbersMixin

FEW = {"hidden_channels": 8, "num_layers": 2, "epochs": 3, "dropout": 0.0, "method": "erm"}


def paths(count: int, seed: int = 0) -> tuple[list[Data], np.ndarray]:
    """Small graphs and a number that their features tell."""
    draw = torch.Generator().manual_seed(seed)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [Data(x=torch.randn(3, 2, generator=draw), edge_index=edges) for _ in range(count)]
    return graphs, np.array([float(graph.x[:, 0].sum()) for graph in graphs])


def ring(count: int = 120) -> Data:
    torch.manual_seed(0)
    step = torch.arange(count)
    index = torch.stack([step, (step + 1) % count])
    return Data(x=torch.randn(count, 3), edge_index=torch.cat([index, index.flip(0)], 1))


def test_intervals_of_numbers():
    graphs, y = paths(300)
    model = GraphRegressor(**FEW).fit(graphs, y)
    assert isinstance(model, NumbersMixin)
    ends = model.predict_interval(graphs, 0.8)
    assert ends.shape == (300, 2)
    assert 0.6 < np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) < 0.95
    assert model.predict_interval(graphs, 0.8, shift=True).shape == (300, 2)
    both = GraphRegressor(**FEW).fit(graphs, np.stack([y, -y], 1))
    assert both.predict_interval(graphs).shape == (300, 2, 2)
    with pytest.raises(InputError, match="coverage must lie between"):
        model.predict_interval(graphs, 1.0)


def test_too_few_validation_data_are_told(caplog: pytest.LogCaptureFixture):
    graphs, y = paths(60)
    with caplog.at_level(logging.WARNING, "gsina"):
        GraphRegressor(**FEW).fit(graphs, y).predict_interval(graphs, 0.9)
    assert "intervals are infinite: a coverage of 0.9 needs 9 validation rows" in caplog.text
    caplog.clear()
    model = GraphClassifier(**FEW).fit(graphs, y > 0)
    with caplog.at_level(logging.WARNING, "gsina"):
        model.predict_set(graphs, 0.9)
    assert "every set holds" in caplog.text
    caplog.clear()
    model.predict_set(graphs, 0.5)
    assert not caplog.text


def test_sets_of_classes_and_the_domain():
    graphs, y = paths(300)
    labels = np.digitize(y, [-1, 1])
    model = GraphClassifier(**FEW).fit(graphs, labels)
    sets = model.predict_set(graphs, 0.8)
    assert sets.shape == (300, 3)
    guess = model.predict(graphs)
    assert sets[np.arange(300), guess].all()
    assert model.domain(graphs).shape == (300,)
    two = GraphClassifier(**FEW).fit(graphs, np.stack([y > 0, y > 1], 1).astype(float))
    assert two.predict_set(graphs).shape == (300, 2, 2)


def test_nodes_have_them_too(tmp_path):
    data = ring()
    y = (data.x[:, 0] > 0).long()
    model = NodeClassifier(**FEW).fit(data, y)
    assert model.predict_set(data).shape == (120, 2)
    model.save(tmp_path)
    again = NodeClassifier.load(tmp_path)
    assert np.array_equal(again.predict_set(data), model.predict_set(data))
    assert np.array_equal(again.domain(data), model.domain(data))
    numbers = NodeRegressor(**FEW).fit(data, data.x[:, 0])
    assert numbers.predict_interval(data).shape == (120, 2)


def test_a_rare_class_is_noticed_and_weights_of_classes_go_with_the_model(tmp_path, caplog):
    graphs, y = paths(800)
    labels = np.where(y > 2.2, "hot", "cold")
    assert 0.05 < (labels == "hot").mean() < 0.15
    with caplog.at_level(logging.WARNING, logger="gsina"):
        model = GraphClassifier(**FEW, class_weight={"hot": 9, "cold": 1}).fit(graphs, labels)
    assert "% of the training labels are hot" in caplog.text
    assert model.notes_ == tuple(caplog.messages)
    assert model.model_.task.metric == "pr_auc"
    assert model.model_.calibration.cut
    model.save(tmp_path)
    again = GraphClassifier.load(tmp_path)
    assert again.class_weight == {"hot": 9.0, "cold": 1.0}
    assert np.array_equal(again.predict(graphs), model.predict(graphs))
    assert "hot" in again.predict(graphs)
    plain = GraphClassifier(**FEW, metric=None).fit(graphs, labels)
    assert plain.model_.calibration.cut == ()
    assert plain.notes_ == ()


def test_rows_of_weight_zero_are_as_good_as_absent():
    graphs, y = paths(60)
    labels, weights = (y > 0).astype(int), np.ones(60)
    wrong = np.arange(60) % 2 == 0
    labels[wrong] = 1 - labels[wrong]
    weights[wrong] = 0
    val = paths(40, seed=1)
    held = (val[0], (val[1] > 0).astype(int))
    settings = {**FEW, "epochs": 30, "learning_rate": 1e-2}
    model = GraphClassifier(**settings).fit(graphs, labels, held, sample_weight=weights)
    assert model.score(val[0], held[1]) > 0.85
    blind = GraphClassifier(**settings).fit(graphs, labels, held)
    assert blind.score(val[0], held[1]) < model.score(val[0], held[1])


def test_weights_of_nodes_and_wrong_ones():
    data = ring()
    y = (data.x[:, 0] > 0).long()
    NodeClassifier(**FEW, class_weight="balanced").fit(data, y, sample_weight=np.ones(120))
    with pytest.raises(InputError, match=r"one number for each of 120 nodes"):
        NodeClassifier(**FEW).fit(data, y, sample_weight=np.ones(7))
    with pytest.raises(InputError, match="class 7, which is none of the classes: 0, 1"):
        NodeClassifier(**FEW, class_weight={0: 1, 1: 2, 7: 3}).fit(data, y)
    with pytest.raises(InputError, match="class weights are for classes"):
        NodeRegressor(**FEW, class_weight="balanced").fit(data, data.x[:, 0])
    with pytest.raises(InputError, match="unknown metric"):
        NodeClassifier(**FEW, metric="precision").fit(data, y)
