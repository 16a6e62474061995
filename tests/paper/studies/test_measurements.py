"""``gsina bench memory`` and ``gsina bench device``."""

from __future__ import annotations

import json

import pytest

from gsina.paper.studies import devices, memory


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(memory, "BACKBONES", ("gcn",))
    monkeypatch.setattr(memory, "GRAPHS", 4)
    monkeypatch.setattr(devices, "GRAPHS", 6)
    monkeypatch.setattr(devices, "STEPS", 1)


def test_memory_is_shown_and_kept(gsina, tmp_path):
    done = gsina("bench", "memory", "--quick")
    assert done.exit_code == 0
    assert "with `--recompute`" in done.output
    assert list(tmp_path.iterdir()) == []
    assert gsina("bench", "memory").exit_code == 0
    kept = json.loads((tmp_path / "results" / "bench" / "memory-cpu.json").read_text())
    assert kept["rows"][0]["bytes"] > 0


def test_a_device_is_checked_and_the_report_written(gsina, tmp_path, monkeypatch):
    done = gsina("bench", "device", "--device", "cpu")
    assert done.exit_code == 0
    assert "ok   a step of gsina" in done.output
    assert json.loads((tmp_path / "gsina-device-cpu.json").read_text())["failed"] == []
    monkeypatch.setattr(devices, "MEAN_ERROR", -1.0)
    done = gsina("bench", "device", "--device", "cpu")
    assert done.exit_code == 1
    assert "FAIL means of soft top-r" in done.output


def test_options_that_do_nothing_are_refused(gsina):
    done = gsina("bench", "device", "--quick")
    assert done.exit_code == 2
    assert "--quick is not for the table device" in done.output
