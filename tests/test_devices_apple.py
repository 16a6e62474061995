"""What Apple's devices lack is not asked of them: float64, sums of int64, and some operators.

None is there. So the CPU computes as one of them would (`as_on_a_device("mps")`), where sums of
int64 are cut to int32 as torch does there; steps on the meta device show types and operators, and
torch's own list says which operators have a kernel.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torchgen
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torchgen.gen import parse_native_yaml
from torchgen.model import DispatchKey

import tiny
from gsina import soft_top_r
from gsina.graphs.task import Task
from gsina.methods.trees import Forest
from gsina.ops.draws.noise import own_noise
from gsina.ops.draws.systematic import systematic_sample
from gsina.ops.groups import Groups
from gsina.ops.host import as_on_a_device
from gsina.training.devices import WAITING
from test_devices import IDS, NETWORKS, STEPS, gradients, model_and_batch, step_on_meta
from transport_problems import mean_errors, ragged

WIDE = (torch.float64, torch.complex128)


class Apple(TorchDispatchMode):
    """The CPU adds int64 as torch does on Apple's devices: as int32."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "scatter_add" in func.name() and args[3].dtype == torch.int64:
            args = (*args[:3], args[3].int().long())
        return func(*args, **(kwargs or {}))


class Watch(TorchDispatchMode):
    """The operators that make tensors of the meta device; none may be wider than float32."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        there = [one for one in tree_flatten(found)[0] if isinstance(one, Tensor) and one.is_meta]
        assert not any(one.dtype in WIDE for one in there), f"{func} makes float64"
        if there:
            self.seen.add(func.name())
        return found


@cache
def kernels() -> dict[str, bool]:
    """Whether an operator has a kernel for Apple's devices, or is made of others that have."""
    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    own = parsed.backend_indices[DispatchKey.MPS]
    known = {f"aten::{f.func.name}": f for f in parsed.native_functions}

    def there(function: Any) -> bool:
        delegate = function.structured_delegate
        if delegate is not None:
            return there(known[f"aten::{delegate}"])
        return bool(function.has_composite_kernel or own.has_kernel(function))

    return {name: there(function) for name, function in known.items()}


def step_on_apple(*given: Any) -> None:
    with as_on_a_device("mps"), Watch() as watch:
        step_on_meta(*given)
    # What torch adds for its profiler is not in the list.
    missing = [name for name in watch.seen if not kernels().get(name, True)]
    assert missing == []


@pytest.mark.parametrize(("name", "level", "options"), STEPS, ids=IDS)
def test_a_step_has_no_float64_and_operators_that_are_there(
    name: str, level: str, options: dict[str, Any]
) -> None:
    if name in WAITING:
        pytest.skip("cannot be traced without numbers")
    step_on_apple(*model_and_batch(name, level, options))


@pytest.mark.parametrize("backbone", NETWORKS)
def test_every_backbone_has_neither(backbone: str) -> None:
    step_on_apple(*model_and_batch("gsina", "graph", {}, backbone))


def test_batches_of_graphs_that_live_there_have_neither() -> None:
    graphs = tiny.motifs(3)
    with as_on_a_device("mps"), Watch() as watch:
        batch = graphs.to(torch.device("meta")).batch(torch.tensor([2, 0]))
    assert batch.x.is_meta
    assert len(watch.seen) > 5
    assert [name for name in watch.seen if not kernels().get(name, True)] == []


def test_an_operator_without_a_kernel_is_seen() -> None:
    assert kernels()["aten::index_select"]
    assert kernels()["aten::add.Tensor"]
    assert not kernels()["aten::segment_reduce"]


@pytest.mark.parametrize(("name", "level", "options"), STEPS, ids=IDS)
def test_a_step_has_the_same_numbers(name: str, level: str, options: dict[str, Any]) -> None:
    if options.get("hard"):
        pytest.skip("as many random numbers are drawn as there are directions of edges")
    if name == "igm":
        pytest.skip("draws partners, and other ones from float32")
    found = []
    for on_apple in (False, True):
        method, batch = model_and_batch(name, level, options)
        if on_apple:
            with as_on_a_device("mps"), Apple():
                found.append(gradients(method, batch)[0])
        else:
            found.append(gradients(method, batch)[0])
    for term in found[0]:
        torch.testing.assert_close(found[1][term], found[0][term], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("ratio", [0.001, 0.3, 0.999])
def test_means_of_soft_top_r(temperature: float, ratio: float) -> None:
    scores, index, groups = ragged((1, 2, 5, 37, 400))
    with as_on_a_device("mps"), Apple():
        weights = soft_top_r(scores.float(), ratio, index, temperature=temperature)
    assert max(mean_errors(weights, ratio, index, groups)) <= 1e-6
    assert weights.dtype == torch.float32


@pytest.mark.parametrize("single", [True, False])
def test_sums_of_int64_are_exact_and_overflow_alike(single: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(-(2**63), 2**63 - 1, (3000, 2), generator=generator)
    index = torch.randint(0, 7, (3000,), generator=generator)
    groups = Groups.single(3000) if single else Groups(index, 8, 3000)
    with as_on_a_device("mps"), Apple():
        found = groups.sum(values)
        assert torch.equal(groups.sum(values[:, 0]), found[:, 0])
    assert torch.equal(found, groups.sum(values))


def test_draws_are_those_of_the_cpu() -> None:
    batch = tiny.whole(tiny.motifs(4))
    noise = own_noise(batch.edge_index, batch.edge_groups, 3)
    weights = torch.rand(batch.num_edges, generator=torch.Generator().manual_seed(0))
    taken = systematic_sample(weights, batch.edge_groups, noise=(noise.order, noise.group))
    with as_on_a_device("mps"), Apple():
        there = own_noise(batch.edge_index, batch.edge_groups, 3)
        again = systematic_sample(weights, batch.edge_groups, noise=(there.order, there.group))
    for one, other in zip(noise, there, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(other.double(), one.double(), rtol=0, atol=1e-6)
    assert float((taken == again).double().mean()) > 0.98


@pytest.mark.parametrize(
    "task", [Task("multiclass", 3), Task("binary", 1), Task("regression", 1, "rmse")]
)
def test_a_forest_has_no_float64(task: Task) -> None:
    """It is beside the network in the default for molecules with counts of fingerprints."""
    forest = Forest(2, 6, 1, task).to("meta")
    with as_on_a_device("mps"), Watch():
        assert forest(torch.zeros(4, 5, device="meta")).dtype == torch.float32


def test_graphs_with_float64_arrive_as_float32() -> None:
    graphs = tiny.motifs(2)
    wide = type(graphs)(graphs.x.double(), graphs.edge_index, graphs.node_ptr, graphs.edge_ptr)
    with as_on_a_device("mps"):
        assert wide.to(torch.device("meta")).x.dtype == torch.float32
        assert wide.batch([0, 1]).to("meta").x.dtype == torch.float32
    assert wide.batch([0, 1]).to("meta").x.dtype == torch.float64
