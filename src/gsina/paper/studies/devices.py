"""What a first run on a device should check, in one report to send back.

Nothing here was written with a GPU at hand: the same code is tested on the meta device and, step by
step, on the CPU. This runs it on the device itself, beside the CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from gsina.datasets.spmotif import generate
from gsina.graphs.batch import Batch
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.methods import METHODS, Method, build_method
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.ops.host import as_on_a_device, kept_generators
from gsina.ops.soft_top_r import soft_top_r
from gsina.runs.names import BASELINES, REPORT
from gsina.runs.provenance import provenance
from gsina.runs.published import default_recipe
from gsina.runs.run import run
from gsina.runs.trained import load_model
from gsina.training import Settings, fit, make_selection, predict
from gsina.training.devices import WAITING, Home, free_memory

TASK = Task("multiclass", 3)
#: Largest error of a mean, and of a loss relative to the CPU's.
MEAN_ERROR, LOSS_ERROR = 1e-6, 1e-3
#: Largest difference of the weights that explain a graph from the CPU's.
WEIGHT_ERROR = 1e-3
#: Graphs per class, and steps that are timed.
GRAPHS, STEPS = 40, 20


def check_device(
    device: torch.device, *, tell: Callable[[str], object] = lambda line: None
) -> dict[str, Any]:
    """Run all checks; the content of the report.

    Args:
        device: The device. On the CPU everything is computed in the way of devices.
        tell: Called with a line for every check that has ended.
    """
    graphs = generate(0.5, "train", GRAPHS, seed=0)
    checks: list[dict[str, Any]] = []
    with kept_generators(device):
        for name, found in _checks(device, graphs):
            checks.append({"check": name, **found})
            tell(f"{'ok  ' if found['ok'] else 'FAIL'} {name}: {found['found']}")
    return {
        "device": str(device),
        "checks": checks,
        "failed": [one["check"] for one in checks if not one["ok"]],
        "free_memory": free_memory(device) if device.type != "cpu" else 0,
        **provenance(device),
    }


def _checks(device: torch.device, graphs: PackedGraphs) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and outcome of every check; one that breaks does not keep the others from running."""
    jobs: dict[str, Callable[[], tuple[bool, str]]] = {
        "means of soft top-r": lambda: _means(device),
        "weights of soft top-r are the CPU's": lambda: _weights(device),
        "training graphs on the device": lambda: _home(device, graphs),
    }
    for name, entry in METHODS.items():
        if "graph" in entry.levels:
            jobs[f"a step of {name}"] = partial(_step, device, graphs, name)
    for backbone in BACKBONES:
        jobs[f"a step of gsina with {backbone}"] = partial(_step, device, graphs, "gsina", backbone)
    jobs |= {
        "a resumed run is the uninterrupted one": lambda: _resume(device, graphs),
        "the CPU predicts the same": lambda: _predictions(device, graphs),
        "a run with baselines, its report and an explanation": lambda: _whole_run(device, graphs),
        "seconds per step of GSINA": lambda: _seconds(device, graphs),
    }
    for name, job in jobs.items():
        try:
            ok, found = job()
        except Exception as error:  # the report is about what breaks
            ok, found = False, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        yield name, {"ok": ok, "found": found}


def _means(device: torch.device) -> tuple[bool, str]:
    worst = 0.0
    index = torch.arange(3000) % 17
    draw = torch.randn(3000, generator=torch.Generator().manual_seed(0))
    for temperature in (0.01, 1.0, 100.0):
        for ratio in (0.001, 0.3, 0.999):
            for largest in (1.0, 1e4):
                scores = (draw / draw.abs().max() * largest).to(device)
                given: dict[str, Any] = {"temperature": temperature, "num_groups": 17}
                with _way_of(device):
                    weights = soft_top_r(scores, ratio, index.to(device), **given).cpu()
                sums = torch.zeros(17, dtype=torch.double).index_add_(0, index, weights.double())
                means = sums / torch.bincount(index)
                worst = max(worst, float((means - ratio).abs().max()))
    return worst <= MEAN_ERROR, f"largest error {worst:.1e}"


def _weights(device: torch.device) -> tuple[bool, str]:
    scores = torch.randn(5000, generator=torch.Generator().manual_seed(1))
    index = torch.arange(5000) % 50
    found = []
    for place, way in ((torch.device("cpu"), nullcontext()), (device, _way_of(device))):
        one = scores.clone().to(place).requires_grad_()
        with way:
            weights = soft_top_r(one, 0.3, index.to(place), temperature=0.5, num_groups=50)
            weights.square().sum().backward()  # type: ignore[no-untyped-call]
        assert one.grad is not None
        found.append(torch.cat([weights.detach().cpu(), one.grad.cpu()]))
    error = float((found[0] - found[1]).abs().max())
    return error <= 1e-5, f"largest difference, gradients included, {error:.1e}"


def _home(device: torch.device, graphs: PackedGraphs) -> tuple[bool, str]:
    placed = Home(device).place(graphs)
    with _no_waiting(device):
        batch = placed.batch(torch.arange(8))
    same = torch.equal(batch.edge_index.cpu(), graphs.batch(range(8)).edge_index)
    return same, "they fit" if placed.x.device == device else "they do not fit, and stay here"


