"""The training loop: plain, resumable, bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import TypeAdapter
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.graphs.batch import Batch
from gsina.graphs.dataset import Dataset
from gsina.graphs.neighbours import count_seeds, sampled_batches
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.listeners import Listener
from gsina.listeners.log import LOG, LogFile
from gsina.methods.base import Method, settings_text
from gsina.nn.recompute import recomputed
from gsina.ops.host import set_generator_states
from gsina.training.averaging import Average
from gsina.training.checkpoint import (
    FILE,
    Checkpoint,
    check_fits,
    copy_weights,
    fingerprint_of,
    load_checkpoint,
    refusing_damage,
    rng_states,
    save_checkpoint,
)
from gsina.training.devices import Home, check_precision, device_of
from gsina.training.distributed import Ranks, Replica, check_sizes, reseed
from gsina.training.evaluate import evaluation_size, predict, score
from gsina.training.failures import (
    Diverged,
    Interrupted,
    cause,
    check_finite,
    interruption,
    memory_errors,
    saved_epochs_text,
)
from gsina.training.selection import Score, Selection

#: From the record of an epoch to what a user sees of it.
Shown = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    """How to optimise.

    Attributes:
        epochs: Largest number of epochs.
        batch_size: Graphs per step; nodes per step if neighbours are sampled.
        learning_rate: Of Adam.
        weight_decay: Of Adam (added to the gradient), or of AdamW.
        plateau_patience: Halve the learning rate when more than this many epochs in a row were not
            better than the selected one, and start counting again; ``None``: never.
        algorithm: ``adam`` or ``adamw``.
        neighbours: At node level, the most incoming edges of a node in every hop that a step
            samples, such as ``(10, 10)``; ``None``: whole graphs.
        precision: ``float32``, or ``bf16`` for training steps under PyTorch's autocast; weights,
            attention and evaluation stay in float32.
        average: Factor of a running average of the weights over the steps, such as 0.99, which is
            what is validated and kept (:class:`~gsina.training.averaging.Average`); 0: none.
        resample: ``shortcuts`` to draw training graphs so that a shallow network cannot tell their
            labels (:mod:`gsina.models.shortcuts`), in place of all once per epoch; ``None``: all.
        class_weight: ``balanced``, or what every class counts in the loss, by its name; the labels
            that :func:`fit` gets have the weights already.
        recompute: Compute the states of networks again in the backward pass, for less memory and
            more time; the numbers stay the same.
    """

    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    plateau_patience: int | None = None
    algorithm: str = "adam"
    neighbours: tuple[int, ...] | None = None
    precision: str = "float32"
    class_weight: str | dict[str, float] | None = None
    average: float = 0.0
    resample: str | None = None
    recompute: bool = False


ALGORITHMS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


@dataclass
class Progress:
    """What has happened so far; JSON-able, stored in every checkpoint."""

    epoch: int = 0
    best_epoch: int = -1
    best: list[float] | None = None
    waited: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)


def fit(
    method: Method,
    dataset: Dataset,
    settings: Settings,
    selection: Selection,
    *,
    seed: int = 0,
    out: Path | None = None,
    resume: bool = False,
    chances: Tensor | None = None,
    session: dict[str, Any] | None = None,
    ranks: Ranks | None = None,
    listeners: Sequence[Listener] = (),
    shown: Shown = lambda record: record,
) -> Progress:
    """Train on ``train``, select on ``val``; the model ends with the selected weights.

    If no epoch could be selected (all before ``first_epoch``, or the metric is never a number) it
    ends with the last weights, and ``best_epoch`` is -1.

    Args:
        method: A fresh model, initialised under ``seed``.
        dataset: Splits; only ``train`` and ``val`` are looked at.
        settings: Optimisation.
        selection: Which epoch wins, and when to stop.
        seed: Seeds the shuffling; dropout and noise go on from torch's generator.
        out: Folder for ``checkpoint.safetensors`` and ``log.jsonl``; ``None`` keeps nothing.
        resume: Go on from the checkpoint in ``out`` if there is one; ``epochs`` may have grown.
        chances: How often every training graph is drawn ``[G]``, relative to the others: an epoch
            then has as many graphs as before, drawn with replacement. ``None``: each once.
        session: What trains now (versions, commit, threads); the checkpoint keeps a list of those
            that trained an epoch.
        ranks: The processes that train together; by default this one alone.
        listeners: Hear of every batch and every epoch.
        shown: Turns the record of an epoch into what listeners and the log get, such as errors in
            the units of the target.

    Raises:
        Diverged: If the loss is not finite, with the step and the cause.
        OutOfMemory: If a step does not fit into the memory of the device.
        Interrupted: On Ctrl-C; the checkpoint of the last whole epoch is on disk.
    """
    if len(dataset.train) == 0:
        raise InputError(f"the train split of {dataset.name} has no graphs, expected at least one.")
    check_precision(settings.precision)
    ranks = ranks or Ranks()
    check_sizes(ranks, dataset.name, len(dataset.train), settings.batch_size)
    replica = None if ranks.alone else Replica(method, ranks)
    optimiser = ALGORITHMS[check_name(settings.algorithm, ALGORITHMS, "algorithm")](
        method.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    device, shuffle = device_of(method), torch.Generator().manual_seed(seed)
    home = Home(device)
    average = Average(method, settings.average) if settings.average else None
    progress, best = Progress(), dict[str, Tensor]()
    run = _fingerprint(method, dataset, settings, selection, seed)
    path = None if out is None else out / FILE
    if resume:
        exists = ranks.first and path is not None and path.exists()
        state = ranks.agree(load_checkpoint(path, run) if exists and path is not None else None)
        if state is not None:
            with refusing_damage(path or Path(FILE)):
                progress, best = _restore(state, method, average, optimiser, shuffle, seed)
    if path is not None and ranks.first:
        with refusing_damage(path):
            listeners = [LogFile(path.with_name(LOG), map(shown, progress.history)), *listeners]
    saved = progress.epoch
    try:
        while not _finished(progress, settings, selection):
            reseed(ranks, seed, progress.epoch)
            steps = Steps(
                method,
                replica,
                ranks,
                home,
                optimiser,
                shuffle,
                settings,
                average,
                chances,
            )
            kept = saved_epochs_text(path, saved)
            with memory_errors(device, settings.batch_size, progress.epoch, kept):
                record = ranks.agree(_epoch(steps, dataset, settings, progress.epoch, listeners))
            improved = _judge(progress, record, selection, dataset.task)
            if improved:
                best = copy_weights(steps.judged)
            _lower_learning_rate(optimiser, settings, progress)
            progress.history.append(record)
            progress.epoch += 1
            if session is not None and session not in progress.sessions:
                progress.sessions.append(session)
            if path is not None and ranks.first:
                state = Checkpoint(
                    copy_weights(method),
                    best,
                    optimiser.state_dict(),
                    rng_states(shuffle, device),
                    asdict(progress),
                    {} if average is None else copy_weights(average.method),
                )
                save_checkpoint(path, state, run)
                saved = progress.epoch
            for listener in listeners:
                listener.on_epoch(shown(record))
    except KeyboardInterrupt as stop:
        raise Interrupted(interruption(path, saved)) from stop
    if best or average is not None:
        method.load_state_dict(best or copy_weights(average.method if average else method))
    return progress


def _fingerprint(
    method: Method, dataset: Dataset, settings: Settings, selection: Selection, seed: int
) -> str:
    """What has to stay the same for a run to go on; the largest number of epochs may change."""
    optimisation = asdict(settings)
    for name in ("epochs", "recompute"):
        del optimisation[name]
    for name in ("algorithm", "neighbours", "precision", "class_weight", "average", "resample"):
        if optimisation[name] == getattr(Settings, name):  # as it was before there was a choice
            del optimisation[name]
    model = {name: list(value.shape) for name, value in method.state_dict().items()}
    sizes = [
        [len(part), *part.edge_index.shape, *part.x.shape] for part in (dataset.train, dataset.val)
    ]
    chosen = [selection.name, asdict(selection)]
    kind = [type(method).__name__, settings_text(method.config)]
    return fingerprint_of([optimisation, chosen, seed, dataset.name, sizes, kind, model])


def _finished(progress: Progress, settings: Settings, selection: Selection) -> bool:
    patience = selection.patience
    tired = patience is not None and progress.waited >= patience
    return tired or progress.epoch >= settings.epochs


class Steps(NamedTuple):
    """What takes the steps of an epoch."""

    method: Method
    replica: Replica | None
    ranks: Ranks
    home: Home
    optimiser: torch.optim.Optimizer
    shuffle: torch.Generator
    settings: Settings = Settings()
    average: Average | None = None
    chances: Tensor | None = None

    @property
    def judged(self) -> Method:
        """What is validated and kept: the average of the weights, if there is one."""
        return self.method if self.average is None else self.average.method

    def draw(self, train: PackedGraphs) -> PackedGraphs:
        """The graphs of an epoch: all, or as many drawn by their chances, with replacement."""
        if self.chances is None:
            return train
        return train[torch.multinomial(self.chances, len(train), True, generator=self.shuffle)]

    def __call__(self, batch: Batch, share: float, epoch: int) -> dict[str, Tensor]:
        """One step on this process's share of a batch."""
        half, kind = self.settings.precision == "bf16", batch.x.device.type
        with (
            torch.autocast(kind, torch.bfloat16, enabled=half),
            recomputed(self.settings.recompute),
        ):
            if self.replica is None:
                terms = self.method.step(batch, self.optimiser, epoch)
            else:
                terms = self.replica.step(batch, share, self.optimiser, epoch)
        if self.average is not None:
            self.average.update(self.method)
        return terms


