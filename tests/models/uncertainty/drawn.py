"""Small models of drawn graphs, whose rows are exchangeable or shifted."""

from __future__ import annotations

import torch

from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task
from gsina.models.model import Model
from gsina.models.plan import Plan
from gsina.models.train import train_model
from gsina.nn.predictor import NetworkSpec
from gsina.training.loop import Settings

NODES = 3
TASKS = {
    "classes": Task("multiclass", 3),
    "yes or no": Task("binary", 1, "roc_auc"),
    "targets": Task("binary", 2, "roc_auc"),
    "number": Task("regression", 1, "rmse"),
    "numbers": Task("regression", 2, "rmse"),
}


def graphs(
    task: Task, count: int, seed: int, shift: float = 0.0, missing: float = 0.0
) -> PackedGraphs:
    """Paths of three nodes; labels follow the mean of the features, numbers ever less so."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(count * NODES, 3, generator=draw)
    x[:, 0] += shift
    mean = x.view(count, NODES, 3).mean(1)
    signal = 3 * mean[:, : task.outputs] if task.outputs < 3 else 3 * mean
    noise = torch.rand(signal.shape, generator=draw)
    if task.kind == "multiclass":
        y = (signal - (-noise.log()).log()).argmax(1)
        y[torch.rand(count, generator=draw) < missing] = -1
    else:
        normal = torch.randn(signal.shape, generator=draw)
        y = (noise < (signal - 1).sigmoid()).float()
        if task.kind == "regression":
            y = 10 + signal + normal * mean[:, :1].exp()
        y[torch.rand(y.shape, generator=draw) < missing] = torch.nan
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return PackedGraphs(
        x=x,
        edge_index=edges.repeat(1, count),
        node_ptr=offsets(torch.full((count,), NODES)),
        edge_ptr=offsets(torch.full((count,), 4)),
        y=y,
    )


def dataset(task: Task, *, val: int = 400, missing: float = 0.0) -> Dataset:
    """Training and validation graphs of one kind."""
    splits = {"train": graphs(task, 300, 0, 0, missing), "val": graphs(task, val, 1, 0, missing)}
    return Dataset("drawn", task, splits)


def trained(data: Dataset, epochs: int = 6, **plan: object) -> Model:
    """A plain network."""
    spec = NetworkSpec("gin", 3, 0, {"hidden_channels": 16, "num_layers": 2})
    settings = Settings(epochs, 32, 1e-2, **plan)
    return train_model(data, Plan(spec, "erm", settings=settings)).model
