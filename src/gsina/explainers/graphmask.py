"""GraphMask: which messages a constant can replace without changing the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric import explain
from torch_geometric.nn import MessagePassing

from gsina.explainers.frozen import Explainer, FrozenModel, Training
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs

#: Bounds of the multiplier, as published.
LEAST, MOST = -2.0, 30.0


@dataclass(frozen=True)
class GraphMask(Explainer):
    """Settings of GraphMask (Schlichtkrull, De Cao, Titov, 2021), on PyG's implementation.

    In every layer a gate ``z`` of the two ends' states and the message, ``z m + (1 - z) b`` in
    place of the message m, with b learned. The gates are trained on the training graphs, layer
    after layer from the top, to

        minimise  scaling * (mean chance that a gate is open, summed over the layers)
        subject to  loss(gated graph, own prediction) <= allowance

    with a Lagrange multiplier. The score of an edge is the mean over the layers of the chance that
    its gate is open. PNA has its edge features, and the share of a node's own state, in a layer of
    its own before the others.

    Attributes:
        epochs: Passes over the training graphs for every layer.
        learning_rate: Of Adam, for the gates.
        scaling: Factor of the chance of open gates.
        allowance: Loss that is accepted.
        multiplier: The multiplier at the start, before a softplus.
        multiplier_rate: Learning rate of the multiplier.
        batch_size: Graphs per step.
    """

    epochs: int = 5
    learning_rate: float = 0.01
    scaling: float = 5.0
    allowance: float = 0.03
    multiplier: float = 0.55
    multiplier_rate: float = 0.01
    batch_size: int = 128

    def training(self, model: FrozenModel, train: PackedGraphs | None) -> Training:
        """Train one set of gates on all training graphs."""
        train = self.training_graphs(train)
        gates = AmortisedGraphMask(
            model,
            train.batch([0]).to(model.device),
            lr=self.learning_rate,
            penalty_scaling=self.scaling,
            allowance=self.allowance,
            init_lambda=self.multiplier,
            lambda_optimizer_lr=self.multiplier_rate,
        )

        def learn() -> Iterator[None]:
            shuffle = torch.Generator().manual_seed(torch.initial_seed())
            for step in gates.top_down():
                for _ in range(self.epochs):
                    for batch in train.batches(self.batch_size, shuffle):
                        yield step(batch.to(model.device))

        steps = gates.num_layers * self.epochs * ceil(len(train) / self.batch_size)
        return Training(gates.score, learn(), steps)


class AmortisedGraphMask(explain.GraphMaskExplainer):  # type: ignore[misc]
    """PyG's gates, hard-concrete samples and layer by layer release, trained as published.

    Where PyG's ``GraphMaskExplainer`` does otherwise:

    * It fits new gates to every graph that it explains. Here, as published, one set of gates is
      trained on many graphs, so that a gate cannot be shut in hindsight.
    * It passes every message through a layer norm and a ReLU first, and multiplies the features by
      about 1/2, so that it explains another function than the model. Here an open gate changes
      nothing.
    * It makes the multiplier anew in every step. Here it is kept, and grows while the loss is above
      the allowance.
    * Gates of layers that are not trained yet drop messages at random. Here they are open.
    * The constant that replaces a message is one number. Here it is a vector.
    * Its edge scores are rounded to 0 or 1 in every layer. Here they are chances.
    """

    def __init__(self, model: FrozenModel, sample: Batch, **settings: Any) -> None:
        layers = [layer for layer in model.modules() if isinstance(layer, MessagePassing)]
        super().__init__(len(layers), log=False, **settings)
        model.connect(self)
        # Not as modules: the parameters of what is explained are not ours.
        self.run, self.losses, self.look = model.run, model.losses, model.with_own_labels
        self.layers = tuple(layers)
        for layer in layers:
            layer.register_forward_pre_hook(_remember_states)
            layer.explain_message = explain_message.__get__(layer)
            layer.explain = True
        self.look(sample)
        states = [layer.latest_source_embeddings.size(-1) for layer in layers]
        messages = [layer.latest_messages.size(-1) for layer in layers]
        self._set_masks(states, messages, states, sample.x)
        device = sample.edge_index.device
        self.baselines = nn.ParameterList(
            torch.empty(width, device=device).uniform_(-(width**-0.5), width**-0.5)
            for width in messages
        ).requires_grad_(False)

    def top_down(self) -> Iterator[Callable[[Batch], None]]:
        """For every layer from the last to the first, a function that trains on a batch."""
        multiplier = torch.tensor(self.init_lambda, requires_grad=True)
        gates = torch.optim.Adam(self.parameters(), lr=self.lr)
        dual = torch.optim.RMSprop([multiplier], lr=self.lambda_optimizer_lr, centered=True)
        for first in reversed(range(self.num_layers)):
            self._enable_layer(first)

            def step(batch: Batch, first: int = first) -> None:
                if batch.num_edges == 0:
                    return
                excess, opened = self._risk(batch, first)
                loss = self.penalty_scaling * opened + F.softplus(multiplier) * excess
                gates.zero_grad()
                dual.zero_grad()
                loss.backward()
                gates.step()
                assert multiplier.grad is not None
                multiplier.grad.neg_()  # it climbs while the gates descend
                dual.step()
                multiplier.data.clamp_(LEAST, MOST)

            yield step

    @torch.no_grad()
    def score(self, batch: Batch) -> Tensor:
        """Chance that the gates of every edge are open, mean over the layers ``[E]``."""
        self.look(batch)
        chances = [
            self._hard_concrete(self._logits(layer), summarize_penalty=False)[1]
            for layer in range(self.num_layers)
        ]
        return torch.stack(chances).mean(0)

    def _risk(self, batch: Batch, first: int) -> tuple[Tensor, Tensor]:
        """Loss above the allowance and mean chance of open gates, in the layers from ``first``."""
        target = self.look(batch)
        opened = torch.zeros((), device=batch.edge_index.device)
        for i in range(first, self.num_layers):
            self.layers[i].message_scale, chance = self._hard_concrete(self._logits(i))
            self.layers[i].message_replacement = self.baselines[i]
            opened = opened + chance
        loss = self.losses(self.run(batch), target).mean()
        for layer in self.layers:
            layer.message_scale = None
        return torch.relu(loss - self.allowance), opened

    def _logits(self, i: int) -> Tensor:
        """Gate logits ``[E]`` of layer ``i``, from what it saw when the model last ran."""
        layer = self.layers[i]
        transforms, norms, activate, last = self.gates[4 * i : 4 * i + 4]
        seen = (
            layer.latest_source_embeddings,
            layer.latest_messages,
            layer.latest_target_embeddings,
        )
        parts = [
            norm(linear(part)) for linear, norm, part in zip(transforms, norms, seen, strict=True)
        ]
        total = self.full_biases[i] + torch.stack(parts).sum(0)
        logits: Tensor = last(activate(total / len(parts)))
        return logits.squeeze(-1)


def _remember_states(layer: Any, inputs: tuple[Any, ...]) -> None:
    """Keep the node states that a layer is called with."""
    layer.latest_states = inputs[0]


def explain_message(self: Any, out: Tensor, edge_index_i: Tensor, edge_index_j: Tensor) -> Tensor:
    """What a layer does to its messages; PyG goes by this name and those of the parameters."""
    self.latest_messages = out
    self.latest_source_embeddings = self.latest_states.index_select(0, edge_index_j)
    self.latest_target_embeddings = self.latest_states.index_select(0, edge_index_i)
    if getattr(self, "message_scale", None) is None:
        return out
    gate = self.message_scale.unsqueeze(-1)
    gated: Tensor = gate * out + (1 - gate) * self.message_replacement
    return gated
