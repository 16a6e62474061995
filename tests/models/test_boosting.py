"""Boosted trees as tensors: they answer as scikit-learn's do, and travel with a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import tiny
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.descriptors import describe_graphs
from gsina.graphs.task import Task
from gsina.methods.trees import WithTrees, mean_of_logits
from gsina.models import train
from gsina.models.boosting import grow_forest, grow_trees
from gsina.models.folder import load_model, save_model
from gsina.models.plan import Plan
from gsina.models.train import named_spec, train_model
from gsina.training import Settings
from gsina.training.distributed import Ranks

FEATURES = 6


def dataset(kind: str, outputs: int, count: int = 150, missing: bool = False) -> Dataset:
    """Graphs whose labels follow from their features."""
    graphs = tiny.motifs(count // 3)
    rows = torch.Generator().manual_seed(0)
    x = torch.randn(len(graphs), FEATURES, generator=rows)
    if kind == "multiclass":
        y: Any = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
    elif kind == "binary":
        y = (x[:, :outputs] + 0.3 * x[:, 2:3] > 0).float()
    else:
        y = x[:, :outputs] * 2 + x[:, 1:2].square()
    if missing:
        y[::3, 0] = float("nan")
    graphs = replace(graphs, y=y, graph_attr=x)
    half = len(graphs) // 2
    ids = torch.arange(len(graphs))
    splits = {"train": graphs[ids[:half]], "val": graphs[ids[half:]]}
    metric = {"regression": "rmse", "binary": "roc_auc"}.get(kind, "accuracy")
    return Dataset("trees", Task(kind, outputs, metric), splits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "outputs", "missing"),
    [
        ("binary", 1, False),
        ("binary", 2, True),
        ("multiclass", 3, False),
        ("regression", 1, False),
        ("regression", 2, True),
    ],
)
def test_they_answer_as_those_they_were_made_of(kind: str, outputs: int, missing: bool) -> None:
    data = dataset(kind, outputs, missing=missing)
    found = grow_trees(data, seed=3)(data.val.graph_attr)
    x, y, held = (
        values.numpy() for values in (data.train.graph_attr, data.train.y, data.val.graph_attr)
    )
    for column in range(1 if kind == "multiclass" else outputs):
        target = y if y.ndim == 1 else y[:, column]
        known = np.isfinite(target)
        if kind == "regression":
            model = HistGradientBoostingRegressor(random_state=3).fit(x[known], target[known])
            right = model.predict(held)
        else:
            model = HistGradientBoostingClassifier(random_state=3).fit(x[known], target[known])
            right = model.decision_function(held)
        ours = found if kind == "multiclass" else found[:, column]
        np.testing.assert_allclose(ours.numpy(), right, rtol=1e-4, atol=1e-4)


def counted(data: Dataset) -> Dataset:
    """The same data, whose last four features are counts."""
    names = ["a", "b", *(f"counts {number}" for number in range(FEATURES - 2))]
    origin = Origin(reading={"kind": "tensors", "version": 1, "descriptors": {"names": names}})
    return replace(data, origin=origin)


@pytest.mark.parametrize(
    ("kind", "outputs", "missing"),
    [("binary", 2, True), ("multiclass", 3, False), ("regression", 2, True)],
)
def test_a_forest_answers_as_that_it_was_made_of(kind: str, outputs: int, missing: bool) -> None:
    data = counted(dataset(kind, outputs, missing=missing))
    grown = grow_forest(data, seed=3)
    assert grown is not None
    assert min(grown.used()) == 2
    assert max(grow_trees(data, seed=3).used()) == 1
    found = grown(data.val.graph_attr).double().numpy()
    x, y, held = (
        values.numpy() for values in (data.train.graph_attr, data.train.y, data.val.graph_attr)
    )
    x, held, trees = x[:, 2:], held[:, 2:], 500
    for column in range(outputs):
        target = (y == column).astype(float) if kind == "multiclass" else y[:, column]
        known = np.isfinite(target)
        rows = x[known], target[known], np.ones(known.sum())
        if kind == "regression":
            forest = RandomForestRegressor(trees, max_features=1 / 3, random_state=3)
            right = forest.fit(*rows).predict(held)
        else:
            model = RandomForestClassifier(trees, random_state=3).fit(*rows)
            share = (trees * model.predict_proba(held)[:, 1] + 0.5) / (trees + 1)
            right = np.log(share if kind == "multiclass" else share / (1 - share))
        np.testing.assert_allclose(found[:, column], right, rtol=1e-4, atol=1e-5)


def test_counts_are_read_by_a_forest_and_the_network_is_a_quarter_of_the_answer(
    tmp_path: Path,
) -> None:
    data = counted(dataset("binary", 1))
    spec = named_spec("gin", data.train.num_features, 1, {"hidden_channels": 8}, FEATURES)
    model = train_model(data, Plan(spec, settings=Settings(1, 64), trees=True)).model
    assert isinstance(model.method, WithTrees)
    parts = [model.trees(data.val, part) for part in ("trees", "forest")]
    parts.append(model.network_alone().predict(data.val).logits)
    answers = model.predict(data.val).logits
    trees, forest, network = parts
    torch.testing.assert_close(answers, 0.25 * network + 0.375 * (trees + forest))
    torch.testing.assert_close(model.trees(data.val), (trees + forest) / 2)
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model")
    torch.testing.assert_close(again.predict(data.val).logits, answers, rtol=0, atol=0)
    assert "boosted trees and a forest" in (tmp_path / "model" / "README.md").read_text()


def test_a_forest_without_two_classes_answers_with_the_share() -> None:
    data = counted(dataset("binary", 3))
    assert data.train.y is not None
    y = data.train.y.clone()
    y[:, 0], y[:, 1] = float("nan"), 1
    splits = {**data.splits, "train": replace(data.train, y=y)}
    grown = grow_forest(replace(data, splits=splits), 0)
    assert grown is not None
    found = grown(data.val.graph_attr)
    assert (found[:, 0] == 0).all()
    assert (found[:, 1] > 1).all()
    assert found.isfinite().all()


def test_one_yes_among_many_rows_is_enough() -> None:
    data = dataset("binary", 1, 300)
    many = torch.arange(10_500) % len(data.train)
    train = data.train[many]
    y = torch.zeros(len(train), 1)
    y[7] = 1
    rare = replace(data, splits={**data.splits, "train": replace(train, y=y)})
    assert grow_trees(rare, 0)(data.val.graph_attr).isfinite().all()


def test_features_on_a_threshold_go_where_they_went() -> None:
    data = dataset("binary", 1)
    assert data.train.graph_attr is not None
    whole = replace(data.train, graph_attr=data.train.graph_attr.mul(2).round().div(2))
    data = replace(data, splits={"train": whole, "val": whole})
    model = HistGradientBoostingClassifier(random_state=0, early_stopping=False)
    right = model.fit(whole.graph_attr.numpy(), whole.y.numpy()[:, 0]).decision_function(
        whole.graph_attr.numpy()
    )
    found = grow_trees(data, seed=0)(whole.graph_attr)[:, 0]
    np.testing.assert_allclose(found.numpy(), right, rtol=1e-4, atol=1e-4)


def test_a_target_of_one_class_answers_with_it() -> None:
    data = dataset("binary", 2)
    assert data.train.y is not None
    y = data.train.y.clone()
    y[:, 1] = 1
    train = replace(data.train, y=y)
    found = grow_trees(replace(data, splits={**data.splits, "train": train}), 0)(
        data.val.graph_attr
    )
    assert (found[:, 1] > 3).all()
    assert found[:, 0].std() > 0.5
    several = dataset("multiclass", 3)
    kept = several.train.y != 1
    two = replace(several, splits={**several.splits, "train": several.train[kept.nonzero()[:, 0]]})
    answers = grow_trees(two, 0)(two.val.graph_attr).argmax(1)
    assert set(answers.tolist()) == {0, 2}
    sure = (two.val.y == 2).numpy()
    assert (answers.numpy()[sure] == 2).mean() > 0.8


@pytest.mark.parametrize("members", [1, 2])
def test_the_model_is_the_mean_of_both_and_travels(members: int, tmp_path: Path) -> None:
    data = dataset("binary", 1)
    spec = named_spec("gin", data.train.num_features, 1, {"hidden_channels": 8}, FEATURES)
    plan = Plan(spec, settings=Settings(1, 64), trees=True, ensemble=members, seed=5)
    model = train_model(data, plan).model
    assert isinstance(model.method, WithTrees)
    found = model.predict(data.val)
    assert found.edge is not None
    bare = replace(
        model, method=model.method.network, architecture=replace(model.architecture, trees=None)
    )
    trees = grow_trees(data, 5)(data.val.graph_attr)
    torch.testing.assert_close(model.trees(data.val), trees)
    torch.testing.assert_close(found.logits, (bare.predict(data.val).logits + trees) / 2)
    other = replace(data.val, graph_attr=-data.val.graph_attr)
    torch.testing.assert_close(bare.predict(other).logits, bare.predict(data.val).logits)
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model")
    torch.testing.assert_close(again.predict(data.val).logits, found.logits, rtol=0, atol=0)
    assert "boosted trees" in (tmp_path / "model" / "README.md").read_text()


def test_graphs_without_features_are_described(tmp_path: Path) -> None:
    data = tiny.dataset(12)
    spec = named_spec("gin", data.train.num_features, 1, {"hidden_channels": 8})
    model = train_model(data, Plan(spec, settings=Settings(1, 64), trees=True)).model
    assert isinstance(model.method, WithTrees)
    how = model.featuriser["described"]
    assert len(how["kept"]) == model.architecture.graph_channels > 0
    given = replace(data.val, graph_attr=describe_graphs(data.val, how))
    answers = model.predict(data.val).logits
    torch.testing.assert_close(model.predict(given).logits, answers, rtol=0, atol=0)
    parts = model.network_alone().predict(data.val).logits, model.trees(data.val)
    both = mean_of_logits(parts, (0.5, 0.5), model.task)
    torch.testing.assert_close(answers, both)
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model")
    torch.testing.assert_close(again.predict(data.val).logits, answers, rtol=0, atol=0)


def test_of_graphs_that_differ_in_nothing_trees_say_the_share_of_each_class() -> None:
    data = tiny.dataset(3)
    same = {
        name: replace(one[[0] * len(one)], y=torch.arange(len(one)) % 3)
        for name, one in data.splits.items()
    }
    spec = named_spec("gin", data.train.num_features, 1, {"hidden_channels": 8})
    plan = Plan(spec, settings=Settings(1, 64), trees=True)
    model = train_model(replace(data, splits=same), plan).model
    assert model.architecture.graph_channels == 1
    shares = torch.bincount(torch.arange(len(data.train)) % 3) / len(data.train)
    said = model.trees(data.val).softmax(1)
    torch.testing.assert_close(said, shares.expand_as(said), rtol=0, atol=0.02)


def test_of_several_processes_the_first_grows_the_trees_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []

    class First(Ranks):
        def agree(self, value: Any) -> Any:
            sent.append(value)
            return value

    class Second(Ranks):
        def agree(self, value: Any) -> Any:
            assert value is None
            return sent[0]

    data = dataset("binary", 1)
    plan = Plan(named_spec("gin", tiny.FEATURES, 0, {}), trees=True)
    grown = train._grown(data, plan, [], First(0, 2))
    assert grown[1] is None  # a forest reads counts

    def refuse(*_: object) -> None:
        raise AssertionError("the second process grows trees")

    monkeypatch.setattr(train, "grow_trees", refuse)
    assert train._grown(data, plan, [], Second(1, 2)) is grown
