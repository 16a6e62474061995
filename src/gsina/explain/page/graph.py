"""`PageGraph`: one graph as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.page.molecule import MoleculeDrawing


@dataclass(frozen=True)
class PageGraph:
    """One graph, ready to be written into a page.

    Attributes:
        name: SMILES, id or sentence.
        positions: Places of the nodes ``[N, 2]``, y upwards, in any unit.
        edges: Ends of the edges ``[2, P]``, the two directions of an undirected one as one pair.
        scores: Scores ``[P]`` that the soft top-r is solved from; ``None`` without attention.
        copies: How many stored edges a pair stands for ``[P]``, 1 or 2.
        node_labels: A text for each node, such as element symbols or words; or none.
        drawing: How RDKit draws it, for molecules; its places are ``positions``.
        probabilities: One per class, or none.
        values: Predicted values of a regression, or probabilities of several targets, or none.
        predicted: Text of the prediction.
        truth: Text of the truth, empty if unknown.
        right: Whether the prediction is right, if that is known.
        confidence: Confidence of the prediction in [0, 1], if there is one.
        edge_truth: Whether a pair is in the true explanation ``[P]``, bool, if that is known.
        output_names: Names of the probabilities or values.
        target_truth: The truth of each of ``values``, NaN where it is unknown; or none.
        centre: The node that the prediction is about, if it is about one.
        weights: The model's own weights ``[P]``, for pages whose solver cannot find them from the
            graph alone; ``None`` where it can.
        node_weights: The model's own weights of the nodes ``[N]``, where ``weights`` are given.
        features: What a network of the page is given: features of the nodes ``[N, F]``.
        edge_features: Features of the pairs ``[P, D]``, as of the direction of ``edges``.
        back_features: The same of the opposite directions, if they differ.
        logits: Output of the model, with which that network is compared.
        faithfulness: How far the marked part can be believed: ``words``, and the numbers in them
            (see :func:`gsina.explain.evidence.words.graph_lines`); empty if not measured.
    """

    name: str
    positions: Tensor
    edges: Tensor
    scores: Tensor | None
    copies: Tensor
    node_labels: tuple[str, ...] = ()
    drawing: MoleculeDrawing | None = None
    probabilities: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    predicted: str = ""
    truth: str = ""
    right: bool | None = None
    confidence: float | None = None
    edge_truth: Tensor | None = None
    output_names: tuple[str, ...] = ()
    target_truth: tuple[float, ...] = ()
    centre: int | None = None
    weights: Tensor | None = None
    node_weights: Tensor | None = None
    features: Tensor | None = None
    edge_features: Tensor | None = None
    back_features: Tensor | None = None
    logits: tuple[float, ...] = ()
    faithfulness: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes, pairs = self.positions.size(0), self.edges.size(-1)
        _expect(self.positions.shape == (nodes, 2), "positions", "[N, 2]", self.positions)
        _expect(self.edges.shape == (2, pairs), "edges", "[2, P]", self.edges)
        per_pair = {
            "scores": self.scores,
            "copies": self.copies,
            "edge_truth": self.edge_truth,
            "weights": self.weights,
        }
        for name, value in per_pair.items():
            if value is not None:
                _expect(value.shape == (pairs,), name, f"[{pairs}], one per pair of nodes", value)
        if self.node_weights is not None:
            right = self.node_weights.shape == (nodes,)
            _expect(right, "node_weights", f"[{nodes}], one per node", self.node_weights)
        if pairs and not 0 <= int(self.edges.min()) <= int(self.edges.max()) < nodes:
            raise InputError(
                f"edges of {self.name!r} must lie in 0 .. {nodes - 1}, got {int(self.edges.min())} "
                f"to {int(self.edges.max())}."
            )
        if len(self.node_labels) not in (0, nodes):
            raise InputError(
                f"node_labels of {self.name!r} has {len(self.node_labels)} entries; expected "
                f"{nodes} or none."
            )
        for name, value in (("positions", self.positions), ("scores", self.scores)):
            if value is not None and not bool(torch.isfinite(value).all()):
                raise InputError(f"{name} of {self.name!r} must be finite, got NaN or infinity.")


def _expect(right: bool, name: str, shape: str, value: Tensor) -> None:
    if not right:
        raise InputError(f"{name} must have the shape {shape}, got {list(value.shape)}.")
