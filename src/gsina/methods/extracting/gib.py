"""GIB: a subgraph that says much of the label and little of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.nn.attention import Attention
from gsina.nn.backbones import BackboneModule
from gsina.nn.predictor import NetworkSpec, embed
from gsina.nn.readout import readout
from gsina.ops.connectivity import node_connectivity_loss
from gsina.ops.host import at_hand


@dataclass(frozen=True)
class GIBConfig:
    """Settings of GIB; the defaults are those of its release for graph classification.

    That release weighs the losses ``0.7 (prediction + 0.1 information) + 0.3 connectivity``; here
    the prediction has the coefficient 1. The recipes of the CIGA benchmark set all but the learning
    rate otherwise, as it has them.

    Attributes:
        information: Coefficient of the information between subgraph and graph.
        connectivity: Coefficient of the connectivity loss.
        inner_steps: Most steps of the estimator of the information before each step of the model.
        inner_patience: Inner steps without a better bound, at first than 0, after which they end;
            0 for never.
        inner_learning_rate: Of the estimator's Adam.
        inner_weight_decay: Of the same.
        dropout: Dropout in the classifier.
        hidden: Width of the hidden layers of assignment and classifier, in multiples of H.
        estimator_hidden: The same of the estimator.
        pooling: How p weighs the nodes: by the ``backbone``'s readout, or by a ``sum``.
        classify_graphs: Whether the classifier learns from whole graphs, too.
    """

    information: float = 0.1
    connectivity: float = 0.43
    inner_steps: int = 50
    inner_patience: int = 0
    inner_learning_rate: float = 1e-3
    inner_weight_decay: float = 0.0
    dropout: float = 0.5
    hidden: int = 1
    estimator_hidden: int = 1
    pooling: Literal["backbone", "sum"] = "backbone"
    classify_graphs: bool = False

    def __post_init__(self) -> None:
        check_range(self, "be 0 or more", "information", "connectivity")
        check_range(self, "be 0 or more", "inner_steps", "inner_patience", "inner_weight_decay")
        check_range(self, "be above 0", "inner_learning_rate", "hidden", "estimator_hidden")
        check_name(self.pooling, ("backbone", "sum"), "pooling")
        check_range(self, "lie in [0, 1)", "dropout")


class Bottleneck(NamedTuple):
    """What the model makes of a batch.

    Attributes:
        membership: Probability of every node to be in the subgraph ``[N]``.
        subgraph: State of every subgraph ``[G, H]``.
        graph: State of every whole graph ``[G, H]``.
    """

    membership: Tensor
    subgraph: Tensor
    graph: Tensor


class GIB(Method):
    """Assign the nodes to a subgraph, predict from it, and make it forget the graph.

    After Yu, Xu, Rong, Bian, Huang, He, Graph information bottleneck for subgraph recognition, ICLR
    2021.

    A network embeds the nodes, h. ``S = softmax(W2 tanh(W1 h))`` assigns them to the subgraph
    (first column, p) and to the rest. The subgraph's state is the backbone's readout with weights
    p, which for a sum (GIN) is the paper's first row of ``S^T H``; the graph's is the mean of h.
    With ``pooling = "sum"`` both are as in the CIGA benchmark: the first row of ``S^T H``, and the
    mean of the two. The loss is

        CE(subgraph) + information * I(graph; subgraph) + connectivity * L_con,

    with L_con from :func:`~gsina.ops.connectivity.node_connectivity_loss`, averaged over the
    graphs, and the information estimated by Donsker and Varadhan's bound

        I = max_f  mean f(g_i, s_i) - log mean exp f(g_j, s_i),     j another graph of the batch.

    f, a two-layer network, is trained by an inner loop in every step, on fixed states, and is fixed
    itself in the step of the model. So is the graph's state there: the subgraph is to forget the
    graph, and not the network to describe it badly. f's weights go on from batch to batch; its Adam
    restarts in every batch, so a checkpoint of the weights is enough to resume from.

    The attention that is reported is p for the nodes, ``p_i p_j`` for the edges.

    Unlike the release, the graph's state is that of the one graph and not the mean over the batch,
    and the connectivity ignores the direction of edges. Unlike the CIGA benchmark's copy, the
    classifier has as many outputs as the task and no ReLU at its end, the outer optimiser does not
    train f the wrong way, and nodes without edges count. No value needs to be clamped, as the bound
    is computed by ``logsumexp``; a batch of one graph has no other graph, and 0 information.
    """

    def __init__(
        self, network: BackboneModule, channels: int, task: Task, config: GIBConfig
    ) -> None:
        super().__init__(task)
        self.config = config
        self.network = network
        width, estimator_width = config.hidden * channels, config.estimator_hidden * channels
        self.assign = nn.Sequential(nn.Linear(channels, width), nn.Tanh(), nn.Linear(width, 2))
        self.classifier = nn.Sequential(
            nn.Linear(channels, width),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(width, task.outputs),
        )
        self.estimator = nn.Sequential(
            nn.Linear(2 * channels, estimator_width),
            nn.ReLU(),
            nn.Linear(estimator_width, 1, bias=False),  # a constant cancels in the bound
        )

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GIBConfig) -> GIB:
        """A fresh model."""
        network = spec.network()
        return cls(network, network.out_channels, task, config)

    @property
    def last_layer(self) -> nn.Module:
        """The classifier."""
        return self.classifier

    def forward(self, batch: Batch) -> Output:
        """Predict from the subgraph."""
        squeezed = self._squeeze(batch)
        node = squeezed.membership
        source, target = node.index_select(0, batch.edge_index.reshape(-1)).view(2, -1)
        return Output(self.classifier(squeezed.subgraph), Attention(source * target, node))

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """The three losses, the information as the estimator of now sees it."""
        return self._losses(self._squeeze(batch), batch)

    def step(
        self, batch: Batch, optimiser: torch.optim.Optimizer, epoch: int = 0
    ) -> dict[str, Tensor]:
        """Train the estimator on the states of this batch, then the model against it."""
        squeezed = self._squeeze(batch)
        self._train_estimator(squeezed.graph.detach(), squeezed.subgraph.detach())
        optimiser.zero_grad(set_to_none=True)  # also the estimator's: its part is done
        terms = self._losses(squeezed, batch)
        torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return {name: term.detach() for name, term in terms.items()}

    def _squeeze(self, batch: Batch) -> Bottleneck:
        h = embed(self.network, batch)
        membership = self.assign(h).softmax(dim=1)[:, 0]
        graphs = batch.node_groups
        if self.config.pooling == "sum":
            subgraph = readout(h, graphs, "sum", membership)
            return Bottleneck(membership, subgraph, readout(h, graphs, "sum") / 2)
        subgraph = readout(h, graphs, self.network.readout, membership)
        return Bottleneck(membership, subgraph, readout(h, graphs, "mean"))

    def _losses(self, squeezed: Bottleneck, batch: Batch) -> dict[str, Tensor]:
        edges = batch.edge_groups
        connectivity = node_connectivity_loss(squeezed.membership, batch.edge_index, edges)
        # The graph is given: otherwise its state, too, could forget, and with it the subgraph's.
        graph = squeezed.graph.detach()
        bound = information_bound(self._fixed_estimator, graph, squeezed.subgraph)
        prediction = task_loss(self.classifier(squeezed.subgraph), batch, self.task)
        if self.config.classify_graphs:
            graph_loss = task_loss(self.classifier(squeezed.graph), batch, self.task)
            prediction = (prediction + graph_loss) / 2
        return {
            "prediction": prediction,
            "information": self.config.information * bound,
            "connectivity": self.config.connectivity * connectivity.mean(),
        }

    def _train_estimator(self, graph: Tensor, subgraph: Tensor) -> None:
        if graph.size(0) < 2:
            return
        config = self.config
        optimiser = torch.optim.Adam(
            self.estimator.parameters(),
            lr=config.inner_learning_rate,
            weight_decay=config.inner_weight_decay,
            fused=not graph.is_meta,
        )
        patience = _Patience(config.inner_patience, graph)
        for _ in range(config.inner_steps):
            optimiser.zero_grad(set_to_none=True)
            loss = -information_bound(self.estimator, graph, subgraph)
            loss.backward()  # type: ignore[no-untyped-call]
            with patience.while_it_lasts(self.estimator):
                optimiser.step()
            patience.look_at(-loss.detach())
            if at_hand(graph) and not bool(patience.lasts):
                return

    def _fixed_estimator(self, pairs: Tensor) -> Tensor:
        """The estimator for the model's step, which must not train it."""
        fixed = {name: value.detach() for name, value in self.estimator.named_parameters()}
        values: Tensor = torch.func.functional_call(self.estimator, fixed, (pairs,))
        return values


