"""Ensembles and devices behind an estimator."""

from __future__ import annotations

import numpy as np
import pytest

from estimator_cases import FEW, nodes, shapes
from gsina import GraphClassifier, GraphRegressor, NodeClassifier
from gsina.errors import InputError


def test_an_ensemble_answers_with_the_mean_of_its_members(tmp_path):
    graphs, labels = shapes(24)
    both = GraphClassifier(**FEW, ensemble=2, random_state=5).fit(graphs, labels)
    found = both.model_.predict(graphs)
    for place, seed in enumerate((5, 6)):
        # Another seed would hold out other graphs, so both are given the same.
        data = GraphClassifier(**FEW, random_state=5)._dataset(graphs, labels, None)
        alone = GraphClassifier(**FEW, random_state=seed).fit(data)
        logits = alone.model_.predict(graphs).logits
        np.testing.assert_array_equal(logits, found.members[:, place])
    assert both.spread(graphs).shape == (24,)
    assert both.predict_set(graphs).shape == (24, 2)
    assert len(both.explain(graphs)) == 24
    assert {record["member"] for record in both.history_} == {0, 1}
    both.save(tmp_path)
    again = GraphClassifier.load(tmp_path)
    assert again.ensemble == 2
    np.testing.assert_array_equal(again.predict_proba(graphs), both.predict_proba(graphs))


def test_numbers_and_nodes_have_a_spread_too():
    graphs, _ = shapes(24)
    sizes = [graph.num_nodes * 10.0 for graph in graphs]
    model = GraphRegressor(**FEW, ensemble=2).fit(graphs, sizes)
    members = model.model_.predict(graphs).members[:, :, 0].numpy()
    np.testing.assert_allclose(model.predict(graphs), members.mean(1), rtol=1e-5)
    np.testing.assert_allclose(model.spread(graphs), members.std(1), rtol=1e-3, atol=1e-4)
    data = nodes()
    few = {**FEW, "batch_size": None}
    assert NodeClassifier(**few, ensemble=2).fit(data).spread(data).shape == (60,)


def test_one_model_has_no_spread():
    graphs, labels = shapes(24)
    model = GraphClassifier(**FEW).fit(graphs, labels)
    with pytest.raises(ValueError, match="one member, so there is no spread"):
        model.spread(graphs)
    with pytest.raises(ValueError, match="ensemble must be a whole number"):
        GraphClassifier(**FEW, ensemble=0).fit(graphs, labels)


@pytest.mark.parametrize("kind", [GraphClassifier, NodeClassifier])
def test_a_device_is_a_parameter(kind, tmp_path):
    graphs, labels = (nodes(), None) if kind is NodeClassifier else shapes(24)
    few = {**FEW, "batch_size": None} if kind is NodeClassifier else FEW
    with pytest.raises(InputError, match="no device xpu:63 here"):
        kind(**few, device="xpu:63").fit(graphs, labels)
    model = kind(**few, device="cpu").fit(graphs, labels)
    model.save(tmp_path)
    assert kind.load(tmp_path, device="cpu").device == "cpu"
    with pytest.raises(InputError, match="no device xpu:63 here"):
        kind.load(tmp_path, device="xpu:63")


def test_a_network_for_pygs_explainers() -> None:
    from gsina.models.pyg import PygModel

    graphs, labels = shapes()
    model = GraphClassifier(**FEW).fit(graphs, labels)
    assert isinstance(model.as_pyg(), PygModel)
