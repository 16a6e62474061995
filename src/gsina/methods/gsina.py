"""GSINA: predict from the soft invariant subgraph that Graph Sinkhorn Attention extracts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from gsina.errors import InputError, check_name, check_range
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods.base import LATER, Method, Output, check_draws, task_loss
from gsina.methods.parts.refit import hard_part
from gsina.methods.parts.splitting import with_features
from gsina.nn.attention import SCOPES, Attention, GraphSinkhornAttention, Scope
from gsina.nn.checks import (
    Transport,
    check_expected,
    check_lowest_ratio,
    check_numbers,
    check_transport,
)
from gsina.nn.node_weights import NODE_ATTENTIONS, NodeAttention
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.nn.scorer import SCORERS
from gsina.ops.alignment import alignment_loss
from gsina.ops.budget import Budget, both_given
from gsina.ops.connectivity import edge_connectivity_loss
from gsina.ops.soft_top_r import Regulariser, Solver


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
        regulariser: Of the soft top-r: ``entropic`` (the paper's, every weight lies between 0 and
            1) or ``quadratic`` (most weights are exactly 0 or exactly 1).
        hard: Whether the predictor is trained on hard subgraphs: edges are drawn with their weights
            as probabilities, as many of every graph as its weights add up to, rounded down or up,
            and the weights get the gradient. Evaluation and explanations keep the soft weights.
        test_draws: Number of noisy draws, hard ones if ``hard``, over which logits are averaged in
            evaluation; 0 for the logits of the weights without noise. The noise is a function of
            the graph, so that predictions can be repeated and do not depend on the batch.
        transport: ``exact``, or ``padded`` to reproduce numbers of the released research code,
            which pads graphs to the longest of their batch; then the weights of a graph hang on its
            batch and do not add up to its share.
        final_temperature: Where the temperature goes in training, by the same factor in every
            epoch; ``None`` to leave it where it is. What is evaluated, saved and loaded has the
            temperature of its epoch.
        anneal_epochs: Number of epochs after which the final temperature, or the ratio, is reached.
        predictor_layers: Layers of the predictor, if it shall not have as many as the extractor.
        initial_ratio: Share that training begins with, going to the ratio in equal steps, so that
            the predictor knows what to look for before edges become scarce; evaluation always has
            the ratio. ``None``: the ratio from the beginning.
        initial_budget: The same for a budget: the number of edges that training begins with.
        lowest_ratio: If given, every graph's share is drawn in training, anew in every step and
            evenly from this one to 1, so that one model answers at any budget: edges must come in
            the order of their worth, and the level of the weights tells nothing about the graph.
            Evaluation has the ratio or the budget. Not beside an initial ratio or budget.
        expected: Whether evaluation has the weights that edges have on average over the noise of
            training (:attr:`~gsina.nn.GraphSinkhornAttention.evaluation_temperature`), in place of
            those without noise, which are sharper than what the predictor has learnt from.
        alignment: Coefficient of :func:`~gsina.ops.alignment.alignment_loss`, which presses the
            lowest weights of a graph to a small number; 0 for none.
        refit_epoch: The epoch, counted from 0, from which on the extractor is frozen, the subgraph
            is hard (the edges with the highest weights, as many as the budget holds, rounded up),
            and the predictor learns from its first weights again; ``None`` for never. Only
            epochs from then on are selected.
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
    budget: float | None = field(default=None, metadata=LATER)
    regulariser: Regulariser = field(default="entropic", metadata=LATER)
    hard: bool = field(default=False, metadata=LATER)
    test_draws: int = field(default=0, metadata=LATER)
    transport: Transport = field(default="exact", metadata=LATER)
    final_temperature: float | None = field(default=None, metadata=LATER)
    anneal_epochs: int = field(default=20, metadata=LATER)
    predictor_layers: int | None = field(default=None, metadata=LATER)
    initial_ratio: float | None = field(default=None, metadata=LATER)
    initial_budget: float | None = field(default=None, metadata=LATER)
    lowest_ratio: float | None = field(default=None, metadata=LATER)
    expected: bool = field(default=False, metadata=LATER)
    alignment: float = field(default=0.0, metadata=LATER)
    refit_epoch: int | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        Budget.of(self.ratio, self.budget)
        check_numbers(self.temperature, self.noise, self.iterations)
        check_name(self.predict_from, ("raw", "embedding"), "input of the predictor")
        if isinstance(self.scorer, str):
            check_name(self.scorer, SCORERS, "scorer")
        check_name(self.scope, SCOPES, "scope")
        check_name(self.node, ("auto", *NODE_ATTENTIONS), "node attention")
        check_transport(self.transport, self.regulariser, self.solver)
        check_range(self, "be 0 or more", "connectivity", "test_draws", "alignment")
        check_draws("test_draws", self.test_draws)
        check_range(self, "be 1 or more", "anneal_epochs")
        if self.predictor_layers is not None:
            check_range(self, "be 1 or more", "predictor_layers")
        if self.final_temperature is not None:
            check_range(self, "be above 0", "final_temperature")
        if self.refit_epoch is not None:
            check_range(self, "be 1 or more", "refit_epoch")
        check_lowest_ratio(self.lowest_ratio, self.scope)
        check_expected(self.expected, self.transport, self.regulariser)
        for name, kind in (("initial_ratio", "ratio"), ("initial_budget", "budget")):
            value = getattr(self, name)
            if value is not None:
                Budget.of(**{kind: value})
                if (self.budget is None) != (kind == "ratio"):
                    kept = Budget.of(self.ratio, self.budget)
                    raise InputError(
                        f"got {name}={value} beside {kept.symbol}, which is no {kind} to go to; "
                        f"give a {kind}, or leave {name} out."
                    )
                if self.lowest_ratio is not None:
                    raise InputError(
                        f"got {name}={value} beside lowest_ratio={self.lowest_ratio}, with which "
                        f"training draws its shares; leave one of the two out."
                    )
        if self.test_draws and self.noise == 0 and not self.hard:
            raise InputError(
                f"got test_draws={self.test_draws} without noise and without hard=True, with which "
                "all draws would be the same; give one of the two, or leave test_draws out."
            )

    @property
    def first_eligible_epoch(self) -> int:
        """The first epoch that may be selected."""
        return self.refit_epoch or 0

    def temperature_at(self, epoch: int) -> float:
        """The temperature of an epoch, counted from 0."""
        if self.final_temperature is None:
            return self.temperature
        done = min(1.0, epoch / self.anneal_epochs)
        return float(self.temperature ** (1 - done) * self.final_temperature**done)

    def budget_at(self, epoch: int) -> Budget:
        """What the subgraph may hold in training in an epoch, counted from 0."""
        done = min(1.0, epoch / self.anneal_epochs)
        if self.budget is not None and self.initial_budget is not None:
            return Budget(count=(1 - done) * self.initial_budget + done * self.budget)
        if self.budget is None and self.initial_ratio is not None:
            return Budget(share=(1 - done) * self.initial_ratio + done * self.ratio)
        return Budget.of(self.ratio, self.budget)


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
    weight, and isolated nodes have r; ``transport="padded"`` does as that code does.

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
        padded = config.transport == "padded"
        self.batch_invariant = config.scope == "graph" and not padded
        # The longest graph is that of a whole batch; a frozen extractor has no gradients to share.
        self.shareable = not padded and config.refit_epoch is None
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
            regulariser=config.regulariser,
            solver=config.solver,
            iterations=config.iterations,
            hard=config.hard,
            lowest_ratio=config.lowest_ratio,
            expected=config.expected,
            transport=config.transport,
        )
        if config.final_temperature is not None:
            self.attention.save_temperature()
        if config.refit_epoch is not None:
            self.refitted: Tensor
            self.register_buffer("refitted", torch.tensor(False))
            first = self.predictor.state_dict()
            self._first = {name: value.clone() for name, value in first.items()}

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: GSINAConfig) -> GSINA:
        """A fresh model: extractor and predictor are two networks of the same make."""
        extractor = spec.network()
        inside = extractor.out_channels if config.predict_from == "embedding" else None
        if config.predictor_layers is not None:
            spec = replace(spec, options=spec.options | {"num_layers": config.predictor_layers})
        return cls(extractor, spec.predictor(task, inside), task, config=config)

    def extract(self, batch: Batch) -> Attention:
        """The invariant subgraph: weights of edges and nodes."""
        return self._attend(batch)[1]

    def forward(self, batch: Batch) -> Output:
        """Extract the invariant subgraph and predict from it."""
        draws = 0 if self.training else self.config.test_draws
        states, attention, drawn = self._attend(batch, draws)
        seen = with_features(batch, self.config.predict_from, states)
        logits = [self.predictor(seen, one) for one in drawn or [attention]]
        return Output(torch.stack(logits).mean(0) if drawn else logits[0], attention)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Prediction loss, and the losses of connectivity and alignment if there are any."""
        if self.training and self.config.final_temperature is not None:
            self.attention.temperature = self.config.temperature_at(epoch)
        with self._budget_of(epoch):
            logits, attention = self.forward(batch)
        terms = {"prediction": task_loss(logits, batch, self.task)}
        if self.config.connectivity > 0 and attention is not None:
            nodes = batch.node_groups
            loss = edge_connectivity_loss(attention.edge, batch.edge_index, nodes, batch.reverse)
            terms["connectivity"] = self.config.connectivity * loss.mean()
        if self.config.alignment > 0 and attention is not None:
            loss = alignment_loss(attention.edge, batch.edge_groups, batch.reverse)
            terms["alignment"] = self.config.alignment * loss.mean()
        return terms

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """From the epoch of the refit on, the extractor is frozen and the predictor a new one."""
        again = self.config.refit_epoch
        if again is not None and epoch >= again and not self.refitted:
            self.predictor.load_state_dict(self._first)
            self.refitted.fill_(True)
            self.train(self.training)
        return train

    def train(self, mode: bool = True) -> Self:
        """Training or evaluation mode; a frozen extractor is always in the latter."""
        super().train(mode)
        if self.config.refit_epoch is not None and self.refitted:
            self.extractor.eval()
            self.attention.eval()
        return self

    @contextmanager
    def _budget_of(self, epoch: int) -> Iterator[None]:
        """The attention with the budget of an epoch of training."""
        usual = self.attention.budget
        if self.training:
            self.attention.budget = self.config.budget_at(epoch)
        try:
            yield
        finally:
            self.attention.budget = usual

    def _attend(self, batch: Batch, draws: int = 0) -> tuple[Any, Attention, list[Attention]]:
        """States of the nodes, the attention, and so many noisy draws of it."""
        if self.config.refit_epoch is not None and self.refitted:
            return *self._frozen(batch), []
        states = embed(self.extractor, batch)
        graphs = (states, batch.edge_index, batch.node_graph)
        known: dict[str, Any] = {"edge_groups": batch.edge_groups, "reverse": batch.reverse}
        if draws:
            return states, *self.attention.draws(draws, *graphs, **known)
        return states, self.attention(*graphs, **known), []

    def _frozen(self, batch: Batch) -> tuple[Any, Attention]:
        """States and the hard attention of an extractor that is trained no longer."""
        with torch.no_grad():
            states = embed(self.extractor, batch)
            known: dict[str, Any] = {"edge_groups": batch.edge_groups, "reverse": batch.reverse}
            soft = self.attention(states, batch.edge_index, batch.node_graph, **known)
            return states, hard_part(soft, batch, self.attention.budget)


def _node_attention(config: GSINAConfig, task: Task | None) -> NodeAttention:
    if config.node != "auto":
        return config.node
    return "none" if task is not None and task.level == "node" else "max"
