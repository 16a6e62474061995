"""CIGA: the subgraph that graphs of one class have in common."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, label_loss, task_loss
from gsina.methods.parts import contrast
from gsina.methods.parts.splitting import Split, Splitter, represent_part, with_features
from gsina.nn.norm import keep_statistics
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.readout import readout
from gsina.nn.scorer import SCORERS
from gsina.nn.subgraph import edge_subgraph

CONTRASTS = ("graph", "nodes", "misaligned")


@dataclass(frozen=True)
class CIGAv1Config:
    """Settings of CIGAv1; the defaults are those of the release.

    Attributes:
        ratio: Share r of the edges of each graph that the invariant part holds.
        contrast: Coefficient alpha of the contrastive loss.
        temperature: Of its cosines.
        contrast_on: What is contrasted: the predictor's ``graph`` states of the invariant parts;
            the sum of the extractor's states of their ``nodes``; or ``misaligned``, what the
            release computes for the latter: the states of the first nodes of the batch, as many as
            the invariant parts have.
        scorer: ``plain`` (the release's) or ``normed``.
        predict_from: What the predictor sees: the extractor's ``embedding`` of the nodes, or the
            ``raw`` features.
    """

    ratio: float = 0.25
    contrast: float = 4.0
    temperature: float = 1.0
    contrast_on: Literal["graph", "nodes", "misaligned"] = "graph"
    scorer: str = "plain"
    predict_from: Literal["raw", "embedding"] = "embedding"

    def __post_init__(self) -> None:
        check_range(self, "lie in (0, 1]", "ratio")
        check_range(self, "be 0 or more", "contrast")
        check_range(self, "be above 0", "temperature")
        check_name(self.contrast_on, CONTRASTS, "thing to contrast")
        check_name(self.scorer, SCORERS, "scorer")
        check_name(self.predict_from, ("raw", "embedding"), "input of the predictor")


@dataclass(frozen=True)
class CIGAv2Config(CIGAv1Config):
    """Settings of CIGAv2.

    Attributes:
        spurious: Coefficient beta of the loss of the rest.
        spurious_network: What represents the rest: the predictor's network, ``shared``, or its
            ``own`` one of a single layer without edge features (the release on DrugOOD-scaffold).
        detach_spurious: Let the rest teach nothing but its head, as the release does with the
            shared network: CIGAv2 is then CIGAv1.
    """

    spurious: float = 1.0
    spurious_network: Literal["shared", "own"] = "shared"
    detach_spurious: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 0 or more", "spurious")
        check_name(self.spurious_network, ("shared", "own"), "network of the rest")


class CIGA(Method):
    """Cut out the part that is alike within a class (v1) and leaves the rest uninformative (v2).

    After Chen et al., Learning causally invariant representations for out-of-distribution
    generalization on graphs, NeurIPS 2022.

    An extractor scores the edges; the ``ceil(r E)`` highest scores of a graph are its invariant
    part c, with messages weighted by ``sigmoid(score)``, the others its rest s, weighted by
    ``sigmoid(-score)``. Nodes that a part does not touch are not in it. The loss is

        CE(c) + alpha L_contrast + beta L_rest,

    with the supervised contrastive loss of :mod:`gsina.methods.parts.contrast` over the batch, and
    L_rest the mean of the rest's losses q_i over the graphs with ``q_i > CE_i``: the rest may say
    of the label what it can, but not more than the invariant part. CIGAv1 has ``beta = 0``.

    Unlike the release:

    * the rest's loss teaches the extractor and the network, as the paper means it
      (``detach_spurious`` for the release's way);
    * what is contrasted belongs to the nodes of the invariant part (``contrast_on="misaligned"``
      for the release's way);
    * ``ceil``, as in the later release; the version behind the published numbers rounds down;
    * the two directions of an undirected edge share the mean of their scores, and one fate;
    * the pass over the rest does not enter the running statistics of batch norms;
    * the head of the rest is one like the predictor's, without a second linear layer behind it.
    """

    keeps_top_share = True

    def __init__(
        self,
        splitter: Splitter,
        predictor: Predictor,
        task: Task,
        config: CIGAv1Config,
        rest: Predictor | None = None,
        rest_head: nn.Module | None = None,
    ) -> None:
        super().__init__(task)
        self.config = config
        self.splitter = splitter
        self.predictor = predictor
        self.rest = rest
        self.rest_head = rest_head

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: CIGAv1Config) -> CIGA:
        """A fresh model: extractor and predictor are two networks of the same make."""
        extractor = spec.network()
        inside = extractor.out_channels if config.predict_from == "embedding" else None
        splitter = Splitter(extractor, extractor.out_channels, config.ratio, config.scorer)
        predictor = spec.predictor(task, inside)
        if not isinstance(config, CIGAv2Config):
            return cls(splitter, predictor, task, config)
        rest = None
        head = predictor.backbone.make_head(task.outputs)
        if config.spurious_network == "own":
            small = replace(spec, edge_channels=0, options={**spec.options, "num_layers": 1})
            network = small.network(inside)
            rest = Predictor(network, None, network.readout)
        return cls(splitter, predictor, task, config, rest, head)

    def forward(self, batch: Batch) -> Output:
        """Predict from the invariant part."""
        split = self.splitter(batch)
        seen = with_features(batch, self.config.predict_from, split.states)
        states = represent_part(self.predictor, seen, split.kept, split.scores.sigmoid())
        return Output(self.predictor.logits(states), split.attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Losses of the invariant part, of the contrast and, in v2, of the rest."""
        split = self.splitter(batch)
        seen = with_features(batch, self.config.predict_from, split.states)
        states = represent_part(self.predictor, seen, split.kept, split.scores.sigmoid())
        logits = self.predictor.logits(states)
        contrasted = self._contrasted(states, split, batch)
        contrast_loss = contrast.class_contrast(
            contrasted, batch.labels, self.task, self.config.temperature
        )
        terms = {
            "prediction": task_loss(logits, batch, self.task),
            "contrast": self.config.contrast * contrast_loss,
        }
        if self.rest_head is not None:
            rest = self.rest_head(self._represent_rest(seen, split))
            kept_losses, rest_losses = (
                label_loss(each, batch.labels, self.task, "none") for each in (logits, rest)
            )
            terms["spurious"] = self.config.spurious * hinge(rest_losses, kept_losses.detach())
        return terms

    def _contrasted(self, states: Tensor, split: Split, batch: Batch) -> Tensor:
        if self.config.contrast_on == "graph":
            return states
        part = edge_subgraph(replace(batch, x=split.states), split.kept)
        nodes = part.x
        if self.config.contrast_on == "misaligned":
            nodes = _misaligned(split.states, part)
        return readout(nodes, part.node_groups, "sum", inside=part.inside)

    def _represent_rest(self, seen: Batch, split: Split) -> Tensor:
        live = torch.is_grad_enabled() and not self.config.detach_spurious
        shared = self.rest is None
        predictor = self.predictor if self.rest is None else self.rest
        with (
            torch.set_grad_enabled(live),
            keep_statistics(predictor) if shared else nullcontext(),
        ):
            return represent_part(predictor, seen, ~split.kept, (-split.scores).sigmoid())


def _misaligned(states: Tensor, part: Batch) -> Tensor:
    """The first states of the batch ``[N]``, whatever nodes they are of, for those of the part."""
    if part.inside is None:
        return states[: part.num_nodes]
    place = (part.inside.cumsum(0) - 1).clamp(min=0)
    return states.index_select(0, place)


def hinge(losses: Tensor, bound: Tensor) -> Tensor:
    """Mean of those losses ``[G]`` that lie above their bound ``[G]``; 0 if none does."""
    above = losses > bound
    return torch.where(above, losses, 0).sum() / above.sum().clamp(min=1)
