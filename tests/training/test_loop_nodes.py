"""Node level through the loop: every method and backbone, full graphs and samples of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny_nodes
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.graphs.dataset import Dataset
from gsina.graphs.neighbours import sampled_batches
from gsina.methods import GSINA, METHODS, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, evaluate, fit, make_selection, seed_everything

QUICK: dict[str, dict[str, Any]] = {
    "gsina": {"scorer": "plain"},
    "eerm": {"views": 2, "edits": 1},
}
ADAMW = {"algorithm": "adamw", "weight_decay": 1e-3, "learning_rate": 0.02}


def train(
    name: str, dataset: Dataset, backbone: str = "gcn", out: Path | None = None, **settings: Any
) -> tuple[Any, Any]:
    seed_everything(0)
    spec = NetworkSpec(backbone, tiny_nodes.FEATURES, 0, {"hidden_channels": 8, "num_layers": 2})
    method = build_method(name, spec, dataset.task, QUICK.get(name, {}))
    chosen = Settings(**({"epochs": 30, "batch_size": 3} | ADAMW | settings))
    resume = out is not None
    rule = make_selection("first-best")
    return method, fit(method, dataset, chosen, rule, out=out, resume=resume)


NODE_METHODS = [name for name, entry in METHODS.items() if "node" in entry.levels]


@pytest.mark.parametrize("name", NODE_METHODS)
@pytest.mark.parametrize("mask", [False, True])
def test_methods_learn_labels_of_nodes(name: str, mask: bool) -> None:
    dataset = tiny_nodes.dataset(2, mask=mask)
    method, progress = train(name, dataset, "sage")
    assert len(progress.history) == 30
    for split in ("val", "test-a", "test-b"):
        assert evaluate(method, dataset.splits[split], dataset.task)["accuracy"] > 0.75


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat", "gprgnn", "gin"])
def test_gsina_on_every_backbone(backbone: str) -> None:
    dataset = tiny_nodes.dataset()
    method, _ = train("gsina", dataset, backbone, epochs=40)
    assert isinstance(method, GSINA)
    assert method.attention.node == "none"  # off where nodes are classified
    assert evaluate(method, dataset.val, dataset.task)["accuracy"] > 0.7
    batch = dataset.val.batch([0])
    attention = method.eval()(batch).attention
    assert float(attention.edge.detach().mean()) == pytest.approx(0.5, abs=1e-5)
    assert attention.node is None
    assert batch.reverse is not None
    assert torch.equal(attention.edge, attention.edge[batch.reverse])


def test_node_attention_multiplies_states_if_asked_for() -> None:
    spec = NetworkSpec("gcn", tiny_nodes.FEATURES, 0, {"hidden_channels": 8})
    torch.manual_seed(0)
    method = build_method("gsina", spec, tiny_nodes.TASK, {"node": "max"}).eval()
    batch = tiny_nodes.graphs().batch([0])
    logits, attention = method(batch)
    plain = method.predictor.embed(batch, attention.edge)  # type: ignore[union-attr, operator]
    torch.testing.assert_close(logits, plain * attention.node[:, None])


@pytest.mark.parametrize("name", ["erm", "eerm", "gsina"])
@pytest.mark.parametrize("neighbours", [None, (4, 4)])
def test_a_resumed_run_is_the_same(
    name: str, neighbours: tuple[int, ...] | None, tmp_path: Path
) -> None:
    dataset = tiny_nodes.dataset(3)
    settings: dict[str, Any] = {"batch_size": 1}
    if neighbours is not None:
        settings = {"batch_size": 32, "neighbours": neighbours}
    whole, _ = train(name, dataset, epochs=6, **settings)
    train(name, dataset, epochs=3, out=tmp_path, **settings)
    torch.rand(3)
    again, progress = train(name, dataset, epochs=6, out=tmp_path, **settings)
    assert len(progress.history) == 6
    expected = whole.state_dict()
    assert all(torch.equal(value, expected[key]) for key, value in again.state_dict().items())


@pytest.mark.parametrize("name", ["erm", "gsina"])
def test_sampled_neighbours_learn_as_well_as_whole_graphs(name: str) -> None:
    dataset = tiny_nodes.dataset(1, nodes=300)
    scores = []
    for settings in ({"epochs": 40}, {"epochs": 10, "batch_size": 64, "neighbours": (4, 4)}):
        method, _ = train(name, dataset, "sage", **settings)
        scores.append(evaluate(method, dataset.splits["test-a"], dataset.task)["accuracy"])
    assert min(scores) > 0.85
    assert abs(scores[0] - scores[1]) < 0.08


def test_ratio_holds_in_every_sampled_subgraph() -> None:
    dataset = tiny_nodes.dataset(2, nodes=100)
    method, _ = train("gsina", dataset, epochs=1)
    method.eval()
    for batch in sampled_batches(dataset.train, 20, [3, 3], torch.Generator().manual_seed(0)):
        edge = method(batch).attention.edge.detach()
        for graph in range(batch.num_graphs):
            assert float(edge[batch.edge_graph == graph].mean()) == pytest.approx(0.5, abs=1e-5)


def test_algorithms_differ_and_are_checked() -> None:
    dataset = tiny_nodes.dataset()
    settings = {"weight_decay": 0.3, "epochs": 5}
    one, _ = train("erm", dataset, algorithm="adam", **settings)
    two, _ = train("erm", dataset, algorithm="adamw", **settings)
    first, second = (next(iter(method.parameters())) for method in (one, two))
    assert not torch.allclose(first, second)
    with pytest.raises(ValueError, match="unknown algorithm 'adamax'; did you mean 'adam'"):
        train("erm", dataset, algorithm="adamax")


def test_scores_of_several_graphs_together_or_each() -> None:
    graphs = tiny_nodes.graphs(2, mask=True)
    method, _ = train("erm", tiny_nodes.dataset(), epochs=1)
    together = replace(tiny_nodes.TASK, per_graph=False)
    apart = replace(tiny_nodes.TASK, per_graph=True)
    each = [evaluate(method, graphs[[k]], together)["accuracy"] for k in (0, 1)]
    assert each[0] != each[1]
    assert evaluate(method, graphs, apart)["accuracy"] == pytest.approx(sum(each) / 2)
    assert graphs.mask is not None
    sizes = graphs.mask.view(2, -1).sum(1)
    pooled = (each[0] * sizes[0] + each[1] * sizes[1]) / sizes.sum()
    assert evaluate(method, graphs, together)["accuracy"] == pytest.approx(float(pooled))


@pytest.mark.data
@pytest.mark.parametrize("name", ["erm", "gsina"])
def test_sampled_neighbours_on_cora(name: str) -> None:
    """Mini-batches of Cora come to the accuracy of the whole graph, within noise."""
    if not DATASETS["cora"].at_hand():
        pytest.skip("the files of Cora are not in the data folder")
    dataset = load_dataset("cora")
    spec = NetworkSpec("sage", dataset.train.num_features, 0, {"num_layers": 2})
    scores = []
    for settings in (
        {"epochs": 40, "batch_size": 1},
        {"epochs": 5, "batch_size": 512, "neighbours": (10, 10)},
    ):
        seed_everything(0)
        method = build_method(name, spec, dataset.task, QUICK.get(name, {}))
        chosen = Settings(**(ADAMW | settings))  # type: ignore[arg-type]
        fit(method, dataset, chosen, make_selection("first-best"))
        scores.append(evaluate(method, dataset.val, dataset.task)["accuracy"])
    majority = float(torch.bincount(dataset.val.node_y).max()) / dataset.val.x.size(0)  # type: ignore[arg-type]
    assert min(scores) > majority + 0.1
    assert abs(scores[0] - scores[1]) < 0.08
