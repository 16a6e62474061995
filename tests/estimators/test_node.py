"""Estimators of nodes: labels that are missing or no classes, numbers, sampled neighbours."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_regressor
from torch_geometric.data import Data

from gsina.estimators import GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor
from gsina.formats import from_pyg
from gsina.models.predict import read_files

KEPT = Path(__file__).parents[1] / "kept" / "v0.1"


def graph(num: int = 90, seed: int = 0) -> Data:
    """Three classes that the features tell, and edges within a class."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(num) % 3
    x = torch.nn.functional.one_hot(y, 3) + 0.3 * torch.randn(num, 3, generator=generator)
    source = torch.randint(num, (4 * num,), generator=generator)
    target = (source + 3 * torch.randint(1, 5, (4 * num,), generator=generator)) % num
    part = torch.randint(3, (num,), generator=generator)
    masks = {f"{name}_mask": part == place for place, name in enumerate(("train", "val", "test"))}
    edges = torch.cat([torch.stack([source, target]), torch.stack([target, source])], 1)
    return Data(x=x, edge_index=edges, y=y, **masks)


def test_a_label_of_minus_one_in_the_graph_is_missing():
    data = graph()
    data.y[::4] = -1
    model = NodeClassifier(epochs=30, hidden_channels=16).fit(data)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(data) > 0.8  # of the labels that are there
    given = NodeClassifier(epochs=1).fit(data, y=data.y)
    assert given.classes_.tolist() == [-1, 0, 1, 2]


def test_labels_of_one_and_minus_one_are_refused_in_the_graph_and_fine_beside_it():
    data = graph()
    data.y = 2 * (data.y > 0).long() - 1
    with pytest.raises(ValueError, match=r"-1 in `y` of a graph is a missing one.*give the labels"):
        NodeClassifier().fit(data)
    assert NodeClassifier(epochs=1).fit(data, y=data.y).classes_.tolist() == [-1, 1]


def test_numbers_are_no_classes():
    data = graph()
    data.y = torch.rand(90)
    with pytest.raises(ValueError, match=r"needs classes, got .* labels such as 0") as caught:
        NodeClassifier().fit(data)
    assert len(str(caught.value)) < 200


def test_an_unknown_label_does_not_list_hundreds_of_classes():
    data = graph(300)
    y = torch.arange(300) % 100
    data = Data(x=data.x, edge_index=data.edge_index, train_mask=y < 90, val_mask=y >= 90)
    with pytest.raises(ValueError, match=r"label 9. is none of the classes") as caught:
        NodeClassifier().fit(data, y=y)
    assert len(str(caught.value)) < 200


def test_sampled_neighbours(monkeypatch):
    from gsina.training import loop

    steps = []
    sample = loop.sampled_batches

    def watched(train, size, neighbours, shuffle):
        steps.append((size, neighbours))
        return sample(train, size, neighbours, shuffle)

    monkeypatch.setattr(loop, "sampled_batches", watched)
    data = graph()
    model = NodeClassifier(epochs=20, hidden_channels=16, neighbours=(4, 4), backbone="sage")
    assert clone(model).neighbours == (4, 4)
    assert model.fit(data).score(data) > 0.8
    assert set(steps) == {(512, (4, 4))}
    NodeClassifier(epochs=1, neighbours=(2,), batch_size=7).fit(data)
    assert steps[-1] == (7, (2,))


def numbers() -> Data:
    """A graph whose nodes have the numbers 99, 100 and 101."""
    data = graph()
    data.y = 99.0 + data.y
    return data


def test_numbers_of_nodes_are_learnt_in_their_units(tmp_path):
    data = numbers()
    data.y[::7] = torch.nan
    model = NodeRegressor(epochs=60, hidden_channels=16).fit(data)
    assert is_regressor(model)
    guess = model.predict(data)
    assert guess.shape == (90,)
    counts = (data.test_mask & ~data.y.isnan()).numpy()
    error = np.sqrt(np.mean((guess[counts] - data.y.numpy()[counts]) ** 2))
    assert model.rmse(data) == pytest.approx(error, rel=1e-4)
    assert model.score(data) > 0.6
    assert model.score(data, mask=data.train_mask) != model.score(data)
    assert model.explain(data).edge_mask.shape == (data.num_edges,)
    model.save(tmp_path)
    assert (NodeRegressor.load(tmp_path).predict(data) == guess).all()


def test_several_numbers_per_node_without_masks():
    data = graph()
    x, edges = data.x, data.edge_index
    y = np.stack([data.y.numpy(), -1.0 * data.y.numpy()], 1)
    y[::5, 1] = np.nan
    model = NodeRegressor(epochs=3).fit(Data(x=x, edge_index=edges), y)
    assert model.predict(data).shape == (90, 2)
    assert np.isfinite(model.score(Data(x=x, edge_index=edges), y))


def test_minus_one_is_a_number_and_the_test_is_not_looked_at(monkeypatch):
    data = numbers()
    data.y = data.y - 100  # -1, 0 and 1
    data.y[data.test_mask] = 1e6
    seen = []
    monkeypatch.setattr(NodeRegressor, "_train", lambda self, dataset: seen.append(dataset))
    NodeRegressor().fit(data)
    (found,) = seen
    inside = data.train_mask | data.val_mask
    assert torch.equal(found.train.node_y[inside, 0], data.y[inside])
    assert found.train.node_y[data.test_mask].isnan().all()
    assert torch.equal(found.train.mask, data.train_mask)
    assert torch.equal(found.val.mask, data.val_mask)


def test_numbers_validated_on_another_graph():
    data, other = numbers(), graph(seed=1)
    other.y = 99.0 + other.y
    model = NodeRegressor(epochs=2).fit(data, val=other)
    assert np.isfinite(model.rmse(other))


def test_a_model_of_version_0_1_predicts_what_it_did():
    model = NodeRegressor.load(KEPT / "nodes")
    found = read_files(model.model_, [KEPT / "nodes.csv", KEPT / "edges.csv"])
    with (KEPT / "nodes-expected.csv").open(newline="") as file:
        expected = [float(row["prediction"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(model.predict(found.graphs), expected, rtol=1e-5)  # of six digits


@pytest.mark.parametrize("wrong", [GraphClassifier, GraphRegressor, NodeClassifier])
def test_what_is_for_another_estimator_names_it(wrong):
    message = f"regression at node level; use NodeRegressor instead of {wrong.__name__}"
    with pytest.raises(ValueError, match=f"this model is for {message}"):
        wrong.load(KEPT / "nodes")
    graphs = [
        Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=i % 2) for i in range(20)
    ]
    with pytest.raises(
        ValueError, match="this dataset is for binary at graph level; use GraphClass"
    ):
        NodeRegressor().fit(from_pyg(graphs))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 90, "regression needs numbers as labels"),
        ([1.0] * 3, "got 3 labels for 90 nodes"),
        (None, "these nodes have no labels"),
        ([[1.0, np.nan]] * 90, "a target has no number at all to learn from"),
        ([np.nan] * 90, "no labelled node is in train_mask"),
    ],
)
def test_bad_numbers_get_one_sentence(y, message):
    data = graph()
    del data.y
    with pytest.raises(ValueError, match=message):
        NodeRegressor(epochs=1).fit(data, y)


def test_a_mask_of_numbers_is_refused():
    data = graph()
    model = NodeClassifier(epochs=1).fit(data)
    with pytest.raises(ValueError, match="mask must be a truth value for each of 90 nodes, got"):
        model.score(data, mask=torch.arange(5))