def _epoch(
    take: Steps,
    dataset: Dataset,
    settings: Settings,
    epoch: int,
    listeners: Sequence[Listener],
) -> dict[str, Any]:
    """Train for one epoch and validate."""
    started = time.perf_counter()
    method, size = take.method, settings.batch_size
    method.train()
    device = device_of(method)
    sampled = settings.neighbours is not None
    steps = math.ceil((count_seeds(dataset.train) if sampled else len(dataset.train)) / size)
    totals: dict[str, Tensor] = {}
    train = take.home.place(take.draw(method.prepare(dataset.train, epoch, size)))
    for step, (batch, share) in enumerate(_batches(take, train, settings)):
        batch = take.home.bring(batch)
        terms = take(batch, share, epoch)
        for name, term in terms.items():
            totals[name] = totals.get(name, torch.zeros_like(term)) + term
        # On the CPU a look at the loss is free; elsewhere it would stall the device.
        if device.type == "cpu" or step + 1 == steps:
            check_finite(batch, totals, epoch, step)
        for listener in listeners:
            listener.on_batch(step + 1, steps)
    trained = time.perf_counter()
    judged = take.judged
    predictions = predict(judged, dataset.val, evaluation_size(judged, size), take.ranks)
    if not bool(predictions.logits.isfinite().all()):
        raise Diverged(
            f"training diverged in epoch {epoch + 1}: not all validation outputs are finite; "
            f"{cause(dataset.val)}."
        )
    return {
        "epoch": epoch,
        "train": {name: float(total) / steps for name, total in totals.items()},
        "val": score(predictions, dataset.val, dataset.task),
        "learning_rate": take.optimiser.param_groups[0]["lr"],
        "seconds": round(trained - started, 4),
        "seconds_validation": round(time.perf_counter() - trained, 4),
    }


