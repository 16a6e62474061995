"""EERM: invariant to views of the graph that editors make to be as different as they can."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gsina.errors import InputError, check_range
from gsina.graphs.batch import Batch
from gsina.methods.base import PlainMethod, task_loss
from gsina.nn.norm import keep_statistics
from gsina.nn.subgraph import leave_out
from gsina.ops.host import at_hand, count_members


@dataclass(frozen=True)
class EERMConfig:
    """Settings of EERM.

    Attributes:
        views: Number K of editors, each of which makes one view of the graph.
        edits: Entries of the adjacency that a view changes at every node.
        editor_steps: Steps T that the editors learn before every step of the network.
        editor_learning_rate: Of the editors' Adam.
        beta: Weight of the mean of the views' losses, beside their variance.
        final_beta: If given, ``beta`` grows to it in a straight line ...
        growth_epochs: ... in so many epochs.
        candidates: Other ends that an editor may choose from at a node, drawn again at every step;
            ``None`` for all nodes, which takes K n^2 numbers.
        max_gib: Largest memory of the editors' parameters.
    """

    views: int = 3
    edits: int = 5
    editor_steps: int = 1
    editor_learning_rate: float = 1e-3
    beta: float = 1.0
    final_beta: float | None = None
    growth_epochs: int = 200
    candidates: int | None = None
    max_gib: float = 2.0

    def __post_init__(self) -> None:
        if self.views < 2:
            raise InputError(f"a variance needs 2 views or more, got views = {self.views}.")
        check_range(self, "be 1 or more", "edits", "growth_epochs")
        check_range(self, "be 0 or more", "editor_steps", "editor_learning_rate", "beta")
        if self.candidates is not None and self.candidates < self.edits:
            raise InputError(
                f"an editor chooses {self.edits} of its candidates at a node, got only "
                f"{self.candidates}; raise candidates or lower edits."
            )

    def beta_at(self, epoch: int) -> float:
        """Weight of the mean in an epoch."""
        if self.final_beta is None:
            return self.beta
        return self.beta + (self.final_beta - self.beta) * min(epoch / self.growth_epochs, 1.0)


class EERM(PlainMethod):
    """Minimise the variance over views of the graph, plus ``beta`` times the mean, of the loss.

    After Wu et al., Handling distribution shifts on graphs: an invariance perspective, ICLR 2022.

    A view is the graph with some entries of its adjacency flipped: an existing edge goes, a missing
    one comes. At every node an editor draws them without replacement from a softmax over
    the other ends. The editors maximise the variance by REINFORCE, for a few steps; then the
    network takes one step on views drawn from them. They restart from random numbers at every
    step of the network, so they leave no state behind. Predictions use the unedited graph.

    The released code draws along another axis than it normalises, leaves editors without a start
    on some datasets, and updates the network before the editors have learned; this is the method as
    the paper has it.
    """

    config: EERMConfig

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """Variance and mean over the views of editors that have learned."""
        editors = Editors(batch, self.config)
        self._teach(editors, batch)
        with torch.no_grad():
            views = [editors.draw(view) for view in range(self.config.views)]
        losses = torch.stack([self._loss_of(batch, view.flips) for view in views])
        return {"variance": losses.var(), "mean": self.config.beta_at(epoch) * losses.mean()}

    def _loss_of(self, batch: Batch, flips: Tensor) -> Tensor:
        logits = self.forward(flip_edges(batch, flips)).logits
        return task_loss(logits[: batch.num_nodes], batch, self.task)

    def _teach(self, editors: Editors, batch: Batch) -> None:
        """Steps of REINFORCE for the editors; the network stays as it is."""
        if self.config.editor_steps == 0 or self.config.editor_learning_rate == 0:
            return
        logits = editors.logits.requires_grad_()
        optimiser = torch.optim.Adam([logits], lr=self.config.editor_learning_rate)
        for _ in range(self.config.editor_steps):
            drawn = [editors.draw(view) for view in range(self.config.views)]
            with torch.no_grad(), keep_statistics(self):
                reward = torch.stack([self._loss_of(batch, view.flips) for view in drawn]).var()
            chances = [editors.log_probability(number, view) for number, view in enumerate(drawn)]
            # Not through the network's step: only the editors get a gradient here.
            (logits.grad,) = torch.autograd.grad(-reward * torch.stack(chances).sum(), [logits])
            optimiser.step()
        logits.requires_grad_(False)


class View(NamedTuple):
    """What an editor has drawn.

    Attributes:
        chosen: Candidates of every node in the order they were drawn ``[N, edits]``.
        flips: Entries of the adjacency as ``target * N + source`` ``[F]``, ascending; on a device
            perhaps with -1 in front, for none.
    """

    chosen: Tensor
    flips: Tensor


class Editors:
    """K editors of a batch: at every node, a distribution over candidates for the other end.

    Attributes:
        logits: Scores of the candidates ``[K, N, M]``.
    """

    def __init__(self, batch: Batch, config: EERMConfig) -> None:
        if batch.edge_attr is not None:
            raise InputError(
                "EERM adds edges and cannot make up their features; use graphs without edge_attr."
            )
        sizes = count_members(batch.node_graph, batch.num_graphs)
        largest = max(batch.largest - 1, 1)
        width = largest if config.candidates is None else min(config.candidates, largest)
        gib = 4 * config.views * batch.num_nodes * width / 2**30
        if gib > config.max_gib:
            raise InputError(
                f"{config.views} editors of {batch.num_nodes:,} nodes with {width:,} candidates "
                f"each take {gib:.1f} GiB (and a step about seven times that), more than max_gib = "
                f"{config.max_gib:g}; set candidates to a smaller number, such as 64."
            )
        self.edits = min(config.edits, width)
        self.num_nodes = batch.num_nodes
        self.candidates, self.valid = _candidates(batch, sizes, largest, width)
        shape = (config.views, batch.num_nodes, width)
        self.logits = torch.rand(shape, device=batch.x.device)

    def draw(self, editor: int) -> View:
        """A view by one editor: at every node, candidates without replacement."""
        logits = self._masked(editor).detach()
        # The largest of disturbed logits are a draw without replacement.
        gumbel = -torch.empty_like(logits).exponential_().clamp_(min=1e-30).log_()
        chosen = logits.add(gumbel).topk(self.edits, dim=1).indices
        source = self.candidates.gather(1, chosen)
        target = torch.arange(self.num_nodes, device=source.device).unsqueeze(1)
        valid = self.valid.gather(1, chosen)
        entries = target * self.num_nodes + source
        flips = entries[valid] if at_hand(valid) else torch.where(valid, entries, -1).flatten()
        return View(chosen, flips.sort().values)

    def log_probability(self, editor: int, view: View) -> Tensor:
        """Log-probability that the editor draws this view, in this order; a sum over nodes."""
        logits = self._masked(editor)
        valid = self.valid.gather(1, view.chosen)
        chance = (logits - logits.logsumexp(1, keepdim=True)).gather(1, view.chosen)
        # What was drawn before is out: its probability is shared out among the others.
        gone = torch.where(valid, chance.exp(), 0.0).cumsum(1)[:, :-1]
        left = torch.cat([torch.ones_like(chance[:, :1]), 1 - gone], dim=1).clamp(min=1e-6)
        return torch.where(valid, chance - left.log(), 0.0).sum()

    def _masked(self, editor: int) -> Tensor:
        """Logits ``[N, M]`` without the candidates that do not exist; 0 where none does."""
        without = ~self.valid & self.valid.any(1, keepdim=True)
        return self.logits[editor].masked_fill(without, -torch.inf)


def _candidates(batch: Batch, sizes: Tensor, largest: int, width: int) -> tuple[Tensor, Tensor]:
    """Other ends of every node: those at ``width`` random distances in its graph, never itself.

    Returns:
        Node numbers ``[N, M]`` and which of them exist ``[N, M]``: a small graph has fewer.
    """
    device = batch.x.device
    order = torch.rand(batch.num_graphs, largest, device=device)
    order = order.masked_fill(torch.arange(largest, device=device) >= (sizes - 1)[:, None], 2.0)
    distance = 1 + order.argsort(1)[:, :width]
    start = (sizes.cumsum(0) - sizes)[batch.node_graph].unsqueeze(1)
    size = sizes[batch.node_graph].unsqueeze(1)
    local = torch.arange(batch.num_nodes, device=device).unsqueeze(1) - start
    found = start + (local + distance[batch.node_graph]) % size
    return found, torch.arange(width, device=device) < size - 1


def flip_edges(batch: Batch, flips: Tensor) -> Batch:
    """The batch with some entries of its adjacency flipped.

    Args:
        batch: Graphs without edge features.
        flips: Entries as ``target * N + source`` ``[F]``, ascending and each once, -1 for none.
            Where there are parallel edges, all of them go.

    Returns:
        The graphs; on a device with one node more at the end, which edges that went lead to and
        which is not inside.
    """
    nodes = batch.num_nodes
    source, target = batch.edge_index
    keys = target * nodes + source
    keep, new = ~torch.isin(keys, flips), ~torch.isin(flips, keys)
    added = torch.stack([flips % nodes, torch.div(flips, nodes, rounding_mode="floor")])
    if at_hand(keep):
        edge_index = torch.cat([batch.edge_index[:, keep], added[:, new]], dim=1)
    else:
        edge_index = torch.cat([batch.edge_index, added.clamp(min=0)], dim=1)
        batch = leave_out(
            replace(batch, edge_index=edge_index), torch.cat([keep, new & (flips >= 0)])
        )
        edge_index = batch.edge_index
    edge_graph = batch.node_graph[edge_index[1]]
    if batch.num_graphs > 1:  # edges of one graph stand side by side
        edge_graph, order = edge_graph.sort(stable=True)
        edge_index = edge_index[:, order]
    changes: dict[str, Any] = {"edge_truth": None, "reverse": None}
    return replace(batch, edge_index=edge_index, edge_graph=edge_graph, **changes)
