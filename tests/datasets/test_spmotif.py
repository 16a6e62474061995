"""Tests of the Spurious-Motif generator against its published description and statistics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from gsina.datasets import spmotif
from gsina.datasets.registry import DATASETS
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

SPLITS = ("train", "val", "test", "id_test")
MOTIFS = (nx.cycle_graph(5), nx.house_graph(), nx.complete_bipartite_graph(2, 3))
TREE_NODES = {(2, h): 2 ** (h + 1) - 1 for h in range(6)} | {
    (3, h): (3 ** (h + 1) - 1) // 2 for h in range(6)
}


@cache
def drawn(bias: float, split: str, num_per_class: int | None = None) -> PackedGraphs:
    return spmotif.generate(bias, split, num_per_class)


def many(bias: float, split: str) -> PackedGraphs:
    """So many graphs that chance moves their means by less than the tolerance of a test."""
    return drawn(bias, split, 10_000)


def counts(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """Nodes and edges of each graph."""
    return graphs.node_ptr.diff(), graphs.edge_ptr.diff()


def edge_graph(graphs: PackedGraphs) -> Tensor:
    return torch.repeat_interleave(graphs.edge_ptr.diff())


def per_graph(graphs: PackedGraphs, edges: Tensor) -> Tensor:
    """How many of the marked edges ``[E]`` each graph has."""
    return torch.bincount(edge_graph(graphs)[edges], minlength=len(graphs))


def ends_in_motif(graphs: PackedGraphs) -> Tensor:
    """Number of motif nodes at the ends of each edge, 0 to 2."""
    base_nodes = (graphs.node_ptr.diff() - 5)[edge_graph(graphs)]
    return (graphs.edge_index >= base_nodes).sum(0)


def bases(graphs: PackedGraphs) -> Tensor:
    """Base of every graph, read off its shape: 0 tree, 1 ladder, 2 wheel."""
    base_nodes = graphs.node_ptr.diff() - 5
    inside = ends_in_motif(graphs) == 0
    hub_edges = per_graph(graphs, (graphs.edge_index[0] == 0) & inside)
    wheel = (hub_edges == base_nodes - 1) & (base_nodes >= 15)
    tree = torch.isin(base_nodes, torch.tensor(list(TREE_NODES.values()))) & ~wheel
    return torch.where(wheel, 2, torch.where(tree, 0, 1))


def skeleton(base: int, base_nodes: int, label: int) -> nx.Graph:
    """Base and motif as networkx builds them, not joined."""
    if base == 0:
        arity, height = next(key for key, nodes in TREE_NODES.items() if nodes == base_nodes)
        graph = nx.balanced_tree(arity, height)
    elif base == 1:
        graph = nx.ladder_graph(base_nodes // 2)
    else:
        graph = nx.wheel_graph(base_nodes)
    graph.add_nodes_from(range(base_nodes, base_nodes + 5))
    graph.add_edges_from((u + base_nodes, v + base_nodes) for u, v in spmotif.MOTIFS[label])
    return graph


def some(graphs: PackedGraphs, number: int) -> Iterator[tuple[Any, int]]:
    """Some graphs of all classes, and their base."""
    ids = torch.linspace(0, len(graphs) - 1, number).long()
    yield from zip(graphs[ids].to_pyg(), bases(graphs)[ids].tolist(), strict=True)


@pytest.mark.parametrize(
    ("bias", "split", "nodes", "edges", "least", "most", "share"),
    [
        (0.5, "train", 22.32, 32.05, 7, 47, 0.177),
        (0.7, "train", 23.89, 33.83, 7, 47, 0.168),
        (0.9, "train", 25.36, 35.45, 7, 47, 0.160),
        (0.5, "val", 26.18, 36.33, 20, 48, 0.156),
        (0.5, "test", 89.11, 131.58, 20, 388, 0.043),
        (0.5, "id_test", 22.32, 32.05, 7, 47, 0.177),
    ],
)
def test_published_statistics(
    bias: float, split: str, nodes: float, edges: float, least: int, most: int, share: float
) -> None:
    graphs = many(bias, split)
    node_count, edge_count = counts(graphs)
    assert node_count.float().mean().item() == pytest.approx(nodes, rel=0.02)
    assert edge_count.float().mean().item() == pytest.approx(edges, rel=0.02)
    assert (int(edge_count.min()), int(edge_count.max())) == (least, most)
    assert graphs.edge_truth.float().mean().item() == pytest.approx(share, rel=0.02)


def test_class_means_in_training() -> None:
    graphs = many(0.5, "train")
    expected = [(27.65, 35.18), (19.90, 29.68), (19.40, 31.28)]
    for label, (nodes, edges) in enumerate(expected):
        node_count, edge_count = (c[graphs.y == label].float() for c in counts(graphs))
        assert node_count.mean().item() == pytest.approx(nodes, rel=0.02)
        assert edge_count.mean().item() == pytest.approx(edges, rel=0.02)


def test_quantiles_of_the_test_split() -> None:
    edges = counts(many(0.5, "test"))[1].numpy()
    found = np.quantile(edges, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    assert found == pytest.approx([20, 22, 102, 134, 152, 387, 388], rel=0.02)


def test_share_of_the_motif_in_the_test_split() -> None:
    graphs = many(0.5, "test")
    share = per_graph(graphs, graphs.edge_truth) / counts(graphs)[1]
    means = [share[graphs.y == label].mean().item() for label in range(3)]
    assert means == pytest.approx([0.057, 0.068, 0.069], rel=0.03)
    assert share.mean().item() == pytest.approx(0.065, rel=0.02)


@pytest.mark.parametrize(("bias", "mean"), [(0.5, 1.39), (0.7, 1.44), (0.9, 1.48)])
def test_edges_between_motif_and_base(bias: float, mean: float) -> None:
    graphs = many(bias, "train")
    crossing = per_graph(graphs, ends_in_motif(graphs) == 1)
    assert crossing.float().mean().item() == pytest.approx(mean, rel=0.03)
    assert (int(crossing.min()), int(crossing.max())) == (1, 3)
    # Motif node 0 has at least one of them: the edge that joins motif and base.
    first = (graphs.node_ptr.diff() - 5)[edge_graph(graphs)]
    joint = (graphs.edge_index[1] == first) & (graphs.edge_index[0] < first)
    assert int(per_graph(graphs, joint).min()) == 1


@pytest.mark.parametrize("split", SPLITS)
def test_sizes_types_and_labels(split: str) -> None:
    graphs = drawn(0.5, split)
    per_class = {"train": 3000, "val": 1000, "test": 2000, "id_test": 1000}[split]
    assert graphs.y is not None
    assert torch.equal(graphs.y, torch.arange(3).repeat_interleave(per_class))
    nodes, edges = graphs.x.size(0), graphs.edge_index.size(1)
    assert graphs.x.shape == (nodes, 4)
    assert graphs.x.dtype == torch.float32
    assert 0 <= float(graphs.x.min()) < 0.001
    assert 0.999 < float(graphs.x.max()) < 1
    assert graphs.x.mean(0).tolist() == pytest.approx([0.5] * 4, abs=0.005)
    assert torch.equal(graphs.edge_attr, torch.ones(edges, 1))
    assert graphs.edge_index.dtype == torch.long
    assert graphs.environment is None


@pytest.mark.parametrize("split", SPLITS)
def test_edges_are_one_way_sorted_and_single(split: str) -> None:
    graphs = drawn(0.5, split)
    source, target = graphs.edge_index
    assert bool((source < target).all())
    assert graphs.reverse is None
    place = edge_graph(graphs) * 1000 + source
    assert bool((place.diff() >= 0).all())
    assert (place * 1000 + target).unique().numel() == source.numel()
    # Every node has an edge, so ids have no gaps.
    ends = (graphs.edge_index + graphs.node_ptr[edge_graph(graphs)]).unique()
    assert torch.equal(ends, torch.arange(graphs.x.size(0)))


@pytest.mark.parametrize("split", SPLITS)
def test_truth_is_the_motif(split: str) -> None:
    graphs = drawn(0.5, split)
    assert torch.equal(per_graph(graphs, graphs.edge_truth), torch.tensor([5, 6, 6])[graphs.y])
    assert torch.equal(graphs.edge_truth, ends_in_motif(graphs) == 2)
    node_graph = torch.repeat_interleave(graphs.node_ptr.diff())
    assert torch.equal(torch.bincount(node_graph[graphs.node_truth]), torch.full((len(graphs),), 5))
    assert bool(graphs.node_truth[graphs.node_ptr[1:, None] - torch.arange(1, 6)].all())
    for graph, _ in some(graphs, 60):
        motif = nx.Graph(graph.edge_index[:, graph.edge_truth].T.tolist())
        assert nx.is_isomorphic(motif, MOTIFS[int(graph.y)])


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_base_and_motif_are_those_of_networkx(split: str) -> None:
    """Also their order: by source, then by insertion, as networkx lists them."""
    for graph, base in some(drawn(0.5, split), 150):
        expected = skeleton(base, graph.num_nodes - 5, int(graph.y))
        edges = [tuple(pair) for pair in graph.edge_index.T.tolist()]
        assert [pair for pair in edges if expected.has_edge(*pair)] == list(expected.edges)
        # What is left is the joint and the extra edges that were not lost.
        tries = int(0.05 * (expected.number_of_edges() + 1))
        assert 0 <= len(edges) - expected.number_of_edges() - 1 <= tries


def test_lost_tries() -> None:
    """A try is lost exactly if it hits a pair of motif nodes: not oftener, not rarer."""
    graphs = spmotif.generate(0.5, "val", num_per_class=5000, seed=3)
    nodes, edges = counts(graphs)
    motif = torch.tensor([5, 6, 6])[graphs.y]
    base_edges = torch.stack([nodes - 6, 3 * (nodes - 5) // 2 - 2, 2 * (nodes - 6)])
    full = base_edges.gather(0, bases(graphs)[None])[0] + motif + 1
    tries = full // 20
    lost = full + tries - edges
    assert bool((lost >= 0).all())
    assert bool((lost <= tries).all())
    expected = float((tries * (10 - motif) / (nodes * (nodes - 1) // 2 - full)).sum())
    assert int(lost.sum()) == pytest.approx(expected, abs=4 * expected**0.5)


def test_extra_edges_are_uniform() -> None:
    """On wheels of 15 nodes, every pair that is no edge is drawn equally often."""
    graphs = spmotif.generate(1 / 3, "val", num_per_class=20000)
    nodes = graphs.node_ptr.diff()
    graphs = graphs[(bases(graphs) == 2) & (nodes == 20) & (graphs.y == 0)]
    pairs = np.zeros((20, 20))
    np.add.at(pairs, tuple(graphs.edge_index.numpy()), 1)
    known = nx.to_numpy_array(skeleton(2, 15, 0)) > 0
    free = np.triu(~known, 1)
    free[15:, 15:] = False  # Lost.
    free[:15, 15] = False  # Mixed with the joint.
    hits = pairs[free]
    expected = len(graphs) / (20 * 19 / 2 - 34)
    assert hits.mean() == pytest.approx(expected, rel=0.06)
    assert ((hits - expected) ** 2 / expected).mean() == pytest.approx(1, abs=0.5)
    joints = pairs[:15, 15]
    assert joints.min() > 0.6 * joints.mean()


@pytest.mark.parametrize("bias", [1 / 3, 0.5, 0.9])
def test_bias_is_in_training_only(bias: float) -> None:
    for split in ("train", "id_test", "val", "test"):
        graphs = drawn(bias, split)
        found = bases(graphs)
        for label in range(3):
            share = torch.bincount(found[graphs.y == label], minlength=3) / (len(graphs) / 3)
            b = bias if split in ("train", "id_test") else 1 / 3
            expected = [b if base == label else (1 - b) / 2 for base in range(3)]
            assert share.tolist() == pytest.approx(expected, abs=0.04), (split, label)


def test_tree_heights() -> None:
    for split, label, heights in [
        ("train", 0, {3}),
        ("train", 1, {0, 1, 2}),
        ("train", 2, {0, 1, 2}),
        ("id_test", 1, {0, 1, 2}),
        ("val", 0, {3}),
        ("val", 1, {3}),
        ("val", 2, {3}),
        ("test", 0, {3, 4, 5}),
        ("test", 2, {3, 4, 5}),
    ]:
        graphs = drawn(0.5, split)
        chosen = (graphs.y == label) & (bases(graphs) == 0)
        sizes = set((graphs.node_ptr.diff()[chosen] - 5).tolist())
        expected = {TREE_NODES[arity, height] for arity in (2, 3) for height in heights}
        assert sizes == expected, (split, label)


@pytest.mark.parametrize(
    ("split", "ladders", "wheels"),
    [("train", range(8, 12), range(15, 20)), ("test", range(30, 50), range(60, 80))],
)
def test_ladders_and_wheels(split: str, ladders: range, wheels: range) -> None:
    graphs = drawn(0.5, split)
    sizes, base = graphs.node_ptr.diff() - 5, bases(graphs)
    assert set(sizes[base == 1].tolist()) == {2 * w for w in ladders}
    assert set(sizes[base == 2].tolist()) == set(wheels)


def test_validation_graphs_may_be_half_as_large_as_those_of_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    usual = spmotif.load(0.7, num_per_class=100)
    other = spmotif.load(0.7, num_per_class=100, validation="middle")
    for split in ("train", "test", "id_test"):
        assert same(usual.splits[split], other.splits[split])
    sizes, base = other.val.node_ptr.diff() - 5, bases(other.val)
    assert set(sizes[base == 1].tolist()) <= {2 * rungs for rungs in range(16, 24)}
    assert set(sizes[base == 2].tolist()) <= set(range(30, 40))
    trees = {TREE_NODES[arity, height] for arity in (2, 3) for height in (3, 4)}
    assert set(sizes[base == 0].tolist()) == trees
    assert base.bincount().min() > 60  # as many of each, whatever the bias
    with pytest.raises(ValueError, match="size of the validation graphs' bases 'large'"):
        spmotif.load(0.7, validation="large")


def same(left: PackedGraphs, right: PackedGraphs) -> bool:
    return all(torch.equal(value, getattr(right, name)) for name, value in left.tensors().items())


def test_same_seed_same_graphs_whatever_was_drawn_before() -> None:
    first = spmotif.generate(0.7, "train", 50, seed=4)
    spmotif.generate(0.7, "test", 20, seed=4)
    np.random.default_rng().random()
    torch.rand(3)
    assert same(first, spmotif.generate(0.7, "train", 50, seed=4))
    assert not torch.equal(first.x[:9], spmotif.generate(0.7, "train", 50, seed=5).x[:9])


def test_splits_are_apart() -> None:
    parts = [spmotif.generate(0.5, split, 50).x[:20] for split in SPLITS]
    values = torch.cat(parts).flatten()
    assert values.unique().numel() > 0.99 * values.numel()


def test_bias_leaves_val_and_test_alone() -> None:
    for split in ("val", "test"):
        assert same(spmotif.generate(0.5, split, 30), spmotif.generate(0.9, split, 30))


def test_one_graph_per_class() -> None:
    for seed in range(30):
        graphs = spmotif.generate(0.5, "train", num_per_class=1, seed=seed)
        assert len(graphs) == 3
        assert per_graph(graphs, graphs.edge_truth).tolist() == [5, 6, 6]


def test_load_caches_one_file_a_bias_and_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    monkeypatch.setattr(spmotif, "PER_CLASS", dict.fromkeys(SPLITS, 20))
    dataset = DATASETS["spmotif"].load(bias=0.7)
    assert dataset.name == "spmotif"
    assert dataset.task == Task("multiclass", 3, "accuracy")
    assert list(dataset.splits) == list(SPLITS)
    for split, graphs in dataset.splits.items():
        assert same(graphs, spmotif.generate(0.7, split, 20))
    monkeypatch.setattr(spmotif, "generate", None)  # From here on only the cache can answer.
    again = spmotif.load(np.float64(0.7))
    assert all(same(graphs, again.splits[split]) for split, graphs in dataset.splits.items())
    both = spmotif.load(0.7, undirected=True)
    assert both.train.edge_index.size(1) == 2 * dataset.train.edge_index.size(1)
    assert int(both.train.edge_truth.sum()) == 2 * int(dataset.train.edge_truth.sum())
    assert torch.equal(both.test.x, dataset.test.x)
    assert len(list(tmp_path.iterdir())) == 1
    for other in ({"bias": 0.71}, {"bias": 0.7, "seed": 1}):
        with pytest.raises(TypeError):
            spmotif.load(**other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bias": 1.0}, "bias must lie between 1/3 .* got 1.0"),
        ({"bias": 0.32}, "got 0.32"),
        ({"bias": -0.5}, "got -0.5"),
        ({"bias": float("nan")}, "got nan"),
        ({"split": "tset"}, "unknown split of spmotif 'tset'; did you mean 'test'"),
        ({"num_per_class": 0}, "num_per_class must be at least 1, got 0"),
        ({"num_per_class": -3}, "at least 1, got -3"),
        ({"bases": "huge"}, "unknown size of the bases of spmotif 'huge'"),
        ({"seed": -1}, "seed must be 0 or larger, got -1"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        spmotif.generate(**arguments)
    assert "\n" not in str(caught.value)
    if set(arguments) <= {"bias", "seed"}:
        with pytest.raises(ValueError, match=message):
            spmotif.load(**arguments)


def test_speed() -> None:
    start = time.process_time()
    for split in ("train", "val", "test"):
        spmotif.generate(0.6, split)
    assert time.process_time() - start < 20
