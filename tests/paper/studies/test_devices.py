"""The report about a device: here the CPU in the way of one, and one that is broken."""

from __future__ import annotations

import json

import pytest
import torch

from gsina.methods import METHODS
from gsina.nn.backbones import BACKBONES
from gsina.paper.studies import devices
from gsina.paper.studies.devices import check_device

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "GRAPHS", 6)
    monkeypatch.setattr(devices, "STEPS", 1)


def test_the_cpu_passes_in_the_way_of_a_device() -> None:
    told: list[str] = []
    state = torch.get_rng_state()
    report = check_device(CPU, tell=told.append)
    assert report["failed"] == []
    assert len(told) == len(report["checks"])
    steps = {one["check"] for one in report["checks"] if one["check"].startswith("a step of")}
    methods = {name for name in METHODS if "graph" in METHODS[name].levels}
    networks = {f"gsina with {name}" for name in BACKBONES}
    assert steps == {f"a step of {name}" for name in methods | networks}
    found = {one["check"]: one["found"] for one in report["checks"]}
    assert "a page of" in found["a run with baselines, its report and an explanation"]
    assert {"versions", "hardware", "commit", "device"} <= report.keys()
    json.dumps(report)
    assert torch.equal(torch.get_rng_state(), state)


def test_what_breaks_is_in_the_report_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> tuple[bool, str]:
        raise RuntimeError("no kernel image is available\nand more")

    monkeypatch.setattr(devices, "_home", broken)
    monkeypatch.setattr(devices, "MEAN_ERROR", -1.0)
    report = check_device(CPU)
    assert report["failed"] == ["means of soft top-r", "training graphs on the device"]
    found = {one["check"]: one["found"] for one in report["checks"]}
    said = found["training graphs on the device"]
    assert said == "RuntimeError: no kernel image is available"
