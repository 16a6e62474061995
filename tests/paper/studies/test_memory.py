"""Peak memory of a step: known for an operation of known size, and less with recomputed states."""

from __future__ import annotations

import torch

from gsina.paper.studies import memory
from gsina.paper.studies.memory import _Watch, measure_memory


def test_the_peak_is_what_is_alive_at_a_time() -> None:
    with _Watch() as watch:
        first = torch.zeros(1000)
        second = first + 1
        del first
        third = second * 2
        del second, third
        torch.zeros(10)
    assert watch.peak == 2 * 4000


def test_recomputed_states_take_less_where_there_are_two_networks() -> None:
    content = measure_memory(torch.device("cpu"), quick=True)
    rows = {(row["backbone"], row["method"]): row for row in content["rows"]}
    assert len(rows) == len(memory.BACKBONES) * len(memory.METHODS)
    for backbone in memory.BACKBONES:
        row = rows[backbone, "GSINA, plain scorer"]
        assert row["bytes_recomputed"] < row["bytes"]
        assert rows[backbone, "ERM"]["bytes"] < row["bytes"]
