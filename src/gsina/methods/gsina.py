"""GSINA: predict from the soft invariant subgraph that Graph Sinkhorn Attention extracts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from torch import Tensor, nn

from gsina.errors import InputError, check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output, task_loss
from gsina.methods.parts.splitting import with_features
from gsina.nn.attention import (
    NODE_ATTENTIONS,
    SCOPES,
    Attention,
    GraphSinkhornAttention,
    NodeAttention,
    Scope,
    check_numbers,
)
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.nn.scorer import SCORERS
from gsina.ops.budget import Budget, both_given
from gsina.ops.connectivity import edge_connectivity_loss
from gsina.ops.soft_top_r import SOLVERS, Solver


@dataclass(frozen=True)
class GSINAConfig:
    """Settings of GSINA; the defaults are the paper's.

    Attributes:
        ratio: Share r of the edges that the invariant subgraph holds; not used with a ``budget``.
        temperature: Softness tau of the attention.
        noise: Factor sigma of the Gumbel noise in training.
        scope: ``graph`` (micro) or ``batch`` (macro).
        scorer: ``normed``, ``plain``, or a module from ``[E, 2H]`` to one score per edge.
        node: Node attention: ``max``, ``mean`` or ``none``; ``auto`` is ``max`` where graphs are
            classified and ``none`` where nodes are.
        predict_from: What the predictor sees: the ``raw`` features, or the extractor's
            ``embedding`` of them (then the subgraph is no bottleneck: an embedding has seen the
            whole neighbourhood).
        solver: ``exact`` or ``sinkhorn``.
        iterations: Sweeps of ``sinkhorn``.
        connectivity: Coefficient of the connectivity loss, which the paper discusses and does not
            use; 0 for none.
        budget: Number of edges that the invariant subgraph of every graph holds, in place of a
            share: both directions of an undirected edge count once, and a graph that has no more
            edges is kept whole. Given, the ratio is not used.
    """

    ratio: float = 0.5
    temperature: float = 1.0
    noise: float = 1.0
    scope: Scope = "graph"
    scorer: str | nn.Module = "normed"
    node: Literal["auto", "max", "mean", "none"] = "auto"
    predict_from: Literal["raw", "embedding"] = "raw"
    solver: Solver = "exact"
    iterations: int = 10
    connectivity: float = 0.0
    budget: float | None = None

    def __post_init__(self) -> None:
        Budget.of(self.ratio, self.budget)
        check_numbers(self.temperature, self.noise, self.iterations)
        check_name(self.predict_from, ("raw", "embedding"), "input of the predictor")
        if isinstance(self.scorer, str):
            check_name(self.scorer, SCORERS, "scorer")
        check_name(self.scope, SCOPES, "scope")
        check_name(self.node, ("auto", *NODE_ATTENTIONS), "node attention")
        check_name(self.solver, SOLVERS, "solver")
        check_range(self, "be 0 or more", "connectivity")


class GSINA(Method):
    """Two networks and an attention.

    After Yan et al., Improving subgraph extraction for graph invariant learning via graph Sinkhorn
    attention.

    The extractor embeds the nodes; the attention turns the embeddings of the two ends of every
    edge into edge weights whose mean is the ratio, and these into node weights; the predictor sees
    the graph with every message multiplied by its edge's weight and every node's final state by
    the node's. With s the scores of the edges, standardised in each graph, and g Gumbel noise,

        alpha_e = sigmoid(2 (s_e + sigma g_e) / tau + d),   mean_e alpha_e = r in every graph,
        alpha_v = max of alpha_e over the edges at v,

    where the second equation fixes d, one number per graph.

    The released code pads graphs to the longest of a batch and makes ten sweeps towards d, so that
    the mean is not r and a graph's weights hang on its batch; it draws two weights for the two
    directions of an edge, and gives isolated nodes 0. Here d is exact, both directions have one
    weight, and isolated nodes have r.

    The loss is the prediction's. With ``connectivity`` above 0, the mean over the graphs of
    :func:`~gsina.ops.connectivity.edge_connectivity_loss` is added: the chance that a step from an
    edge of the subgraph to an edge beside it leaves the subgraph. The paper suggests a loss like
    GIB's; this is GIB's idea for weights of edges instead of nodes. Unlike there, to take in the
    whole graph is no way out, as the ratio fixes the sum of the weights.

    Args:
        extractor: Any PyG network that returns node states ``[N, H]``.
        predictor: Any PyG network. A :class:`~gsina.nn.Predictor` brings a readout and head; a bare
            network must return logits: one row per node at node level, one row per graph otherwise.
        task: What is predicted; only the loss needs it.
        channels: Width H of the extractor's output; by default its ``out_channels``.
        config: Settings.
        **overrides: Settings by name, such as ``ratio=0.3``.
    """

    shareable = True

    def __init__(
        self,
        extractor: nn.Module,
        predictor: nn.Module,
        task: Task | None = None,
        *,
        channels: int | None = None,
        config: GSINAConfig | None = None,
        **overrides: Any,
    ) -> None:
        super().__init__(task)
        for name in overrides:
            check_name(name, [field.name for field in fields(GSINAConfig)], "setting of GSINA")
        if overrides.get("ratio") is not None and overrides.get("budget") is not None:
            raise both_given(overrides["ratio"], overrides["budget"])
        config = replace(config or GSINAConfig(), **overrides)
        width = getattr(extractor, "out_channels", None) if channels is None else channels
        if not isinstance(width, int):
            raise InputError(
                "the extractor has no integer `out_channels`; pass channels=<width of its output>."
            )
        self.config = config
        self.batch_invariant = config.scope == "graph"
        self.extractor = extractor
        self.predictor = predictor if isinstance(predictor, Predictor) else Predictor(predictor)
        self.attention = GraphSinkhornAttention(
            width,
            config.ratio if config.budget is None else None,
            config.temperature,
            config.noise,
            config.scope,
            budget=config.budget,
            scorer=config.scorer,
            node=_node_attention(config, task),
            solver=config.solver,
            iterations=config.iterations,
        )

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSINAConfig) -> GSINA:
        """A fresh model: extractor and predictor are two networks of the same make."""
        extractor = spec.network()
        inside = extractor.out_channels if config.predict_from == "embedding" else None
        return cls(extractor, spec.predictor(task, inside), task, config=config)

    def extract(self, batch: Batch) -> Attention:
        """The invariant subgraph: weights of edges and nodes."""
        return self._attend(batch)[1]

    def forward(self, batch: Batch) -> Output:
        """Extract the invariant subgraph and predict from it."""
        states, attention = self._attend(batch)
        seen = with_features(batch, self.config.predict_from, states)
        return Output(self.predictor(seen, attention), attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss, and the connectivity loss if there is one."""
        logits, attention = self.forward(batch)
        terms = {"prediction": task_loss(logits, batch, self.task)}
        if self.config.connectivity > 0 and attention is not None:
            nodes = batch.node_groups
            loss = edge_connectivity_loss(attention.edge, batch.edge_index, nodes, batch.reverse)
            terms["connectivity"] = self.config.connectivity * loss.mean()
        return terms

    def _attend(self, batch: Batch) -> tuple[Any, Attention]:
        states = embed(self.extractor, batch)
        attention: Attention = self.attention(
            states,
            batch.edge_index,
            batch.node_graph,
            edge_groups=batch.edge_groups,
            reverse=batch.reverse,
        )
        return states, attention


def _node_attention(config: GSINAConfig, task: Task | None) -> NodeAttention:
    if config.node != "auto":
        return config.node
    return "none" if task is not None and task.level == "node" else "max"
