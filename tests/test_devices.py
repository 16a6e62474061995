"""Nothing in the hot paths stalls or leaves the device."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from gsina.datasets.spmotif import generate
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec

SOURCE = Path(__file__).parents[1] / "src" / "gsina"
#: Calls that wait for the device or move data off it.
STALLS = {"item", "cpu", "numpy", "tolist"}
#: Checks of user input look at it once, outside of training.
HOT = sorted(
    {*(SOURCE / "ops").rglob("*.py"), *(SOURCE / "nn").rglob("*.py")}
    - {SOURCE / "ops" / "checks.py"}
)


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


@pytest.mark.parametrize("method", ["erm", "gsat", "gsina"])
def test_a_forward_pass_stays_on_the_input_device(method: str) -> None:
    """On the meta device nothing can be read back, and no tensor of another device is allowed."""
    batch = generate(0.5, "train", 2, seed=0).batch([0, 1, 2])
    spec = NetworkSpec("gin", 4, 1)
    model = build_method(method, spec, Task("multiclass", 3), {}).to("meta").eval()
    moved = batch.to("meta")
    # The sums over contiguous groups need bounds, which are per-batch constants of the host.
    assert model(moved).logits.device.type == "meta"


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
