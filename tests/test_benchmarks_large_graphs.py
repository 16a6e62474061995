"""The benchmark of large graphs measures the memory of its own steps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


def test_peak_memory_is_that_of_the_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.large_graphs import peak_gib, random_graph

    ballast = torch.ones(2**27)  # half a GiB that only this process holds
    assert ballast.sum() > 0
    small, large = peak_gib(1_000, "nothing"), peak_gib(200_000, "GSINA")
    assert 0.05 < small < large < 0.9
    batch = random_graph(1_000)
    assert batch.reverse is not None
    assert torch.equal(batch.edge_index[:, batch.reverse], batch.edge_index.flip(0))
