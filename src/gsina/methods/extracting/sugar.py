"""SuGAr, a reconstruction: several different invariant subgraphs instead of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.fields import take
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.methods.parts import contrast
from gsina.methods.parts.splitting import Splitter, represent_part, with_features
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import SCORERS
from gsina.nn.subgraph import leave_out
from gsina.ops.groups import Groups
from gsina.ops.host import at_hand


@dataclass(frozen=True)
class SuGArConfig:
    """Settings of the reconstruction of SuGAr; the paper's own are not public.

    Attributes:
        members: Number M of subgraphs, each with networks of its own.
        drop: Share of the edges that a member does not get to see in a training step.
        diversity: Coefficient gamma of the similarity between members.
        ratio: Share r of the edges of each graph that a subgraph holds.
        contrast: Coefficient alpha of the contrastive loss of each member, as in CIGAv1.
        temperature: Of its cosines.
        scorer: ``plain`` or ``normed``.
        predict_from: What a member's predictor sees: its extractor's ``embedding`` of the nodes,
            or the ``raw`` features.
    """

    members: int = 3
    drop: float = 0.1
    diversity: float = 0.1
    ratio: float = 0.25
    contrast: float = 1.0
    temperature: float = 1.0
    scorer: str = "plain"
    predict_from: Literal["raw", "embedding"] = "embedding"

    def __post_init__(self) -> None:
        check_range(self, "be 1 or more", "members")
        check_range(self, "lie in [0, 1)", "drop")
        check_range(self, "lie in (0, 1]", "ratio")
        check_range(self, "be 0 or more", "diversity", "contrast")
        check_range(self, "be above 0", "temperature")
        check_name(self.scorer, SCORERS, "scorer")
        check_name(self.predict_from, ("raw", "embedding"), "input of the predictor")


class Member(nn.Module):
    """One extractor with the network that represents its subgraph."""

    def __init__(self, splitter: Splitter, predictor: Predictor, predict_from: str) -> None:
        super().__init__()
        self.splitter = splitter
        self.predictor = predictor
        self.predict_from = predict_from

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Graph states of the subgraphs ``[G, H]``, and the scores of the edges ``[E]``."""
        split = self.splitter(batch)
        seen = with_features(batch, self.predict_from, split.states)
        states = represent_part(self.predictor, seen, split.kept, split.scores.sigmoid())
        return states, split.scores


