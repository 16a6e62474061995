"""Devices by name, and what is drawn on them; without an accelerator a stand-in tells of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

import tiny
from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.ops import host
from gsina.ops.host import generator_states, kept_generators, set_generator_states
from gsina.training import Settings, devices, distributed, fit, make_selection
from gsina.training.checkpoint import Checkpoint, load_checkpoint, rng_states, save_checkpoint
from gsina.training.devices import (
    RESIDENT_SHARE,
    Home,
    available_devices,
    choose_device,
    device_name,
    device_of,
    free_memory,
)
from gsina.training.distributed import Ranks

CUDA = torch.device("cuda:0")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the machine one with so many devices of every kind."""
    monkeypatch.delenv("LOCAL_RANK", raising=False)

    def has(**counts: int) -> None:
        monkeypatch.setattr(devices, "_count", lambda kind: counts.get(kind, 0))

    return has


class Accelerator:
    """As much of ``torch.cuda`` as generators and memory need."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def get_rng_state(self, device: torch.device) -> Tensor:
        return self.generator.get_state()

    def set_rng_state(self, state: Tensor, device: torch.device) -> None:
        self.generator.set_state(state)

    def manual_seed(self, seed: int) -> None:
        self.generator.manual_seed(seed)

    def get_device_name(self, device: torch.device) -> str:
        return "Stand-in 3000"

    def mem_get_info(self, device: torch.device) -> tuple[int, int]:
        return 5, 7

    def draw(self) -> float:
        return float(torch.rand((), generator=self.generator))


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Accelerator:
    found = Accelerator()
    for room in (devices, host):
        monkeypatch.setattr(room, "module_of", lambda device: found)
    return found


@pytest.mark.parametrize(
    ("counts", "name", "expected"),
    [
        ({}, "auto", "cpu"),
        ({}, "CPU", "cpu"),
        ({"mps": 1}, "auto", "mps"),
        ({"mps": 1}, "mps:0", "mps"),
        ({"xpu": 1, "mps": 1}, "auto", "xpu:0"),
        ({"cuda": 2, "xpu": 1}, "auto", "cuda:0"),
        ({"cuda": 2}, "cuda", "cuda:0"),
        ({"cuda": 2}, "cuda:1", "cuda:1"),
        ({"cuda": 2}, "cpu", "cpu"),
    ],
)
def test_a_name_means_a_device(
    machine: Callable[..., None], counts: dict[str, int], name: str, expected: str
) -> None:
    machine(**counts)
    assert str(choose_device(name)) == expected


def test_a_process_of_several_takes_the_device_with_its_number(
    machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(cuda=2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert str(choose_device("cuda")) == "cuda:1"
    assert str(choose_device("auto")) == "cuda:1"
    assert str(choose_device("cuda:0")) == "cuda:0"
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(InputError, match=r"no device cuda:2 here.*at most 2 processes"):
        choose_device("cuda")


@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps", "xpu", "mps:1"])
def test_a_missing_device_is_one_sentence_that_lists_the_others(
    machine: Callable[..., None], name: str
) -> None:
    machine(cuda=2 if name == "cuda:3" else 0)
    with pytest.raises(InputError, match=rf"no device {name}.* here, only .*cpu; choose") as found:
        choose_device(name)
    assert ("cuda:0, cuda:1, cpu" in str(found.value)) == (name == "cuda:3")
    without = name == "cuda" and not torch.backends.cuda.is_built()
    assert ("install a build of torch that is made for CUDA" in str(found.value)) == without


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cpu:1:2", "", "cuda; rm"])
def test_a_wrong_name_is_one_sentence(machine: Callable[..., None], name: str) -> None:
    machine()
    with pytest.raises(InputError, match="must be auto, cpu, cuda"):
        choose_device(name)


def test_the_devices_of_this_machine_can_be_chosen() -> None:
    found = available_devices()
    assert found[-1] == "cpu"
    for name in found:
        assert torch.zeros(1, device=choose_device(name)).device.type == name.split(":")[0]


def test_the_cpu_has_no_name_of_its_own(accelerator: Accelerator) -> None:
    assert device_name(torch.device("cpu")) is None
    assert device_name(CUDA) == "Stand-in 3000"
    assert free_memory(CUDA) == 5


def test_a_module_without_parameters_is_on_the_cpu() -> None:
    assert device_of(torch.nn.ReLU()).type == "cpu"
    assert device_of(torch.nn.Linear(1, 1, device="meta")).type == "meta"


def test_generators_of_a_device_are_put_back(accelerator: Accelerator) -> None:
    states = generator_states(CUDA)
    first = float(torch.rand(())), accelerator.draw()
    set_generator_states(CUDA, states, 0)
    assert (float(torch.rand(())), accelerator.draw()) == first
    with kept_generators(CUDA):
        inside = float(torch.rand(())), accelerator.draw()
    assert (float(torch.rand(())), accelerator.draw()) == inside


def test_a_checkpoint_of_the_cpu_goes_on_elsewhere(
    accelerator: Accelerator, tmp_path: Path
) -> None:
    """And back; the generator of a device that was not there is seeded by the epoch."""
    shuffle = torch.Generator().manual_seed(3)
    method = build_method("erm", NetworkSpec("gin", tiny.FEATURES, 1), tiny.CLASSES, {})
    optimiser = torch.optim.Adam(method.parameters()).state_dict()
    for device in (torch.device("cpu"), CUDA):
        rng = rng_states(shuffle, device)
        state = Checkpoint(method.state_dict(), {}, optimiser, rng, {})
        save_checkpoint(tmp_path / f"{device.type}.safetensors", state, "run")
    on_cpu, on_device = (
        load_checkpoint(tmp_path / f"{kind}.safetensors", "run").rng for kind in ("cpu", "cuda")
    )
    assert on_cpu.keys() == {"torch", "shuffle"}
    assert on_device.keys() == {"torch", "shuffle", "cuda"}
    drawn = []
    for seed in (7, 7, 8):
        set_generator_states(CUDA, on_cpu, seed)
        drawn.append(accelerator.draw())
    assert drawn[0] == drawn[1] != drawn[2]
    set_generator_states(torch.device("cpu"), on_device, 0)
    assert torch.equal(torch.get_rng_state(), on_device["torch"])


def test_two_processes_with_one_device_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "_address", lambda place: f"here/{place}")

    def check(place: str, *others: tuple[str, str]) -> None:
        mine = torch.device(place)
        ranks = SimpleNamespace(rank=0, gather=lambda value: [value, *others])
        distributed._check_devices(ranks, mine)  # type: ignore[arg-type]

    check("cpu", ("cpu", "here/cpu"))
    check("cuda:0", ("cuda", "here/cuda:1"))
    with pytest.raises(InputError, match="processes 0 and 1 have the same device, cuda:0"):
        check("cuda:0", ("cuda", "here/cuda:0"))
    with pytest.raises(InputError, match="trains on cuda and process 1 on cpu"):
        check("cuda:0", ("cpu", "here/cpu"))
    assert Ranks().alone


def test_graphs_that_do_not_fit_come_from_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody waits for their copy; what is known of their sizes is known before it."""
    pinned, moved = [], []

    def pin(value: Tensor) -> Tensor:
        pinned.append(value.data_ptr())
        return value.clone()

    def to(batch: Batch, device: torch.device, *, non_blocking: bool) -> Batch:
        moved.append((device, non_blocking, batch))
        return batch

    monkeypatch.setattr(devices, "free_memory", lambda device: 0)
    monkeypatch.setattr(Tensor, "pin_memory", pin)
    monkeypatch.setattr(Batch, "to", to)
    home, graphs = Home(CUDA), tiny.motifs(2)
    batch = home.place(graphs).batch([0, 1])
    home.bring(batch)
    tensors = [one for one in vars(batch).values() if isinstance(one, Tensor)]
    assert {*pinned} == {one.data_ptr() for one in tensors}
    assert len(pinned) == len(tensors) > 4
    ((device, non_blocking, copied),) = moved
    assert (device, non_blocking) == (CUDA, True)
    assert copied.x is not batch.x


