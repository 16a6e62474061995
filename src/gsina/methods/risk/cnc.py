"""CNC: learn from the pairs that a plain network gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gsina.errors import check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import task_loss
from gsina.methods.parts import contrast
from gsina.methods.parts.reference import ReferenceConfig, WithReference, predictions
from gsina.nn.predictor import Predictor


@dataclass(frozen=True)
class CNCConfig(ReferenceConfig):
    """Settings of CNC.

    Attributes:
        contrast: Coefficient alpha of the contrastive loss.
        temperature: Of the cosines.
        pairs: Which pairs are contrasted: the ``paper``'s, or those of the CIGA benchmark's
            ``release``.
    """

    contrast: float = 1.0
    temperature: float = 1.0
    pairs: Literal["paper", "release"] = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "be 0 or more", "contrast")
        check_range(self, "be above 0", "temperature")
        check_name(self.pairs, ("paper", "release"), "choice of pairs")


class CNC(WithReference):
    """Pull together graphs of one class that a reference tells apart, push apart those it mixes up.

    After Zhang, Sohoni, Zhang, Finn, Re, Correct-N-Contrast: a contrastive approach for improving
    robustness to spurious correlations, ICML 2022.

    1. A second network of the same make, the reference, is trained by ERM before the first epoch;
       what it predicts for a training graph, p_i, is the graph's pseudo-environment.
    2. The loss is ``CE + alpha`` times the contrastive loss of the graph states in front of the
       head (:func:`~gsina.methods.parts.contrast.contrastive_loss`). Positives of i are j with
       ``y_j = y_i, p_j != p_i``; negatives are j with ``y_j != y_i, p_j = p_i``. A batch without
       any positive takes all pairs of one class, one without any negative all pairs of two.

    Unlike the CIGA benchmark's release, where j is a positive if the reference is wrong about it
    and a negative if it is right, whatever it says of i (``pairs="release"``); where an anchor may
    be its own negative; and where the reference is the checkpoint of one seed, selected on the
    validation graphs, for all seeds. Here it is this run's own, trained for a fixed time.
    """

    config: CNCConfig

    def __init__(
        self, predictor: Predictor, reference: Predictor, task: Task, config: CNCConfig
    ) -> None:
        super().__init__(predictor, reference, task, config)
        self.register_buffer("seed", torch.randint(2**31, ()))

    def infer(self, logits: Tensor, train: PackedGraphs) -> Tensor:
        """What the reference says of every graph; for the release's pairs, whether it is wrong."""
        assert train.y is not None  # the reference has learned from them
        predicted = predictions(logits, self.task)
        if self.config.pairs == "paper":
            return contrast.class_numbers(predicted, self.task)
        return (predicted != train.y).view(len(train), -1).any(1).long()

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss and contrastive loss."""
        states = self.predictor.represent(batch)
        positive, negative = self._pairs(batch)
        loss = contrast.contrastive_loss(states, positive, negative, self.config.temperature)
        return {
            "prediction": task_loss(self.predictor.logits(states), batch, self.task),
            "contrast": self.config.contrast * loss,
        }

    def _pairs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Positives and negatives ``[G, G]``; a batch that was not prepared has all pairs."""
        same, different = contrast.pairs(contrast.class_numbers(batch.labels, self.task))
        environment = batch.environment
        if environment is None:
            return same, different
        if self.config.pairs == "paper":
            mixed_up = environment.unsqueeze(0) == environment.unsqueeze(1)
        else:
            mixed_up = environment.unsqueeze(0) == 0
        return contrast.telling_pairs(same, different, mixed_up)
