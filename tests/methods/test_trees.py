"""Trees as tensors, and the mean of their answers and those of a network."""

from __future__ import annotations

import pytest
import torch

from gsina.graphs.task import Task
from gsina.methods.trees import BoostedTrees, Forest, mean_of_logits
from gsina.ops.compiled import torch_alone


def test_two_trees_are_walked_and_summed() -> None:
    made = BoostedTrees(trees=2, nodes=5, depth=2, outputs=2)
    made.base.copy_(torch.tensor([0.5, -1.0]))
    made.output.copy_(torch.tensor([0, 1]))
    # The first: x0 <= 1 ? 10 : (x1 <= 0 ? 20 : 30); the second is a leaf of 7.
    made.feature[0] = torch.tensor([0, 0, 1, 0, 0])
    made.threshold[0] = torch.tensor([1.0, 0, 0, 0, 0])
    made.left[0] = torch.tensor([1, 1, 3, 3, 4])
    made.right[0] = torch.tensor([2, 1, 4, 3, 4])
    made.value[0] = torch.tensor([0.0, 10, 0, 20, 30])
    made.value[1, 0] = 7.0
    x = torch.tensor([[1.0, 9.0], [1.5, 0.0], [2.0, 0.1]])
    right = torch.tensor([[10.5, 6.0], [20.5, 6.0], [30.5, 6.0]])
    torch.testing.assert_close(made(x), right)
    assert made.sizes == (2, 5, 2)
    assert made(x[:0]).shape == (0, 2)
    assert made.is_sound(2)
    assert not made.is_sound(1)
    made.left[0, 0] = 5
    assert not made.is_sound(2)


def forest(task: Task) -> Forest:
    """Two trees of the first output: x0 <= 1 ? 0.2 : (x1 <= 0 ? 0.4 : 1), and a leaf of 0."""
    made = Forest(trees=2, nodes=6, depth=2, task=task)
    made.feature.copy_(torch.tensor([0, 0, 1, 0, 0, 0]))
    made.right.copy_(torch.tensor([2, 0, 2, 0, 0, 0]))
    made.number.copy_(torch.tensor([1.0, 0.2, 0.0, 0.4, 1.0, 0.0]))
    made.root.copy_(torch.tensor([0, 5]))
    return made


def test_a_forest_is_the_mean_of_its_trees() -> None:
    x = torch.tensor([[1.0, 9.0], [1.5, 0.0], [2.0, 0.1]])
    means = torch.tensor([[0.1], [0.2], [0.5]])
    made = forest(Task("regression", 1, "rmse"))
    torch.testing.assert_close(made(x), means)
    assert made.used() == [0, 1]
    assert made.sizes == (2, 6, 2)
    assert made.is_sound(2)
    assert not made.is_sound(1)
    shares = (2 * means + 0.5) / 3
    torch.testing.assert_close(forest(Task("binary", 1))(x), shares.logit())
    two = forest(Task("multiclass", 2))
    two.base.copy_(torch.tensor([0.0, 0.9]))
    only = torch.full((3, 1), 1.4 / 2)  # of an output without trees, its share counts as of one
    torch.testing.assert_close(two(x), torch.cat([shares, only], 1).log())
    made.right[2] = 4
    assert not made.is_sound(2)


def test_the_kernel_walks_a_forest_as_torch_does() -> None:
    draws = torch.Generator().manual_seed(0)
    made = Forest(trees=2, nodes=6, depth=2, task=Task("binary", 2))
    made.load_state_dict(forest(Task("binary", 2)).state_dict())
    made.output[1] = 1
    x = torch.randn(50, 2, generator=draws)
    x[3, 0] = float("nan")
    found = made(x)
    with torch_alone():
        torch.testing.assert_close(made(x), found, rtol=0, atol=0)
    torch.testing.assert_close(made(x.t().contiguous().t()), found, rtol=0, atol=0)
    torch.testing.assert_close(made(x[7:8]), found[7:8], rtol=0, atol=0)
    made.feature[0] = 2
    with pytest.raises((RuntimeError, IndexError)):
        made(x)


def test_several_classes_are_averaged_as_probabilities_of_their_logs() -> None:
    network, trees = torch.tensor([[5.0, 5.0, 1.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    shares, task = (0.5, 0.5), Task("multiclass", 3)
    found = mean_of_logits((network, trees), shares, task)
    torch.testing.assert_close(found, mean_of_logits((network - 3, trees + 7), shares, task))
    assert found.argmax(1).tolist() == [1]
