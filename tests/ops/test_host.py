"""What hangs on numbers is found in two ways, which agree."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from gsina.ops.host import as_on_a_device, at_hand, count_members, kept_generators, widest


def test_numbers_of_the_cpu_are_at_hand() -> None:
    values = torch.zeros(1)
    assert at_hand(values)
    assert not at_hand(torch.zeros(1, device="meta"))
    with as_on_a_device():
        assert not at_hand(values)
    assert at_hand(values)


def test_counts_are_the_same_both_ways() -> None:
    index = torch.tensor([3, 0, 3, 3, 1])
    here = count_members(index, 6)
    with as_on_a_device():
        assert torch.equal(count_members(index, 6), here)
    assert here.tolist() == [1, 1, 0, 3, 0, 0]


def test_apple_has_no_float64() -> None:
    assert widest(torch.device("mps")) == torch.float32
    assert widest(torch.device("cuda:1")) == widest(torch.device("cpu")) == torch.float64
    with as_on_a_device("mps"):
        assert widest(torch.device("cpu")) == torch.float32


@pytest.mark.parametrize("there", [False, True])
def test_an_intel_gpu_is_asked_for_float64(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    about = SimpleNamespace(has_fp64=there)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda device: about)
    place = torch.device("xpu:1" if there else "xpu:0")  # an answer is remembered
    assert widest(place) == (torch.float64 if there else torch.float32)


def test_the_state_of_the_gpu_that_computes_is_kept_and_of_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[torch.device] = []

    def get(device: torch.device) -> torch.Tensor:
        asked.append(device)
        return torch.zeros(1)

    monkeypatch.setattr(torch.cuda, "get_rng_state", get)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: asked.append(device))
    with kept_generators(torch.device("cuda:1")):
        pass
    assert asked == [torch.device("cuda:1")] * 2


def test_the_state_of_an_apple_device_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """``torch.manual_seed`` reseeds it, too; there is one, so that its functions take no device."""
    there = torch.Generator().manual_seed(0)
    apple = SimpleNamespace(get_rng_state=there.get_state, set_rng_state=there.set_state)
    monkeypatch.setattr(torch, "mps", apple)
    before = there.get_state()
    with kept_generators(torch.device("mps")):
        there.manual_seed(7)
    assert torch.equal(there.get_state(), before)


@pytest.mark.parametrize("kind", ["cpu", "meta"])
def test_devices_without_generators_of_their_own(kind: str) -> None:
    before = torch.get_rng_state()
    with kept_generators(torch.device(kind)):
        torch.manual_seed(7)
    assert torch.equal(torch.get_rng_state(), before)
