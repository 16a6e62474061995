"""Before every epoch a method sees the training graphs, and trains on what it makes of them."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.methods import ERM
from gsina.methods.parts.environments import attach_environment
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection, seed_everything


class Watching(ERM):
    """Numbers the graphs of the epoch, and notes what comes back in batches."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.calls: list[tuple[int, int]] = []
        self.seen: list[list[int]] = []

    def prepare(self, train: PackedGraphs, epoch: int, batch_size: int = 128) -> PackedGraphs:
        self.calls.append((epoch, batch_size))
        self.seen.append([])
        return attach_environment(train, torch.arange(len(train)) + 100 * epoch)

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Tensor]:
        assert batch.environment is not None
        self.seen[-1] += batch.environment.tolist()
        return super().loss(batch, epoch)


def run(out: Path, epochs: int, *, resume: bool = False) -> Watching:
    seed_everything(0)
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
    method = Watching(spec.predictor(tiny.CLASSES), tiny.CLASSES)
    settings = Settings(epochs=epochs, batch_size=5)
    fit(method, tiny.dataset(4), settings, make_selection("first-best"), out=out, resume=resume)
    return method


def test_every_epoch_is_prepared(tmp_path: Path) -> None:
    method = run(tmp_path, 2)
    assert method.calls == [(0, 5), (1, 5)]
    for epoch, seen in enumerate(method.seen):
        assert sorted(seen) == [100 * epoch + graph for graph in range(12)]
    resumed = run(tmp_path, 3, resume=True)
    assert resumed.calls == [(2, 5)]


def test_by_default_nothing_is_changed() -> None:
    spec = NetworkSpec("gin", tiny.FEATURES, 1)
    method, graphs = ERM.build(spec, tiny.CLASSES, ERM.config), tiny.motifs(2)
    assert method.prepare(graphs, 0) is graphs
