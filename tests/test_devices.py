"""Nothing in the hot paths stalls or leaves the device.

There is no GPU here, so four stand-ins: the source, in which no call reads numbers back; the meta
device, on which nothing can be read; a fake accelerator, which also meets no other device; and the
CPU, which computes as a device would, to the same numbers.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
import tiny_nodes
from gsina.datasets.spmotif import generate
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import METHODS, Method, build_method
from gsina.nn.backbones import BACKBONES
from gsina.nn.predictor import NetworkSpec
from gsina.ops.host import as_on_a_device
from gsina.training.devices import WAITING

SOURCE = Path(__file__).parents[1] / "src" / "gsina"
#: Calls that wait for the device or move data off it.
STALLS = {"item", "cpu", "numpy", "tolist"}
#: Checks of user input look at it once, outside of training.
HOT = sorted(
    {*(SOURCE / "ops").rglob("*.py"), *(SOURCE / "nn").rglob("*.py")}
    - {SOURCE / "ops" / "checks.py"}
)
#: Methods with the options that take other ways through the code.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "gsina": [
        {"budget": 4.0},
        {"scope": "batch"},
        {"regulariser": "quadratic"},
        {"solver": "sinkhorn"},
        {"hard": True},
        {"transport": "padded"},
        {"connectivity": 0.1, "final_temperature": 0.5, "scorer": "plain"},
    ],
    "cigav2": [{"contrast_on": "nodes"}, {"contrast_on": "misaligned"}],
    "dir": [{"predict_from": "raw"}],
    "disc": [{"swap_epoch": 0}],
    "gala": [{"ratio": 0.3}],
    "prune": [{"pretraining": 0}],
    "gmt-sam": [{"draws": 2, "attention": "node"}],
    "gib": [{"inner_steps": 4, "inner_patience": 2}],
    "irm": [{"form": "product"}],
}
STEPS = [
    (name, level, options)
    for name, entry in METHODS.items()
    for level in entry.levels
    for options in [{}, *(VARIANTS.get(name, []) if level == "graph" else [])]
]
NETWORKS = [*BACKBONES, "gcn, normalised"]
IDS = [f"{name}-{level}-{'-'.join(options)}" for name, level, options in STEPS]


def model_and_batch(
    name: str, level: str, options: dict[str, Any], backbone: str = "gin"
) -> tuple[Method, Batch]:
    torch.manual_seed(0)
    if level == "node":
        graphs, task = tiny_nodes.graphs(2, 20, mask=True), tiny_nodes.TASK
    else:
        graphs, task = tiny.motifs(4), tiny.CLASSES
    sizes = {"hidden_channels": 8} | ({} if backbone == "spmotifnet" else {"dropout": 0.0})
    backbone, _, normalised = backbone.partition(", ")
    sizes |= {"normalise": True} if normalised else {}
    spec = NetworkSpec(backbone, graphs.num_features, graphs.num_edge_features, sizes)
    return build_method(name, spec, task, options), tiny.whole(graphs)


@pytest.mark.parametrize("path", HOT, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_call_waits_for_the_device(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [
        f"line {node.lineno}: .{node.func.attr}()"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in STALLS
    ]
    assert found == []


def step_on_meta(method: Method, batch: Batch) -> None:
    method.to("meta").train()
    moved = batch.to("meta")
    optimiser = torch.optim.Adam(method.parameters(), foreach=False)
    terms = method.step(moved, optimiser, 1)
    assert {term.device.type for term in terms.values()} == {"meta"}
    assert method.eval()(moved).logits.is_meta


@pytest.mark.parametrize(("name", "level", "options"), STEPS, ids=IDS)
def test_a_step_waits_for_nothing(name: str, level: str, options: dict[str, Any]) -> None:
    """Forward, backward, optimiser and evaluation; what is in the list must really wait."""
    method, batch = model_and_batch(name, level, options)
    if name not in WAITING:
        step_on_meta(method, batch)
    else:
        with pytest.raises(NotImplementedError):
            step_on_meta(method, batch)


def test_a_step_on_a_fake_accelerator_reads_nothing_and_mixes_no_devices() -> None:
    """Backward passes included; in a process of its own, as it registers the device."""
    pytest.importorskip("torch.utils.backend_registration")
    if not hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"):
        pytest.skip("this torch has no device guards in Python")
    program = Path(__file__).with_name("fake_accelerator.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("backbone", NETWORKS)
@pytest.mark.parametrize("name", ["erm", "gsina"])
def test_a_step_of_every_backbone_waits_for_nothing(name: str, backbone: str) -> None:
    step_on_meta(*model_and_batch(name, "graph", {}, backbone))


def gradients(method: Method, batch: Batch) -> tuple[dict[str, torch.Tensor], list[torch.Tensor]]:
    """Loss terms and gradients of a training step, and what it does to the running statistics."""
    torch.manual_seed(1)
    method.train()
    terms = method.loss(batch, 1)
    torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
    kept = [value for value in method.buffers() if value is not None]
    grads = [value.grad for value in method.parameters() if value.grad is not None]
    return terms, [*grads, *kept]


@pytest.mark.parametrize(("name", "level", "options"), STEPS, ids=IDS)
def test_a_step_is_the_same_as_on_the_cpu(name: str, level: str, options: dict[str, Any]) -> None:
    """What has other shapes or other steps on a device has the same numbers."""
    if options.get("hard"):
        pytest.skip("as many random numbers are drawn as there are directions of edges")
    method, batch = model_and_batch(name, level, options)
    here, mine = gradients(method, batch)
    method, batch = model_and_batch(name, level, options)
    with as_on_a_device():
        there, theirs = gradients(method, batch)
    assert here.keys() == there.keys()
    for term in here:
        torch.testing.assert_close(there[term], here[term], rtol=1e-3, atol=1e-5)
    assert len(mine) == len(theirs)
    for left, right in zip(theirs, mine, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("backbone", NETWORKS)
def test_every_backbone_is_the_same_as_on_the_cpu(backbone: str) -> None:
    method, batch = model_and_batch("gsina", "graph", {"noise": 0.0}, backbone)
    here = method.eval()(batch).logits
    with as_on_a_device():
        torch.testing.assert_close(method(batch).logits, here, rtol=1e-3, atol=1e-4)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("method", ["erm", "gsat", "gsina"])
def test_a_step_on_the_gpu_is_that_on_the_cpu(method: str) -> None:
    graphs = generate(0.5, "train", 20, seed=0)
    batch = graphs.batch(torch.arange(len(graphs)))
    spec = NetworkSpec("gin", 4, 1, {"dropout": 0.0})
    options = {"noise": 0.0, "scorer": "plain"} if method == "gsina" else {}
    torch.manual_seed(0)
    model = build_method(method, spec, Task("multiclass", 3), options).eval()
    here = model(batch).logits
    there = model.cuda()(batch.to("cuda")).logits
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)
