"""Two processes against one: the same training to numerical noise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from gsina.datasets.spmotif import generate
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.methods.base import Method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection, seed_everything
from gsina.training.distributed import Ranks, Replica, check_sizes, join
from gsina.training.loop import Progress

TASK = Task("multiclass", 3)
SETTINGS = Settings(epochs=2, batch_size=8, learning_rate=1e-2)


def dataset() -> Dataset:
    # 33 graphs: the last batch of an epoch has one graph, fewer than there are processes.
    train = generate(0.5, "train", num_per_class=11, seed=0)
    return Dataset("tiny", TASK, {"train": train, "val": generate(0.5, "val", 5, seed=0)})


def with_gaps(data: Dataset) -> Dataset:
    """Most labels of the first class are missing, so that parts of a batch have unequal numbers."""
    y = data.train.y
    assert y is not None
    gone = (y == 0) & (torch.arange(len(y)) % 4 > 0)
    return replace(
        data, splits=data.splits | {"train": replace(data.train, y=torch.where(gone, -1, y))}
    )


def make(options: dict[str, Any]) -> Method:
    seed_everything(0)
    spec = NetworkSpec("gin", 4, 1, {"hidden_channels": 8, "dropout": 0.0})
    return build_method("gsina", spec, TASK, {"noise": 0.0, "scorer": "plain"} | options).double()


def train(options: dict[str, Any], ranks: Ranks | None = None, **more: Any) -> tuple[Any, Progress]:
    options = dict(options)
    data = with_gaps(dataset()) if options.pop("gaps", False) else dataset()
    method = make(options)
    data = Dataset(data.name, data.task, {k: _double(v) for k, v in data.splits.items()})
    selection = make_selection("latest-best", None, 0)
    progress = fit(method, data, SETTINGS, selection, seed=1, ranks=ranks, **more)
    return {name: value.detach() for name, value in method.state_dict().items()}, progress


def _double(graphs: Any) -> Any:
    return replace(graphs, x=graphs.x.double(), edge_attr=graphs.edge_attr.double())


def _work(rank: int, world: int, file: str, options: dict[str, Any], out: str, box: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    folder = Path(out) if out else None
    weights, progress = train(options, Ranks(rank, world), out=folder, resume=True)
    box[rank] = ({name: value.numpy() for name, value in weights.items()}, progress.history)
    dist.destroy_process_group()


def together(tmp_path: Path, options: dict[str, Any], world: int = 2, out: str = "") -> list[Any]:
    with mp.get_context("spawn").Manager() as manager:
        box = manager.dict()
        file = tmp_path / f"meet-{world}"
        mp.spawn(_work, (world, str(file), options, out, box), nprocs=world)  # type: ignore[no-untyped-call]
        return [box[rank] for rank in range(world)]


@pytest.mark.parametrize(
    "options",
    [{"scope": "graph"}, {"scope": "batch"}, {"gaps": True}, {"gaps": True, "connectivity": 0.5}],
)
def test_two_processes_train_as_one(tmp_path: Path, options: dict[str, Any]) -> None:
    weights, progress = train(options)
    found = together(tmp_path, options)
    for theirs, history in found:
        for name, value in weights.items():
            close(torch.from_numpy(theirs[name]), value, name)
        for ours, record in zip(progress.history, history, strict=True):
            assert math.isclose(ours["train"]["prediction"], record["train"]["prediction"])
            assert math.isclose(ours["val"]["loss"], record["val"]["loss"], rel_tol=1e-3)


def close(found: Tensor, expected: Tensor, name: str = "") -> None:
    # A bias before a batch norm has no gradient but rounding, which Adam blows up; the norm's
    # running mean follows it.
    rough = name.endswith(("encode_nodes.bias", "nn.0.bias", "running_mean"))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7 if rough else 1e-8)


def test_the_first_process_writes_and_any_number_resumes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    [(first, history), _] = together(tmp_path, {}, out=str(out))
    assert (out / "checkpoint.safetensors").exists()
    assert len((out / "log.jsonl").read_text().splitlines()) == len(history) == 2
    alone, progress = train({}, out=out, resume=True)
    assert progress.epoch == 2
    for name, value in alone.items():
        close(torch.from_numpy(first[name]), value)


def test_more_processes_than_graphs() -> None:
    with pytest.raises(ValueError, match=r"9 processes share batches of 8 graphs of tiny"):
        check_sizes(Ranks(0, 9), "tiny", 33, 8)


def test_a_method_that_needs_the_whole_batch_is_refused() -> None:
    method = build_method("cigav2", NetworkSpec("gin", 4, 1), TASK, {})
    with pytest.raises(ValueError, match="compares the graphs of a whole batch"):
        Replica(method, Ranks(0, 2))


def _other_versions(rank: int, file: str, box: Any) -> None:
    import os

    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    try:
        join({"torch": f"2.{rank}"})
    except ValueError as error:
        box[rank] = str(error)


def test_different_versions_are_refused(tmp_path: Path) -> None:
    with mp.get_context("spawn").Manager() as manager:
        box = manager.dict()
        mp.spawn(_other_versions, (str(tmp_path / "meet"), box), nprocs=2)  # type: ignore[no-untyped-call]
        assert box[0].startswith("process 0 has torch 2.0 and process 1 has 2.1")


def test_without_torchrun_there_is_one() -> None:
    assert join({}) == Ranks(0, 1)