def test_an_apple_device_says_how_much_memory_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SimpleNamespace(
        recommended_max_memory=lambda: 1000, driver_allocated_memory=lambda: 300
    )
    monkeypatch.setattr(devices, "module_of", lambda device: shared)
    assert free_memory(torch.device("mps")) == 700
    del shared.recommended_max_memory  # not in torch 2.4
    assert free_memory(torch.device("mps")) == 0


def test_processes_talk_by_what_their_devices_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_backend_available", lambda name: name == "nccl")
    assert distributed._backend("cpu") == "gloo"
    assert distributed._backend("cuda") == "cpu:gloo,cuda:nccl"
    with pytest.raises(InputError, match=r"built without xccl, .* xpu devices"):
        distributed._backend("xpu")


@pytest.mark.parametrize("free", [10**9, 100])
def test_training_graphs_live_on_the_device_if_they_fit(
    monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(devices, "free_memory", lambda device: free)
    graphs, home = tiny.motifs(2), Home(torch.device("meta"))
    placed = home.place(graphs)
    assert placed.x.is_meta == (graphs.nbytes <= RESIDENT_SHARE * free)
    batch = home.bring(placed.batch([0, 1]))
    assert batch.x.is_meta
    assert home.place(graphs).x is placed.x
    assert Home(torch.device("cpu")).place(graphs) is graphs


def test_an_epoch_on_a_device_is_that_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that are assembled from placed graphs train to the same weights."""
    weights = []
    for placed in (False, True):
        if placed:
            monkeypatch.setattr(Home, "place", lambda self, graphs: graphs.to(self.device))
        torch.manual_seed(0)
        method = build_method("gsina", NetworkSpec("gin", tiny.FEATURES, 1), tiny.CLASSES, {})
        selection = make_selection("strict-best", None)
        fit(method, tiny.dataset(4), Settings(epochs=2, batch_size=5), selection)
        weights.append(method.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
