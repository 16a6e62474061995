"""Model and baselines: the best is named, and noise is told from more than noise."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tiny
from gsina.graphs.dataset import Dataset
from gsina.models.comparison import Contender, compare, main_scores, scores
from gsina.models.model import Model
from gsina.models.train import Plan, named_spec, score_splits, train_model
from gsina.training.loop import Settings


@pytest.fixture(scope="module")
def trained() -> tuple[Model, Dataset]:
    data = tiny.dataset(12)
    spec = named_spec("gin", data.train.num_features, 0, {"hidden_channels": 8, "num_layers": 2})
    model = train_model(data, Plan(spec, settings=Settings(epochs=1, batch_size=8))).model
    return replace(model, metrics=score_splits(model, data)[0]), data


def oracle(data: Dataset, right: bool = True) -> dict[str, torch.Tensor]:
    """Logits that are always right, or always wrong."""
    found = {}
    for split, graphs in data.splits.items():
        assert graphs.y is not None
        hot = torch.nn.functional.one_hot(graphs.y, data.task.outputs).float()
        found[split] = hot if right else -hot
    return found


def test_a_model_against_itself_is_noise(trained: tuple[Model, Dataset]) -> None:
    model, data = trained
    same = Contender.of(model, data)._replace(name="erm")
    found = compare(model, [same], data)
    assert (found["difference"], found["low"], found["high"]) == (0, 0, 0)
    said = "Equal on validation data: gsina and ERM (accuracy "
    assert found["verdict"].startswith(said)
    assert "noise" not in found["verdict"]
    assert found["metrics"]["erm"]["val"]["accuracy"] == model.metrics["val"]["accuracy"]
    assert scores(same, model, data)["test"]["loss"] == pytest.approx(model.metrics["test"]["loss"])


def test_the_best_baseline_is_the_rival(trained: tuple[Model, Dataset]) -> None:
    model, data = trained
    rivals = [Contender("erm", oracle(data, False)), Contender("forest", oracle(data))]
    found = compare(model, rivals, data)
    assert found["rival"] == "forest"
    assert found["difference"] < 0
    assert found["verdict"].startswith("Best on validation data: random forest (accuracy 100.0 %")
    assert found["rows"] == len(data.val)
    worse = compare(model, rivals[:1], data)
    assert worse["difference"] > 0
    assert worse["low"] > 0
    assert worse["verdict"].startswith("Best on validation data: gsina")
    assert "is more than noise" in worse["verdict"]
    assert compare(model, rivals, data) == found  # the same resamples
    table = main_scores("gsina", model.metrics, found, "accuracy")
    assert list(table) == ["gsina", "ERM", "random forest"]
    assert table["random forest"]["test"] == "100.0 %"


def test_nothing_to_compare_with(trained: tuple[Model, Dataset]) -> None:
    assert compare(trained[0], [], trained[1]) == {}


def test_a_metric_that_is_not_defined(trained: tuple[Model, Dataset]) -> None:
    model, data = trained
    assert data.val.y is not None
    silent = replace(data.val, y=torch.full_like(data.val.y, -1))
    data = replace(data, splits={**data.splits, "val": silent})
    found = compare(model, [Contender("forest", oracle(trained[1]))], data)
    assert "not defined" in found["verdict"]


def test_few_labels_of_a_class_are_too_few_to_tell(trained: tuple[Model, Dataset]) -> None:
    model, data = trained
    assert data.val.y is not None
    first = (data.val.y == 0).nonzero().flatten()
    y = data.val.y.clone()
    y[first[1:]] = 1
    data = replace(data, splits={**data.splits, "val": replace(data.val, y=y)})
    found = compare(model, [Contender("erm", oracle(data, False))], data)
    assert found["difference"] > 0
    assert found["rarest"] == 1
    assert "The validation split is too small to tell" in found["verdict"]
    assert "1 of the rarest class" in found["verdict"]
    assert "more than noise" not in found["verdict"]
