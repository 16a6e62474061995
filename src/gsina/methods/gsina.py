"""GSINA: predict from the soft invariant subgraph that Graph Sinkhorn Attention extracts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import nn

from gsina.data.batch import Batch
from gsina.data.task import Task
from gsina.methods.base import Method, Output
from gsina.methods.registry import register
from gsina.nn.attention import Attention, GraphSinkhornAttention, NodeAttention, Scope
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.ops.soft_top_r import Solver


@dataclass(frozen=True)
class GSINAConfig:
    """Settings of GSINA; the defaults are the paper's.

    Attributes:
        ratio: Share r of the edges that the invariant subgraph holds.
        temperature: Softness tau of the attention.
        noise: Factor sigma of the Gumbel noise in training.
        scope: ``graph`` (micro) or ``batch`` (macro).
        scorer: ``normed`` or ``plain``.
        node: Node attention: ``max``, ``mean`` or ``none``.
        predict_from: What the predictor sees: the ``raw`` features, or the extractor's
            ``embedding`` of them (then the subgraph is no bottleneck: an embedding has seen the
            whole neighbourhood).
        solver: ``exact`` or ``sinkhorn``.
        iterations: Sweeps of ``sinkhorn``.
    """

    ratio: float = 0.5
    temperature: float = 1.0
    noise: float = 1.0
    scope: Scope = "graph"
    scorer: str = "normed"
    node: NodeAttention = "max"
    predict_from: Literal["raw", "embedding"] = "raw"
    solver: Solver = "exact"
    iterations: int = 10


@register(
    name="gsina",
    config=GSINAConfig,
    paper="Yan et al., Improving subgraph extraction for graph invariant learning via graph "
    "Sinkhorn attention",
    levels=("graph", "node"),
)
class GSINA(Method):
    """Two networks and an attention.

    The extractor embeds the nodes; the attention turns the embeddings of the two ends of every
    edge into edge weights whose mean is the ratio, and these into node weights; the predictor sees
    the graph with every message multiplied by its edge's weight and every node's final state by
    the node's.

    Args:
        extractor: Any PyG network that returns node states ``[N, H]``.
        predictor: Any PyG network. A :class:`~gsina.nn.Predictor` brings a readout and head; a bare
            network must return logits (one row a node at node level).
        task: What is predicted.
        channels: Width H of the extractor's output; by default its ``out_channels``.
        config: Settings.
        **overrides: Settings by name, such as ``ratio=0.3``.
    """

    def __init__(
        self,
        extractor: nn.Module,
        predictor: nn.Module,
        task: Task,
        *,
        channels: int | None = None,
        config: GSINAConfig | None = None,
        **overrides: Any,
    ) -> None:
        super().__init__(task)
        config = replace(config or GSINAConfig(), **overrides)
        width = getattr(extractor, "out_channels", None) if channels is None else channels
        if not isinstance(width, int):
            raise ValueError(
                "the extractor has no integer `out_channels`; pass channels=<width of its output>."
            )
        self.config = config
        self.batch_invariant = config.scope == "graph"  # type: ignore[misc]
        self.extractor = extractor
        self.predictor = predictor if isinstance(predictor, Predictor) else Predictor(predictor)
        self.attention = GraphSinkhornAttention(
            width,
            config.ratio,
            config.temperature,
            config.noise,
            config.scope,
            scorer=config.scorer,
            node=config.node,
            solver=config.solver,
            iterations=config.iterations,
        )

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSINAConfig) -> GSINA:
        """A fresh model: extractor and predictor are two networks of the same make."""
        extractor = spec.network()
        inside = extractor.out_channels if config.predict_from == "embedding" else None
        return cls(extractor, spec.predictor(task.outputs, inside), task, config=config)

    def extract(self, batch: Batch) -> Attention:
        """The invariant subgraph: weights of edges and nodes."""
        return self._attend(batch)[1]

    def forward(self, batch: Batch) -> Output:
        """Extract the invariant subgraph and predict from it."""
        states, attention = self._attend(batch)
        if self.config.predict_from == "embedding":
            batch = replace(batch, x=states)
        return Output(self.predictor(batch, attention), attention)

    def _attend(self, batch: Batch) -> tuple[Any, Attention]:
        states = embed(self.extractor, batch)
        attention: Attention = self.attention(
            states,
            batch.edge_index,
            batch.node_graph,
            num_graphs=batch.num_graphs,
            edge_graph=batch.edge_graph,
            reverse=batch.reverse,
        )
        return states, attention
