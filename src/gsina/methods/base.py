"""`Method`: what every way of training a graph model has in common."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.ops.host import at_hand
from gsina.ops.shared import is_shared, total

#: Marks a setting that was added when there were runs without it, whose default is what these did:
#: ``budget: float | None = field(default=None, metadata=LATER)``.
LATER = {"later": True}
#: Draws whose mean no further one would change.
MOST_DRAWS = 10_000


def settings_text(config: Any) -> str:
    """The settings of a method as ``repr`` writes them, but for ``LATER`` ones at their defaults.

    So what names a run is the same before and after a setting is added to the package.
    """
    known = fields(config) if is_dataclass(config) else ()
    unused = [
        one for one in known if "later" in one.metadata and getattr(config, one.name) == one.default
    ]
    if not unused:
        return repr(config)
    shown = [f"{one.name}={getattr(config, one.name)!r}" for one in known if one not in unused]
    return f"{type(config).__qualname__}({', '.join(shown)})"


class Output(NamedTuple):
    """A prediction: logits ``[G, outputs]`` and the attention behind them, if there is one."""

    logits: Tensor
    attention: Attention | None = None


class Method(nn.Module):
    """A model together with its training objective.

    A method implements :meth:`forward` and, unless the plain task loss will do, :meth:`loss`. One
    that needs inner loops or several optimisers overrides :meth:`step`; one that has to see all
    training graphs first overrides :meth:`prepare`.
    """

    #: Whether, in evaluation, a graph's output is the same in every batch.
    batch_invariant: bool = True
    #: Whether the loss of a batch is the mean over its graphs and the steps are the plain ones, so
    #: that several processes can share a batch.
    shareable: bool = False
    #: Whether it predicts only from the ``ceil(r E)`` edges of a graph with the highest scores.
    keeps_top_share: bool = False
    #: The settings: a frozen dataclass, or ``None`` for a method without any.
    config: Any = None

    def __init__(self, task: Task | None) -> None:
        super().__init__()
        self._task = task

    @property
    def task(self) -> Task:
        """What is predicted."""
        if self._task is None:
            raise InputError(
                "this model was made without a task, which is needed here; pass task=Task(...)."
            )
        return self._task

    @property
    def last_layer(self) -> nn.Module | None:
        """The layer that makes logits of states: of graphs ``[G, H]``, or of nodes.

        ``None`` if the method does not say: then its states are not known.
        """
        predictor = getattr(self, "predictor", None)
        return predictor.last_layer if isinstance(predictor, Predictor) else None

    def __call__(self, batch: Any) -> Any:
        """:meth:`forward` of a batch; a PyG ``Data`` or ``Batch`` is converted first.

        A ``forward`` that returns a tensor returns the logits.
        """
        output = super().__call__(_as_batch(batch))
        return Output(output) if isinstance(output, Tensor) else output

    def forward(self, batch: Batch) -> Output:
        """Predict; noise and dropout only in training mode."""
        raise NotImplementedError

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        """The training graphs of an epoch as the method wants them; called before its first step.

        A method that infers environments attaches them here, as ``environment``. What it finds out
        at epoch 0 must be in its parameters or buffers, or follow from them: a resumed run calls
        this next at a later epoch. Torch's generator must be left as it was.

        Args:
            train: The training split, not to be changed.
            epoch: Counted from 0.
            batch_size: Graphs per step, for passes over the graphs.
        """
        return train

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor] | Tensor:
        """Named terms whose sum is minimised, or one number.

        Args:
            batch: Graphs with labels; ``Batch.from_pyg`` converts PyG's.
            epoch: The current epoch, counted from 0, for schedules.
        """
        return {"prediction": task_loss(self(batch).logits, batch, self.task)}

    def terms(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        """The loss as named terms.

        Raises:
            InputError: :meth:`loss` returns something else than terms or a number.
        """
        found: Any = self.loss(batch, epoch)
        terms = {"loss": found} if isinstance(found, Tensor) else found
        if terms and isinstance(terms, dict):
            every = terms.values()
            if all(isinstance(term, Tensor) and term.numel() == 1 for term in every):
                return {name: term.reshape(()) for name, term in terms.items()}
        raise InputError(
            f"the loss of {type(self).__name__} must be a tensor of one number, or a dict of such "
            f"tensors; got {found!r:.80}."
        )

    def step(
        self, batch: Any, optimiser: torch.optim.Optimizer, epoch: int = 0
    ) -> dict[str, Tensor]:
        """One optimisation step; returns the loss terms, detached."""
        optimiser.zero_grad(set_to_none=True)
        terms = self.terms(_as_batch(batch), epoch)
        torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return {name: term.detach() for name, term in terms.items()}


class PlainMethod(Method):
    """A method whose one network predicts from the graph as it is."""

    def __init__(self, predictor: Predictor, task: Task, config: Any = None) -> None:
        super().__init__(task)
        self.config = config
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: Any) -> Self:
        """A fresh model."""
        return cls(spec.predictor(task), task, config)

    def forward(self, batch: Batch) -> Output:
        """Predict from the graph as it is."""
        return Output(self.predictor(batch))


def _as_batch(batch: Any) -> Batch:
    return batch if isinstance(batch, Batch) else Batch.from_pyg(batch)


def check_draws(name: str, draws: int) -> None:
    """Refuse more draws than could change their mean; a model with them would never answer."""
    if draws > MOST_DRAWS:
        raise InputError(f"{name} must be at most {MOST_DRAWS:,}, got {draws}.")


def task_loss(logits: Tensor, batch: Batch, task: Task, reduction: str = "mean") -> Tensor:
    """:func:`label_loss` of a batch; at node level only of the nodes in its mask."""
    y, weight = batch.labels, batch.label_weight
    if batch.mask is not None and reduction == "mean" and not at_hand(logits):
        y = _missing(y, ~batch.mask, task)  # as many rows as before: their number is known
    elif batch.mask is not None:
        logits, y = logits[batch.mask], y[batch.mask]
        weight = None if weight is None else weight[batch.mask]
    loss = label_loss(logits, y, task, reduction, weight)
    if reduction != "mean" or not is_shared():
        return loss
    return loss * _weight(y, batch, task).to(loss.dtype)


def _missing(y: Tensor, rows: Tensor, task: Task) -> Tensor:
    """Labels of which those of the marked rows ``[N]`` are not known."""
    if task.kind == "multiclass":
        return y.masked_fill(rows, -1)
    return y.masked_fill(rows.view(-1, *[1] * (y.dim() - 1)), torch.nan)


def _weight(y: Tensor, batch: Batch, task: Task) -> Tensor:
    """Of a part of a global batch: its share of the labels over its share of the graphs.

    Processes are weighted by their graphs; this makes the total the mean over the known labels,
    which may lie unevenly (missing labels, nodes in a mask).
    """
    known = y != -1 if task.kind == "multiclass" else ~y.isnan()
    graphs_here = known.new_full((), batch.num_graphs, dtype=torch.double)
    local = torch.stack([known.sum().double(), graphs_here])
    share = local / total(local).clamp(min=1)
    return share[0] / share[1]


def label_loss(
    logits: Tensor,
    y: Tensor,
    task: Task,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Cross-entropy, or squared error in regression; missing labels do not count.

    Args:
        logits: ``[G, outputs]``; at node level one row per node.
        y: Labels, as the task says.
        task: Says which loss.
        reduction: ``mean`` over the known labels, or ``none`` for one loss per graph
            ``[G]`` (0 where no label is known).
        weight: What every label counts, in the shape of ``y``; weights have mean 1 over a training
            split, so a mean is one over labels, not over weights.
    """
    classes = task.kind == "multiclass"
    if y.shape != logits.shape[:1] if classes else y.numel() != logits.numel():
        raise InputError(
            f"got logits of shape {list(logits.shape)} for labels of shape {list(y.shape)}, "
            f"expected labels of shape {list(logits.shape[:1] if classes else logits.shape)}; a "
            "network that returns node states needs a readout: Predictor(network, head, 'sum')."
        )
    if classes:
        each = F.cross_entropy(logits, y, ignore_index=-1, reduction="none")
        count = (y != -1).sum()
        each = each if weight is None else each * weight
    else:
        y = y.view_as(logits)
        known = ~y.isnan()
        target = torch.where(known, y, 0).to(logits.dtype)
        pointwise = (
            F.binary_cross_entropy_with_logits(logits, target, reduction="none")
            if task.kind == "binary"
            else (logits - target).square()
        )
        counted = known if weight is None else known * weight.view_as(logits)
        each = (pointwise * counted).sum(-1)
        count = known.sum()
        if reduction == "none":
            return each / known.sum(-1).clamp(min=1)
    return each if reduction == "none" else each.sum() / count.clamp(min=1)