class _Patience:
    """Steps without a better bound, at first than 0; counted where the numbers are.

    Args:
        most: So many end the loop; 0 for none.
        like: On the device of the numbers.
    """

    def __init__(self, most: int, like: Tensor) -> None:
        self.most = most
        self.best, self.since = like.new_zeros(()), torch.zeros((), device=like.device)
        self.lasts = torch.ones((), dtype=torch.bool, device=like.device)

    def look_at(self, bound: Tensor) -> None:
        """Count a step."""
        if self.most:
            better = bound > self.best
            self.best = torch.where(better, bound, self.best)
            self.since = torch.where(better, 0.0, self.since + 1)
            self.lasts = self.lasts & (self.since < self.most)

    @contextmanager
    def while_it_lasts(self, module: nn.Module) -> Iterator[None]:
        """Undo what a step does to a module where it has come too late, without asking whether."""
        blind = self.most and not at_hand(self.lasts)
        before = [value.detach().clone() for value in module.parameters()] if blind else []
        yield
        for value, old in zip(module.parameters(), before, strict=False):
            value.data.copy_(torch.where(self.lasts, value.detach(), old))


def information_bound(
    estimator: Callable[[Tensor], Tensor], graph: Tensor, subgraph: Tensor
) -> Tensor:
    """Donsker and Varadhan's lower bound of the information between graphs and subgraphs.

    The pairs that do not belong together come from rotating the batch by a random number of places,
    so that no graph meets its own subgraph.

    Args:
        estimator: From ``[G, 2H]`` to ``[G, 1]``.
        graph: States of the graphs ``[G, H]``.
        subgraph: States of the subgraphs ``[G, H]``.
    """
    count = graph.size(0)
    if count < 2:
        return subgraph.new_zeros(())
    shift = int(torch.randint(1, count, ()))
    joint = estimator(torch.cat([graph, subgraph], dim=1))
    strangers = estimator(torch.cat([graph.roll(shift, 0), subgraph], dim=1))
    return joint.mean() - (strangers.logsumexp(dim=0).squeeze() - math.log(count))
