"""`WithTrees`: a trained method beside boosted trees, which answer as one.

Trees on descriptors of whole molecules see what a network of atoms and bonds hardly learns from a
thousand molecules, and the other way round. They are plain tensors here, so that they are saved,
loaded and moved as weights are, and answer without the library that grew them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.methods.ensemble import MeanOutput
from gsina.nn.predictor import graph_features


class BoostedTrees(nn.Module):
    """Sums of regression trees on features of whole graphs.

    At a node a graph goes left if its feature is at most the threshold; a leaf is its own child, so
    that all trees can be walked in as many steps as the deepest has.

    Args:
        trees: Number of trees T.
        nodes: Nodes of the largest tree M; the others are filled up.
        depth: Steps from the root to the deepest leaf.
        outputs: Number of outputs.
    """

    def __init__(self, trees: int, nodes: int, depth: int, outputs: int) -> None:
        super().__init__()
        self.depth = depth
        index = torch.zeros(trees, nodes, dtype=torch.int32)
        self.feature: Tensor
        self.threshold: Tensor
        self.left: Tensor
        self.right: Tensor
        self.value: Tensor
        self.output: Tensor
        self.base: Tensor
        self.register_buffer("feature", index)
        self.register_buffer("threshold", torch.zeros(trees, nodes, dtype=torch.float32))
        self.register_buffer("left", index.clone())
        self.register_buffer("right", index.clone())
        self.register_buffer("value", torch.zeros(trees, nodes))
        self.register_buffer("output", torch.zeros(trees, dtype=torch.int64))
        self.register_buffer("base", torch.zeros(outputs))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of trees, nodes of each, and depth, as they are made from."""
        return *self.feature.shape, self.depth

    def used(self) -> list[int]:
        """Numbers of the features that the answer depends on, ascending."""
        leaf = self.left == torch.arange(self.left.size(1), device=self.left.device)
        return sorted(set(self.feature[~leaf].tolist()))

    def is_sound(self, features: int) -> bool:
        """Whether all nodes, features and outputs that the trees name are there."""
        nodes = self.feature.size(1)
        named = (
            (self.feature, features),
            (self.left, nodes),
            (self.right, nodes),
            (self.output, len(self.base)),
        )
        inside = all(bool(((value >= 0) & (value < most)).all()) for value, most in named)
        return inside and 0 <= self.depth <= nodes

    def forward(self, features: Tensor) -> Tensor:
        """Logits or numbers ``[G, outputs]`` from features ``[G, F]``."""
        trees, nodes = self.feature.shape
        first = torch.arange(trees, device=features.device) * nodes  # of every tree, in one row
        feature, left, right = (
            values.reshape(-1).long() for values in (self.feature, self.left, self.right)
        )
        threshold = self.threshold.reshape(-1)
        at = first.expand(len(features), trees)
        for _ in range(self.depth):
            goes_left = features.gather(1, feature[at]) <= threshold[at]
            at = first + torch.where(goes_left, left[at], right[at])
        summed = self.base.expand(len(features), -1).clone()
        return summed.index_add_(1, self.output, self.value.reshape(-1)[at])


class WithTrees(Method):
    """The mean of the logits of a trained method and of trees, or of their numbers.

    Attention, states and settings are those of the method. It is not trained itself.

    Args:
        network: A trained method, or an ensemble, which sees the graph alone.
        trees: Trees for the same task, on the features of whole graphs.
    """

    def __init__(self, network: Method, trees: BoostedTrees) -> None:
        super().__init__(network.task)
        self.network, self.trees = network, trees
        self.batch_invariant = network.batch_invariant
        self.keeps_top_share = network.keeps_top_share
        self.config = network.config

    @property
    def last_layer(self) -> nn.Module | None:
        """The layer of the network that makes logits of states."""
        return self.network.last_layer

    @property
    def predictor(self) -> Any:
        """The predictor of the network, if it has one."""
        return getattr(self.network, "predictor", None)

    @property
    def attention(self) -> nn.Module | None:
        """The attention of the network, if it has one."""
        found = getattr(self.network, "attention", None)
        return found if isinstance(found, nn.Module) else None

    def forward(self, batch: Batch) -> Output:
        """The mean of both answers, with the attention of the network."""
        found = self.network(batch)
        trees = self.trees(graph_features(batch)).to(found.logits.dtype)
        logits = mean_of_logits(found.logits, trees, self.task)
        if not isinstance(found, MeanOutput):
            return Output(logits, found.attention)
        made = MeanOutput(logits, found.attention)
        made.members = mean_of_logits(found.members, trees.unsqueeze(1), self.task)
        return made


def mean_of_logits(network: Tensor, trees: Tensor, task: Task) -> Tensor:
    """Mean of two answers ``[..., outputs]``; of several classes, of their log probabilities.

    Boosted trees are often sure, a network seldom: in the mean of probabilities the surer one would
    decide alone where it is wrong, too.
    """
    if task.kind == "multiclass":
        network, trees = network.log_softmax(-1), trees.log_softmax(-1)
    return (network + trees) / 2
