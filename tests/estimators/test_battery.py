"""The same checks for every estimator, after scikit-learn's `check_estimator`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import networkx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch.utils.data import Subset
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import to_networkx

from estimator_cases import FEW, nodes, shapes
from gsina import GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor
from gsina.graphs.packed import PackedGraphs


class Case(NamedTuple):
    """An estimator with graphs and labels; at node level one label per node of all graphs."""

    kind: type
    graphs: list[Data]
    y: np.ndarray

    @property
    def numbers(self) -> bool:
        return self.kind in (GraphRegressor, NodeRegressor)

    @property
    def rows(self) -> list[int]:
        """Answers per graph."""
        by_node = self.kind in (NodeClassifier, NodeRegressor)
        return [graph.num_nodes if by_node else 1 for graph in self.graphs]

    def make(self, **settings: Any) -> Any:
        return self.kind(**{**FEW, **settings})

    def fitted(self, **settings: Any) -> Any:
        return self.make(**settings).fit(self.graphs, self.y)


def case(kind: type) -> Case:
    if kind in (GraphClassifier, GraphRegressor):
        graphs, labels = shapes(16)
        for place, graph in enumerate(graphs):
            graph.x = torch.cat([graph.x, torch.full_like(graph.x, place / 16)], 1)
        values = np.array([float(graph.num_nodes) for graph in graphs])
        y = np.array(labels) if kind is GraphClassifier else values
        return Case(kind, graphs, y)
    graphs = []
    for _ in range(4):
        data = nodes()
        graphs.append(Data(x=data.x + len(graphs), edge_index=data.edge_index))
    y = np.tile(nodes().y.numpy(), 4)
    return Case(kind, graphs, y if kind is NodeClassifier else 3.5 * y + 1)


KINDS = (GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor)
CASES = {kind: case(kind) for kind in KINDS}
FITTED: dict[type, Any] = {}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def one(request) -> Case:
    return CASES[request.param]


@pytest.fixture
def fitted(one) -> Any:
    if one.kind not in FITTED:
        FITTED[one.kind] = one.fitted()
    return FITTED[one.kind]


def asks(model: Any) -> list[Callable[[Any], np.ndarray]]:
    proba = getattr(model, "predict_proba", None)
    return [model.predict] if proba is None else [model.predict, proba]


def close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    return one.shape == other.shape and np.allclose(one, other, atol=1e-5)


def test_answers_of_a_subset_are_those_of_the_whole(one, fitted):
    some, ends = [3, 0, 2], np.cumsum([0, *one.rows])
    rows = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in some])
    for ask in asks(fitted):
        assert close(ask([one.graphs[i] for i in some]), ask(one.graphs)[rows])


def test_one_sample(one, fitted):
    for ask in asks(fitted):
        alone = ask(one.graphs[1])
        assert len(alone) == one.rows[1]
        assert close(alone, ask([one.graphs[1]]))
    assert fitted.explain(one.graphs[1]).num_nodes == one.graphs[1].num_nodes


def test_the_number_of_answers_is_that_of_the_graphs_however_they_come(one, fitted):
    expected = fitted.predict(one.graphs)
    networks = [to_networkx(graph, node_attrs=["x"], to_multi=True) for graph in one.graphs]
    holders = [
        tuple(one.graphs),
        iter(one.graphs),
        PygBatch.from_data_list(one.graphs),
        Subset(one.graphs, range(len(one.graphs))),
        DataLoader(one.graphs, batch_size=3, shuffle=True),
        PackedGraphs.from_pyg(one.graphs),
        PackedGraphs.from_pyg(one.graphs).batch(range(len(one.graphs))),
        networks,
    ]
    for graphs in holders:
        assert close(fitted.predict(graphs), expected)
    assert all(isinstance(graph, networkx.DiGraph) for graph in networks)
    assert len(fitted.explain(PygBatch.from_data_list(one.graphs))) == len(one.graphs)


def test_features_that_are_not_finite_are_told_in_fit_and_in_predict(one, fitted):
    for bad in (np.nan, np.inf):
        graphs = copy.deepcopy(one.graphs)
        graphs[2].x[1, 0] = bad
        for ask in (fitted.predict, fitted.explain, lambda some: one.make().fit(some, one.y)):
            with pytest.raises(ValueError, match="node features of graph 2 hold NaN or infinite"):
                ask(graphs)


def test_an_unseen_number_of_features_is_refused(one, fitted):
    wide = [Data(x=torch.ones(4, 9), edge_index=torch.zeros(2, 0, dtype=torch.long))]
    for ask in (fitted.predict, fitted.explain, fitted.transform):
        with pytest.raises(ValueError, match="have 9 node features, but the model was trained on"):
            ask(wide)


def test_no_input_is_refused(one, fitted):
    for ask in (fitted.predict, fitted.explain, lambda some: one.make().fit(some, [])):
        with pytest.raises(ValueError, match="got no graphs"):
            ask([])


def test_not_fitted_is_told_first(one):
    for name in ("predict", "explain", "save", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(one.make(), name)("nothing that could be read")


def test_parameters(one):
    model = one.make(ratio=0.3)
    params = model.get_params()
    assert clone(model).get_params() == params
    assert vars(model) == params  # the constructor does nothing but keep them
    assert one.kind().set_params(**params).get_params() == params
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        model.set_params(no_such=1)
    one.fitted(ratio=0.3)
    assert model.get_params() == params
    assert not hasattr(clone(FITTED.get(one.kind) or one.fitted()), "model_")


def test_a_fit_does_not_depend_on_the_one_before(one, fitted):
    expected = fitted.predict(one.graphs)
    again = one.make().fit(one.graphs[::-1], np.concatenate(by_graph(one)[::-1]))
    again.fit(one.graphs, one.y)
    assert (again.predict(one.graphs) == expected).all()
    assert len(again.history_) == FEW["epochs"]


def by_graph(one: Case) -> list[np.ndarray]:
    return np.split(one.y, np.cumsum(one.rows)[:-1])


def test_neither_fit_nor_predict_changes_its_input(one):
    graphs, y = copy.deepcopy(one.graphs), one.y.copy()
    model = one.make().fit(graphs, y)
    for use in (model.predict, model.explain, model.transform):
        use(graphs)
    assert (y == one.y).all()
    for before, after in zip(one.graphs, graphs, strict=True):
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before.keys())  # noqa: SIM118


def test_answers_have_the_form_that_scikit_learn_expects(one, fitted):
    found = fitted.predict(one.graphs)
    assert found.shape == (sum(one.rows),)
    if one.numbers:
        assert found.dtype == np.float32
        return
    shares = fitted.predict_proba(one.graphs)
    assert shares.shape == (sum(one.rows), 2)
    assert np.allclose(shares.sum(1), 1)
    assert (fitted.classes_[shares.argmax(1)] == found).all()
    assert found.dtype == fitted.classes_.dtype
    assert 0 <= fitted.score(one.graphs, one.y) <= 1


@pytest.mark.parametrize("labels", [("b", "a"), (True, False), (7, 3), (0.5, 1.5)], ids=str)
@pytest.mark.parametrize("kind", [GraphClassifier, NodeClassifier])
def test_types_of_labels(kind, labels, tmp_path):
    one = CASES[kind]
    codes = np.unique(one.y, return_inverse=True)[1]
    y = [labels[code] for code in codes]
    model = one.make().fit(one.graphs, y)
    assert model.classes_.tolist() == sorted(labels)
    found = model.predict(one.graphs)
    assert {type(label) for label in found.tolist()} == {type(labels[0])}
    assert (one.make().fit(one.graphs, np.array(y)).predict(one.graphs) == found).all()
    model.save(tmp_path)
    assert kind.load(tmp_path).predict(one.graphs).tolist() == found.tolist()


@pytest.mark.parametrize("kind", [GraphRegressor, NodeRegressor])
def test_types_of_numbers(kind):
    one = CASES[kind]
    expected = one.fitted().predict(one.graphs)
    for y in (one.y.tolist(), torch.from_numpy(one.y), one.y[:, None], one.y.astype(np.float32)):
        assert np.allclose(one.make().fit(one.graphs, y).predict(one.graphs), expected)
    with pytest.raises(ValueError, match="regression needs numbers as labels"):
        one.make().fit(one.graphs, ["a"] * len(one.y))


def test_the_order_of_rows_in_the_labels_is_that_of_the_graphs(one):
    with pytest.raises(ValueError, match=f"got 3 labels for {sum(one.rows)} "):
        one.make().fit(one.graphs, one.y[:3])


def test_pickling_and_saving_keep_the_answers(one, fitted, tmp_path):
    fitted.save(tmp_path)
    copied, loaded = pickle.loads(pickle.dumps(fitted)), one.kind.load(tmp_path)
    assert copied.get_params() == fitted.get_params()
    refitted = clone(loaded).fit(one.graphs, one.y)  # which names the settings that were used
    for again in (copied, loaded, refitted):
        for ask, same in zip(asks(fitted), asks(again), strict=True):
            assert (ask(one.graphs) == same(one.graphs)).all()
        assert (again.transform(one.graphs) == fitted.transform(one.graphs)).all()
        assert again._repr_html_()
