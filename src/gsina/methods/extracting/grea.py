"""GREA: a rationale that says the same in the environment of every other graph."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from gsina.errors import InputError, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, label_loss, task_loss
from gsina.nn.attention import Attention
from gsina.nn.norm import keep_statistics
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.nn.readout import readout
from gsina.nn.scorer import NodeScorer


@dataclass(frozen=True)
class GREAConfig:
    """Settings of GREA; the defaults are those of its release.

    Attributes:
        size: Share gamma of the nodes that the rationale holds; the release has 0.1 on molhiv, 0.2
            on molbbbp, 0.55 on molbace.
        size_penalty: Coefficient of the distance from it.
        separator_layers: Layers of the network that separates rationale and environment.
        separator_epochs: Epochs at the beginning of every cycle in which only the separator learns.
        cycle: Epochs of a cycle; in the others only encoder and head learn. With 1, everything
            learns in every epoch.
    """

    size: float = 0.4
    size_penalty: float = 1.0
    separator_layers: int = 2
    separator_epochs: int = 1
    cycle: int = 4

    def __post_init__(self) -> None:
        check_range(self, "lie between 0 and 1", "size")
        check_range(self, "be 0 or more", "size_penalty")
        check_range(self, "be 1 or more", "separator_layers", "separator_epochs", "cycle")
        if self.cycle > 1 and self.separator_epochs >= self.cycle:
            raise InputError(
                f"got {self.separator_epochs} epochs of the separator in a cycle of {self.cycle}, "
                "expected fewer than the cycle has; use cycle=1 for everything at once."
            )


class GREA(Method):
    """Separate nodes into rationale and environment; put environments of other graphs around it.

    After Liu, Zhao, Xu, Luo, Jiang, Graph rationalization with environment-based augmentations,
    KDD 2022.

    A small network gives every node the chance ``m_v = sigmoid(score_v)`` to be in the rationale;
    another one gives it a state h_v. Rationale and environment of a graph are

        r = sum_v m_v h_v,      e = sum_v (1 - m_v) h_v.

    The head predicts from r_i alone (the environment removed), and in training also from
    ``r_i + e_j`` for all pairs of graphs of a batch (the environment replaced):

        mean_i CE(r_i, y_i) + mean_ij CE(r_i + e_j, y_i) + |mean_v m_v - gamma|.

    Separator and predictor learn in turns, ``separator_epochs`` of every ``cycle`` epochs and the
    others; the last term counts for the separator only, as nothing else can change it.

    An edge is reported with the product of its ends' chances.

    Unlike the release:

    * the separator's scorer is GSAT's for nodes, with instance norm in place of batch norm;
    * the readout is that of the network, where the release always sums. A mean is weighted by the
      chances, so that r and e are means of their own nodes;
    * the pass over replaced environments does not enter the running statistics of batch norms in
      the head, as evaluation sees rationales only.
    """

    def __init__(
        self,
        separator: nn.Module,
        channels: int,
        predictor: Predictor,
        task: Task,
        config: GREAConfig,
    ) -> None:
        super().__init__(task)
        if predictor.readout is None or predictor.head is None:
            raise InputError(
                "GREA needs a predictor with a readout and a head, and this one lacks one of them; "
                "make it as Predictor(network, head, 'sum')."
            )
        self.config = config
        self.separator = separator
        self.scorer = NodeScorer(channels)
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GREAConfig) -> GREA:
        """A fresh model: the separator is a shallow network of the predictor's make."""
        separator = spec.shallow(config.separator_layers).network()
        return cls(separator, separator.out_channels, spec.predictor(task), task, config)

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """Decide whose turn the epoch is."""
        separating = epoch % self.config.cycle < self.config.separator_epochs
        together = self.config.cycle == 1
        for part in (self.separator, self.scorer):
            part.requires_grad_(separating or together)
        self.predictor.requires_grad_(not separating or together)
        return train

    def forward(self, batch: Batch) -> Output:
        """Predict from the rationale."""
        chance = self._separate(batch)
        states = self._pool(self.predictor.embed(batch), chance, batch)
        source, target = chance.index_select(0, batch.edge_index.reshape(-1)).view(2, -1)
        return Output(self.predictor.logits(states), Attention(source * target, chance))

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Losses of rationales alone, of rationales in other environments, and of their size."""
        chance = self._separate(batch)
        states = self.predictor.embed(batch)
        rationale = self._pool(states, chance, batch)
        environment = self._pool(states, 1 - chance, batch)
        nodes = batch.node_groups
        share = nodes.sum(chance) / nodes.counts(chance).clamp(min=1)
        return {
            "prediction": task_loss(self.predictor.logits(rationale), batch, self.task),
            "replaced": self._replace(rationale, environment, batch),
            "size": self.config.size_penalty * (share - self.config.size).abs().mean(),
        }

    def _separate(self, batch: Batch) -> Tensor:
        """The chance of every node to be in the rationale ``[N]``."""
        scores: Tensor = self.scorer(embed(self.separator, batch), batch.node_groups)
        return scores.sigmoid()

    def _pool(self, states: Tensor, weight: Tensor, batch: Batch) -> Tensor:
        """Graph states ``[G, H]`` of weighted nodes."""
        assert self.predictor.readout is not None
        return readout(states, batch.node_groups, self.predictor.readout, weight, batch.inside)

    def _replace(self, rationale: Tensor, environment: Tensor, batch: Batch) -> Tensor:
        """Mean loss of every rationale ``[G, H]`` in every environment ``[G, H]``."""
        pairs = (rationale.unsqueeze(1) + environment.unsqueeze(0)).flatten(0, 1)
        with keep_statistics(self.predictor):
            logits = self.predictor.logits(pairs)
        count, weight = batch.num_graphs, batch.label_weight
        y = batch.labels.repeat_interleave(count, 0)
        weight = None if weight is None else weight.repeat_interleave(count, 0)
        return label_loss(logits, y, self.task, weight=weight)
