"""`WithTrees`: a trained method beside boosted trees and a forest, which answer as one.

Trees on descriptors of whole molecules see what a network of atoms and bonds hardly learns from a
thousand molecules, and the other way round. They are plain tensors here, so that they are saved,
loaded and moved as weights are, and answer without the library that grew them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.methods.ensemble import MeanOutput
from gsina.nn.predictor import graph_features
from gsina.ops.compiled import is_plain, kernels_for_memory, pointers
from gsina.ops.host import count_members, widest

#: The network's share of the answer: beside boosted trees, and if there is a forest, too. They were
#: chosen on training and validation rows (`results/bench/molecule_default.json`).
HALF, QUARTER = 0.5, 0.25


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
        root = torch.arange(trees, device=features.device) * nodes
        feature, left, right = (
            values.reshape(-1).long() for values in (self.feature, self.left, self.right)
        )
        first = root.repeat_interleave(nodes)
        at = _leaves(
            features,
            root,
            feature,
            self.threshold.reshape(-1),
            (left + first, right + first),
            self.depth,
        )
        summed = self.base.expand(len(features), -1).clone()
        return summed.index_add_(1, self.output, self.value.reshape(-1)[at])


class Forest(nn.Module):
    """Means of trees on features of whole graphs, of numbers or of shares of a class.

    A share ``p`` of ``T`` trees counts as ``(T p + 1/2) / (T + 1)``, so that no logit is infinite.
    Trees are grown until their leaves are pure, so there are many nodes. They lie end to end, and
    in few bytes: the left child of a node follows it, the right one is ``right`` nodes further on,
    and a leaf has ``right = 0``.

    Args:
        trees: Number of trees of all outputs T.
        nodes: Number of nodes of all trees N.
        depth: Steps from the root to the deepest leaf.
        task: What is predicted; of several classes, each has trees of its own.
    """

    def __init__(self, trees: int, nodes: int, depth: int, task: Task) -> None:
        super().__init__()
        self.depth, self.task = depth, task
        self.feature: Tensor
        self.right: Tensor
        self.number: Tensor
        self.root: Tensor
        self.output: Tensor
        self.base: Tensor
        self.register_buffer("feature", torch.zeros(nodes, dtype=torch.int16))
        self.register_buffer("right", torch.zeros(nodes, dtype=torch.int32))
        self.register_buffer("number", torch.zeros(nodes))  # threshold, or what a leaf says
        self.register_buffer("root", torch.zeros(trees, dtype=torch.int32))
        self.register_buffer("output", torch.zeros(trees, dtype=torch.int16))
        self.register_buffer("base", torch.zeros(task.outputs))  # of outputs without trees

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of trees and of nodes, and depth, as they are made from."""
        return self.root.numel(), self.feature.numel(), self.depth

    def used(self) -> list[int]:
        """Numbers of the features that the answer depends on, ascending."""
        return sorted(set(self.feature[self.right > 0].tolist()))

    def is_sound(self, features: int) -> bool:
        """Whether all nodes, features and outputs that the trees name are there."""
        nodes = self.feature.numel()
        right = self.right + torch.arange(nodes, device=self.right.device)
        named = (
            (self.feature, features),
            (self.root, nodes),
            (right, nodes),
            (self.output, len(self.base)),
        )
        inside = all(bool(((value >= 0) & (value < most)).all()) for value, most in named)
        return inside and bool((self.right >= 0).all()) and 0 <= self.depth <= max(nodes, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Logits or numbers ``[G, outputs]`` from features ``[G, F]``."""
        summed = self._compiled_sum(features)
        if summed is None:
            summed = self._sum(features)
        count = count_members(self.output.long(), len(self.base)).clamp(min=1)
        summed = summed + self.base.to(summed.dtype) * count
        if self.task.kind == "regression":
            return (summed / count).float()
        logs = [((part + 0.5) / (count + 1)).log() for part in (summed, count - summed)]
        return (logs[0] if self.task.kind == "multiclass" else logs[0] - logs[1]).float()

    def _sum(self, features: Tensor) -> Tensor:
        """What all leaves of a graph say, by output ``[G, outputs]``, as wide as can be."""
        own = torch.arange(self.feature.numel(), device=features.device)
        children = own + (self.right > 0), own + self.right
        nodes = self.root.long(), self.feature.long(), self.number
        at = _leaves(features, *nodes, children, self.depth)
        wide = widest(features.device)
        summed = self.base.new_zeros(len(features), len(self.base), dtype=wide)
        return summed.index_add_(1, self.output.long(), self.number[at].to(wide))

    def _compiled_sum(self, features: Tensor) -> Tensor | None:
        """The same in one call; ``None`` to leave it to torch."""
        library, plain = kernels_for_memory(), features.detach()
        trees, nodes, depth = self.sizes
        expected = (
            (self.root, torch.int32, trees),
            (self.output, torch.int16, trees),
            (self.feature, torch.int16, nodes),
            (self.right, torch.int32, nodes),
            (self.number, torch.float32, nodes),
        )
        fits = all(is_plain(values, dtype, size) for values, dtype, size in expected)
        if library is None or not fits or not is_plain(plain, torch.float32, *features.shape):
            return None
        given = [values.contiguous() for values in (plain, *(one for one, _, _ in expected))]
        outputs = len(self.base)
        summed = plain.new_empty(len(plain), outputs, dtype=torch.double)
        failed = library.gsina_forest_sum(
            *plain.shape,
            trees,
            nodes,
            outputs,
            depth,
            *pointers(*given, summed),
        )
        return None if failed else summed


def _leaves(
    features: Tensor,
    root: Tensor,
    feature: Tensor,
    threshold: Tensor,
    children: tuple[Tensor, Tensor],
    depth: int,
) -> Tensor:
    """The leaf of every graph in every tree ``[G, T]``; a leaf is its own child.

    Args:
        features: ``[G, F]``.
        root: First node of every tree ``[T]``, int64.
        feature: What a node looks at ``[N]``, int64.
        threshold: Up to which value a graph goes left there ``[N]``.
        children: The nodes on the left and on the right ``[N]``, int64.
        depth: Steps from the root to the deepest leaf.
    """
    left, right = children
    at = root.expand(len(features), len(root))
    for _ in range(depth):
        goes_left = features.gather(1, feature[at]) <= threshold[at]
        at = torch.where(goes_left, left[at], right[at])
    return at


class WithTrees(Method):
    """The mean of the logits of a trained method and of trees, or of their numbers.

    Attention, states and settings are those of the method. It is not trained itself.

    Args:
        network: A trained method, or an ensemble, which sees the graph alone.
        trees: Boosted trees for the same task, on the features of whole graphs.
        forest: A forest likewise; what both say is averaged.
        share: Of the network in the answer; by default a half, and a quarter beside a forest.
    """

    def __init__(
        self,
        network: Method,
        trees: BoostedTrees,
        forest: Forest | None = None,
        share: float | None = None,
    ) -> None:
        super().__init__(network.task)
        self.network, self.trees, self.forest = network, trees, forest
        usual = HALF if forest is None else QUARTER
        self.share = usual if share is None else share
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

    @property
    def parts(self) -> dict[str, BoostedTrees | Forest]:
        """What answers beside the network, by name."""
        beside: dict[str, BoostedTrees | Forest] = {"trees": self.trees}
        return beside if self.forest is None else beside | {"forest": self.forest}

    def used(self) -> list[int]:
        """Numbers of the features of whole graphs that the answer depends on, ascending."""
        return sorted({feature for part in self.parts.values() for feature in part.used()})

    def beside(self, features: Tensor) -> Tensor:
        """What the trees say together ``[G, outputs]``, of features of whole graphs ``[G, F]``."""
        answers = [part(features) for part in self.parts.values()]
        return mean_of_logits(answers, [1 / len(answers)] * len(answers), self.task)

    def forward(self, batch: Batch) -> Output:
        """The mean of all answers, with the attention of the network."""
        found = self.network(batch)
        trees = self.beside(graph_features(batch)).to(found.logits.dtype)
        shares = self.share, 1 - self.share
        logits = mean_of_logits((found.logits, trees), shares, self.task)
        if not isinstance(found, MeanOutput):
            return Output(logits, found.attention)
        made = MeanOutput(logits, found.attention)
        made.members = mean_of_logits((found.members, trees.unsqueeze(1)), shares, self.task)
        return made


def mean_of_logits(answers: Sequence[Tensor], shares: Sequence[float], task: Task) -> Tensor:
    """Weighted mean of answers ``[..., outputs]``; of several classes, of their log probabilities.

    Boosted trees are often sure, a network seldom: in the mean of probabilities the surer one would
    decide alone where it is wrong, too.
    """
    if task.kind == "multiclass":
        answers = [logits.log_softmax(-1) for logits in answers]
    weighted = [share * logits for share, logits in zip(shares, answers, strict=True)]
    return sum(weighted[1:], weighted[0])