def _batches(take: Steps, train: PackedGraphs, settings: Settings) -> Iterator[tuple[Batch, float]]:
    """This process's part of every batch, and its share of it."""
    size, neighbours = settings.batch_size, settings.neighbours
    if neighbours is None:
        yield from take.ranks.batches(train, size, take.shuffle)
        return
    if not take.ranks.alone:
        raise InputError(
            f"neighbours are sampled in one process, got {take.ranks.world}; run without torchrun."
        )
    for batch in sampled_batches(train, size, neighbours, take.shuffle):
        yield batch, 1.0


def _judge(progress: Progress, record: dict[str, Any], selection: Selection, task: Task) -> bool:
    """Update the selection by the epoch's validation result; tell whether it is the best."""
    sign = 1 if task.larger_is_better else -1
    new = Score(sign * record["val"][task.metric], record["val"]["loss"])
    best = None if progress.best is None else Score(*progress.best)
    improved = selection.better(record["epoch"], new, best)
    record["best"] = improved
    if improved:
        progress.best, progress.best_epoch, progress.waited = list(new), record["epoch"], 0
    elif record["epoch"] >= selection.first_epoch:
        progress.waited += 1
    return improved


def _lower_learning_rate(
    optimiser: torch.optim.Optimizer, settings: Settings, progress: Progress
) -> None:
    patience = settings.plateau_patience
    if patience is not None and progress.waited and progress.waited % (patience + 1) == 0:
        for group in optimiser.param_groups:
            group["lr"] /= 2


def _restore(
    state: Checkpoint,
    method: Method,
    average: Average | None,
    optimiser: torch.optim.Optimizer,
    shuffle: torch.Generator,
    seed: int,
) -> tuple[Progress, dict[str, Tensor]]:
    TypeAdapter(Progress).validate_python(state.progress)
    progress = Progress(**state.progress)
    method.load_state_dict(state.weights)
    if average is not None:
        average.method.load_state_dict(state.average)
    check_fits(state, method, optimiser)
    optimiser.load_state_dict(state.optimiser)
    set_generator_states(device_of(method), state.rng, seed + progress.epoch)
    shuffle.set_state(state.rng["shuffle"])
    return progress, state.best
