"""SPMotif-Struc and SPMotif-Mixed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gsina.datasets import spmotif
from gsina.datasets.catalog import load_dataset
from gsina.graphs.packed import PackedGraphs


def numbers(graphs: PackedGraphs) -> torch.Tensor:
    """The feature of each graph; all nodes and columns of it must have the same."""
    first = graphs.x[graphs.node_ptr[:-1], 0]
    assert torch.equal(
        graphs.x, first.repeat_interleave(graphs.node_ptr.diff())[:, None].repeat(1, 4)
    )
    return first.long()


def information(a: torch.Tensor, b: torch.Tensor) -> float:
    """Mutual information of two numbers 0 .. 2, in nats."""
    joint = np.histogram2d(a.numpy(), b.numpy(), bins=3)[0] / len(a)
    product = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def test_struc_is_spurious_motif_with_a_smaller_test_set() -> None:
    dataset = load_dataset("spmotif-struc", bias=0.6)
    sizes = {split: len(part) for split, part in dataset.splits.items()}
    assert sizes == {"train": 9000, "val": 3000, "test": 3000, "id_test": 3000}
    plain = spmotif.generate(0.6, "train")
    assert torch.equal(dataset.train.x, plain.x)
    assert torch.equal(dataset.train.edge_index, plain.edge_index)
    assert dataset.train.edge_attr is None
    assert dataset.test.edge_truth is not None
    for part in dataset.splits.values():
        assert bool((part.edge_index[0] < part.edge_index[1]).all())


@pytest.mark.parametrize(
    ("bias", "split", "nodes", "edges"),
    [
        (0.33, "train", 21.1, 30.9),
        (0.6, "train", 23.1, 33.1),
        (0.9, "train", 25.4, 35.5),
        (0.6, "val", 26.1, 36.3),
        (0.6, "test", 89.6, 132.3),
    ],
)
def test_statistics(bias: float, split: str, nodes: float, edges: float) -> None:
    part = load_dataset("spmotif-struc", bias=bias).splits[split]
    tolerance = 0.04 if split == "test" else 0.02  # the standard error of the nodes is 1.5 %
    assert part.x.size(0) / len(part) == pytest.approx(nodes, rel=tolerance)
    assert part.edge_index.size(1) / len(part) == pytest.approx(edges, rel=tolerance)


@pytest.mark.parametrize("bias", [0.33, 0.6, 0.9])
def test_mixed_features_mislead_in_training_only(bias: float) -> None:
    dataset = load_dataset("spmotif-mixed", bias=bias)
    struc = load_dataset("spmotif-struc", bias=bias)
    for split, part in dataset.splits.items():
        c, y = numbers(part), part.y
        assert y is not None
        assert torch.equal(part.edge_index, struc.splits[split].edge_index)
        if split in ("train", "id_test"):
            assert float((c == y).float().mean()) == pytest.approx(bias, abs=0.02)
            others = (c - y)[c != y] % 3
            assert float((others == 1).float().mean()) == pytest.approx(0.5, abs=0.06)
        else:
            assert information(c, y) < 0.003
            assert torch.bincount(c).min() > 0.3 * len(c)


@pytest.mark.parametrize("variant", ["struc", "mixed"])
def test_iid_draws_all_splits_from_the_test_distribution(variant: str) -> None:
    dataset = load_dataset(f"spmotif-{variant}", iid=True, num_per_class=300)
    assert list(dataset.splits) == ["train", "val", "test"]
    means = []
    for part in dataset.splits.values():
        assert part.y is not None
        assert torch.bincount(part.y).tolist() == [300, 300, 300]
        means.append(part.x.size(0) / len(part))
        if variant == "mixed":
            assert information(numbers(part), part.y) < 0.02
    assert min(means) > 75  # training graphs of the shifted data have 21 to 25 nodes
    first = [part.edge_index[:, :500] for part in dataset.splits.values()]
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[2])


def test_options() -> None:
    small = load_dataset("spmotif-struc", bias=0.9, num_per_class=20)
    assert len(small.train) == 60
    both = load_dataset("spmotif-struc", bias=0.9, num_per_class=20, undirected=True)
    assert both.train.edge_index.size(1) == 2 * small.train.edge_index.size(1)
    other = load_dataset("spmotif-struc", bias=0.9, num_per_class=20, seed=1)
    assert not torch.equal(other.train.node_ptr, small.train.node_ptr)
    mixed = load_dataset("spmotif-mixed", num_per_class=20)
    assert not torch.equal(
        numbers(mixed.train), numbers(load_dataset("spmotif-mixed", num_per_class=20, seed=1).train)
    )
    with pytest.raises(ValueError, match="bias must lie between 1/3"):
        load_dataset("spmotif-mixed", bias=0.2)