class SuGAr(Method):
    """A reconstruction of SuGAr: what is public of it is its idea, not its details nor its code.

    After Liu et al., Subgraph aggregation for out-of-distribution generalization on graphs, AAAI
    2025.

    Known are several invariant subgraphs in place of one, a sampler that shows each extractor
    another part of the graph, a regulariser that keeps their choices apart, and that their
    representations are averaged. Ours, and so not the paper's, are all particulars: M pairs of an
    extractor and a network cut out a hard top share r of the edges as in CIGA, each from the graph
    without a random share of its edges (in training), and share one head. With z_m the graph states
    of pair m and a_m = sigmoid(its scores),

        mean_m [ CE(head(z_m)) + alpha L_contrast(z_m)
                 + gamma mean_{l < m} cos(a_m, stop_gradient(a_l)) ],

    the cosine taken in each graph over the edges that both pairs saw. The prediction is
    ``head(mean_m z_m)``, the attention that is reported is the mean of the a_m.
    """

    def __init__(
        self, members: list[Member], head: nn.Module, task: Task, config: SuGArConfig
    ) -> None:
        super().__init__(task)
        self.config = config
        self.members = nn.ModuleList(members)
        self.head = head

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: SuGArConfig) -> SuGAr:
        """A fresh model: all networks are of the same make."""
        members = []
        for _ in range(config.members):
            extractor = spec.network()
            channels = extractor.out_channels
            network = spec.network(channels if config.predict_from == "embedding" else None)
            splitter = Splitter(extractor, channels, config.ratio, config.scorer)
            predictor = Predictor(network, None, network.readout)
            members.append(Member(splitter, predictor, config.predict_from))
        return cls(members, network.make_head(task.outputs), task, config)

    @property
    def last_layer(self) -> nn.Module:
        """The head that all members share."""
        return self.head

    def forward(self, batch: Batch) -> Output:
        """Predict from the mean of the members' states."""
        states, weights, seen = self._run(batch)
        times = torch.stack(seen).sum(0).clamp(min=1)
        attention = torch.stack(weights).sum(0) / times
        return Output(self.head(torch.stack(states).mean(0)), Attention(attention))

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Losses of the members, and how alike they are."""
        config, number = self.config, len(self.members)
        states, weights, seen = self._run(batch)
        risks = [task_loss(self.head(state), batch, self.task) for state in states]
        contrasts = [
            contrast.class_contrast(state, batch.labels, self.task, config.temperature)
            for state in states
        ]
        alike = [
            similarity(weights[one], weights[other].detach(), seen[one] & seen[other], batch) / one
            for one in range(number)
            for other in range(one)
        ]
        none = torch.zeros_like(risks[0])
        return {
            "prediction": torch.stack(risks).mean(),
            "contrast": config.contrast * torch.stack(contrasts).mean(),
            "diversity": config.diversity * torch.stack([none, *alike]).sum() / number,
        }

    def _run(self, batch: Batch) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Of every member: states ``[G, H]``, edge weights ``[E]`` (0 unseen), edges seen."""
        all_states, all_weights, all_seen = [], [], []
        for member in self.members:
            seen = sample_edges(batch, self.config.drop if self.training else 0.0)
            states, scores = member(keep_edges(batch, seen))
            weights = scores.sigmoid()
            if len(scores) < batch.num_edges:
                places = (seen.nonzero().squeeze(1),)
                weights = weights.new_zeros(batch.num_edges).index_put(places, weights)
            weights = torch.where(seen, weights, 0.0)
            all_states.append(states)
            all_weights.append(weights)
            all_seen.append(seen)
        return all_states, all_weights, all_seen


def sample_edges(batch: Batch, drop: float) -> Tensor:
    """Mark the edges ``[E]`` that stay when a random share is dropped, both directions together."""
    if drop == 0:
        return torch.ones(batch.num_edges, dtype=torch.bool, device=batch.x.device)
    draw = torch.rand(batch.num_edges, device=batch.x.device)
    if batch.reverse is not None:
        position = torch.arange(batch.num_edges, device=draw.device)
        draw = draw.index_select(0, torch.minimum(batch.reverse, position))
    return draw >= drop


def keep_edges(batch: Batch, edges: Tensor) -> Batch:
    """The batch with the marked edges only, in which both directions must agree; all nodes stay."""
    if not at_hand(edges):
        return replace(leave_out(batch, edges), reverse=batch.reverse)
    kept = edges.nonzero().squeeze(1)
    if kept.numel() == batch.num_edges:
        return batch
    reverse = batch.reverse
    if reverse is not None:
        reverse = (edges.cumsum(0) - 1)[reverse[kept]]
    edge_index = batch.edge_index.index_select(1, kept)
    return replace(batch, edge_index=edge_index, reverse=reverse, **take(batch, {"edge": kept}))


def similarity(one: Tensor, other: Tensor, edges: Tensor, batch: Batch) -> Tensor:
    """Cosine of two weightings of the marked edges ``[E]``, averaged over the graphs with any."""
    graphs: Groups = batch.edge_groups
    one, other = _to_one(one * edges, graphs), _to_one(other * edges, graphs)
    # The largest is 1, so a smaller sum of squares is that of no weights, or of nearly none.
    squares = graphs.sum(one.square()).clamp(min=1) * graphs.sum(other.square()).clamp(min=1)
    has_edges = graphs.sum(edges.to(one.dtype)) > 0
    return (graphs.sum(one * other) / squares.sqrt()).sum() / has_edges.sum().clamp(min=1)


def _to_one(weights: Tensor, graphs: Groups) -> Tensor:
    """Weights over the largest of their graph, which no cosine sees: small squares underflow."""
    return weights / graphs.spread(graphs.max(weights.detach()).clamp(min=1e-30))
