"""GALA: what graphs of one class have in common although an assistant tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import Output, task_loss
from gsina.methods.parts import contrast
from gsina.methods.parts.reference import (
    ReferenceConfig,
    WithReference,
    predictions,
    reference_states,
)
from gsina.methods.parts.splitting import Splitter, represent_part
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.scorer import SCORERS
from gsina.ops.ragged import number_rows


@dataclass(frozen=True)
class GALAConfig(ReferenceConfig):
    """Settings of GALA; the defaults are those of its release on two-piece graphs {0.8, 0.7}.

    Attributes:
        contrast: Coefficient of the contrastive loss; the release has 0.5 to 128 on two-piece
            graphs, 1, 32 and 8 on DrugOOD-EC50 by assay, scaffold and size.
        temperature: Of its cosines.
        clusters: Groups that the assistant's graph states are divided into; with 1, the groups are
            what it predicts. The release has 3 on two-piece graphs, 2 and 3 on DrugOOD-EC50.
        ratio: Share r of the edges that the invariant part holds; ``None``, as in most of the
            release's experiments, weighs all edges and cuts none.
        scorer: ``normed`` (the release's) or ``plain``.
        reference_epochs: Epochs of the assistant; the release has 100 or more.
    """

    contrast: float = 1.0
    temperature: float = 1.0
    clusters: int = 3
    ratio: float | None = None
    scorer: str = "normed"
    reference_epochs: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 0 or more", "contrast")
        check_range(self, "be above 0", "temperature")
        check_range(self, "be 1 or more", "clusters")
        if self.ratio is not None:
            check_range(self, "lie in (0, 1]", "ratio")
        check_name(self.scorer, SCORERS, "scorer")


class GALA(WithReference):
    """Contrast the invariant parts of those pairs of graphs that an assistant gets wrong.

    After Chen et al., Does invariant graph learning via environment augmentation learn
    invariance?, NeurIPS 2023.

    1. A plain network, the assistant, is trained by ERM before the first epoch. It follows what is
       spurious, too. Its graph states are divided by k-means (of cosines) into groups a_i; or a_i
       is what it predicts.
    2. An extractor scores the edges, and the predictor sees messages weighted by
       ``sigmoid(score)``: of all edges, or of the ``ceil(r E)`` highest. The loss is

           CE + alpha L_contrast,

       with :func:`~gsina.methods.parts.contrast.contrastive_loss` of the predictor's graph states
       z. Positives of i are j with ``y_j = y_i, a_j != a_i``, negatives j with ``y_j != y_i,
       a_j = a_i``. So what the assistant went by separates no class, and I(z_i; z_j | y) between
       groups is what is left to maximise. A batch without any positive takes all pairs of one
       class, one without any negative all pairs of two.

    Unlike the release:

    * the assistant is trained for a fixed time, without selection;
    * graphs of the smaller of both groups, those that the assistant gets right or wrong, are not
      repeated in training;
    * the two directions of an undirected edge share the mean of their scores, and one fate.
    """

    config: GALAConfig

    def __init__(
        self,
        splitter: Splitter,
        predictor: Predictor,
        reference: Predictor,
        task: Task,
        config: GALAConfig,
    ) -> None:
        super().__init__(predictor, reference, task, config)
        self.splitter = splitter
        self.keeps_top_share = config.ratio is not None
        self.register_buffer("seed", torch.randint(2**31, ()))

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: ReferenceConfig) -> Self:
        """A fresh model: extractor, predictor and assistant are networks of the same make."""
        assert isinstance(config, GALAConfig)
        extractor = spec.network()
        splitter = Splitter(extractor, extractor.out_channels, config.ratio or 1.0, config.scorer)
        return cls(splitter, spec.predictor(task), spec.predictor(task), task, config)

    def infer(self, logits: Tensor, train: PackedGraphs) -> Tensor:
        """The assistant's group of every graph ``[G]``."""
        if self.config.clusters == 1:
            return contrast.class_numbers(predictions(logits, self.task), self.task)
        states = reference_states(self.reference, train)
        return cluster(states, self.config.clusters, int(self.seed))

    def forward(self, batch: Batch) -> Output:
        """Predict from the invariant part."""
        states, attention = self._represent(batch)
        return Output(self.predictor.logits(states), attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and contrastive loss."""
        states, _ = self._represent(batch)
        pairs = self._pairs(batch)
        loss = contrast.contrastive_loss(states, *pairs, self.config.temperature)
        return {
            "prediction": task_loss(self.predictor.logits(states), batch, self.task),
            "contrast": self.config.contrast * loss,
        }

    def _represent(self, batch: Batch) -> tuple[Tensor, Attention]:
        """Graph states ``[G, H]`` of the invariant parts, and the attention."""
        split = self.splitter(batch)
        weight = split.scores.sigmoid()
        if self.config.ratio is None:
            return self.predictor.represent(batch, weight), split.attention
        return represent_part(self.predictor, batch, split.kept, weight), split.attention

    def _pairs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Positives and negatives ``[G, G]``; a batch that was not prepared has all pairs."""
        same, different = contrast.pairs(contrast.class_numbers(batch.labels, self.task))
        group = batch.environment
        if group is None:
            return same, different
        return contrast.telling_pairs(same, different, group.unsqueeze(0) == group.unsqueeze(1))


def cluster(states: Tensor, count: int, seed: int) -> Tensor:
    """Groups ``[G]`` of states ``[G, H]`` on the CPU by k-means of their directions."""
    from sklearn.cluster import KMeans

    # Rounded, so that equal graphs are equal here, and no more groups are asked for than there are.
    unit = torch.nn.functional.normalize(states.double(), dim=1).round(decimals=6)
    count = min(count, len(number_rows(unit)[0]))
    found = KMeans(count, n_init=10, random_state=seed).fit(unit.numpy())
    return torch.as_tensor(found.labels_, dtype=torch.long)