def _make(name: str, device: torch.device, backbone: str = "gin", **options: Any) -> Method:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 32} | ({} if backbone == "spmotifnet" else {"dropout": 0.0})
    return build_method(name, NetworkSpec(backbone, 4, 1, sizes), TASK, options).to(device)


def _step(
    device: torch.device, graphs: PackedGraphs, name: str, backbone: str = "gin"
) -> tuple[bool, str]:
    """The loss without noise is the CPU's, and a step waits for nothing that is not listed."""
    options = {"noise": 0.0} if name == "gsina" else {}
    losses = []
    for place, way in ((torch.device("cpu"), nullcontext()), (device, _way_of(device))):
        method = _make(name, place, backbone, **options)
        batch = graphs.batch(torch.arange(len(graphs))).to(place)
        method.eval()
        with way:
            logits = method(batch).logits.detach().cpu()
        losses.append(torch.nn.functional.cross_entropy(logits, batch.labels.cpu()))
    error = float((losses[1] - losses[0]).abs() / losses[0].abs())
    method.train()
    optimiser = torch.optim.Adam(method.parameters(), fused=True)
    with _way_of(device):
        method.step(batch, optimiser, 1)
        with nullcontext() if name in WAITING else _no_waiting(device):
            method.step(batch, optimiser, 1)
    waits = f"; it may wait: {WAITING[name]}" if name in WAITING else "; it waits for nothing"
    return error <= LOSS_ERROR, f"loss differs by {error:.1e} of it{waits}"


def _dataset(graphs: PackedGraphs) -> Dataset:
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    cut = 3 * len(graphs) // 4
    return Dataset("spmotif", TASK, {"train": graphs[order[:cut]], "val": graphs[order[cut:]]})


def _train(device: torch.device, graphs: PackedGraphs, out: Path, epochs: int) -> Method:
    method = _make("gsina", device)
    selection = make_selection("strict-best", None)
    settings = Settings(epochs=epochs, batch_size=32)
    with _way_of(device):
        fit(method, _dataset(graphs), settings, selection, out=out, resume=True)
    return method


def _resume(device: torch.device, graphs: PackedGraphs) -> tuple[bool, str]:
    with TemporaryDirectory() as folder:
        straight = _train(device, graphs, Path(folder, "straight"), 3)
        _train(device, graphs, Path(folder, "resumed"), 1)
        resumed = _train(device, graphs, Path(folder, "resumed"), 3)
    pairs = zip(straight.parameters(), resumed.parameters(), strict=True)
    error = max(float((one - two).detach().abs().max()) for one, two in pairs)
    # Sums on a GPU are added in any order, so bits may differ; noise that differs shows at once.
    exact = "bit for bit" if error == 0 else f"up to {error:.1e}"
    return error <= (0.0 if device.type == "cpu" else 1e-2), exact


def _predictions(device: torch.device, graphs: PackedGraphs) -> tuple[bool, str]:
    with TemporaryDirectory() as folder:
        method = _train(device, graphs, Path(folder), 2)
    with _way_of(device):
        there = predict(method, graphs).logits
    here = predict(method.to("cpu"), graphs).logits
    error = float((there - here).abs().max())
    return error <= 1e-3, f"largest difference of logits {error:.1e}"


def _whole_run(device: torch.device, graphs: PackedGraphs) -> tuple[bool, str]:
    """What ``gsina train`` does besides training, and ``gsina explain`` afterwards."""
    recipe = default_recipe("spmotif", "gin", "gsina", epochs=2, batch_size=32)
    dataset, masks = _dataset(graphs), []
    with TemporaryDirectory() as folder:
        with _way_of(device):
            run(recipe, out=Path(folder), dataset=dataset, device=str(device), baselines=True)
        page, compared = Path(folder, REPORT).stat().st_size, Path(folder, BASELINES).is_dir()
        for place, way in ((torch.device("cpu"), nullcontext()), (device, _way_of(device))):
            model = load_model(folder, device=place)
            with way:
                masks.append(model.explain(dataset.splits["val"])[0].edge_mask.cpu())
    error = float((masks[1] - masks[0]).abs().max())
    ok = page > 0 and compared and error <= WEIGHT_ERROR
    return ok, f"a page of {page:,} bytes; weights of edges differ from the CPU's by {error:.1e}"


def _seconds(device: torch.device, graphs: PackedGraphs) -> tuple[bool, str]:
    found = {}
    for place in dict.fromkeys((torch.device("cpu"), device)):
        batch: Batch = graphs.batch(torch.arange(len(graphs))).to(place)
        method = _make("gsina", place).train()
        optimiser = torch.optim.Adam(method.parameters(), fused=True)
        for step in range(STEPS + 3):
            if step == 3:
                _finish(place)
                began = time.perf_counter()
            method.step(batch, optimiser, 1)
        _finish(place)
        found[str(place)] = (time.perf_counter() - began) / STEPS
    return True, ", ".join(f"{place} {seconds:.4f}" for place, seconds in found.items())


def _way_of(device: torch.device) -> AbstractContextManager[None]:
    """The way of devices; where the CPU stands for one, it is told to take it."""
    return as_on_a_device() if device.type == "cpu" else nullcontext()


def _finish(device: torch.device) -> None:
    """Wait until the device has done all its work."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


@contextmanager
def _no_waiting(device: torch.device) -> Iterator[None]:
    """Make waiting for a CUDA device an error; others cannot tell."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
