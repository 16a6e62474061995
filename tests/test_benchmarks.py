"""The benchmarks measure what they say: their peers are right, and so is their report."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gsina import soft_top_r

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py")))
def test_every_benchmark_can_be_imported(name: str) -> None:
    import_module(f"benchmarks.{name}")


def test_peers_compute_the_same_weights() -> None:
    from benchmarks import peers

    index = torch.randint(6, (80,), generator=torch.Generator().manual_seed(0)).sort().values
    scores = torch.randn(80, generator=torch.Generator().manual_seed(1))
    for sweeps in (1, 10):
        expected = soft_top_r(
            scores, 0.3, index, num_groups=6, solver="sinkhorn", iterations=sweeps
        )
        for peer in (peers.padded_loop, peers.padded_batch):
            weights = peer(scores, 0.3, index, 6, sweeps)
            torch.testing.assert_close(weights, expected, atol=1e-5, rtol=0)
    double = scores.double()
    torch.testing.assert_close(
        peers.transport(double, 0.3), soft_top_r(double, 0.3), atol=1e-6, rtol=0
    )


def test_peers_of_soft_top_k_keep_so_many_with_their_gradient() -> None:
    from benchmarks import topk, topk_peers

    case = scores, index, keep = topk._case(torch.tensor([3, 17, 40, 2, 31]))
    ratio = keep / torch.bincount(index)
    for peer in (topk_peers.lml, topk_peers.lapsum):
        assert topk._mean_error(peer, case) < 1e-5
        assert topk._gradient_error(peer, case) < 1e-2
    ours = soft_top_r(scores, ratio, index)
    torch.testing.assert_close(topk_peers.lml(*case), ours, rtol=0, atol=1e-4)
    assert topk._gradient_error(topk._ours("entropic"), case) < 1e-5
    found, missing = topk_peers.installed()
    assert {*found} | {*missing} >= {"entmax", "torchsort", "difftopk", "fast-soft-sort", "LML"}
    if "entmax" in found:
        sparse = soft_top_r(scores, ratio, index, regulariser="quadratic")
        torch.testing.assert_close(found["entmax"](*case), sparse, rtol=0, atol=1e-5)


def test_memory_is_that_of_tensors_that_are_there_together() -> None:
    from benchmarks.topk import _peak

    assert _peak(lambda: torch.zeros(1000) + torch.zeros(1000)) == pytest.approx(12_000, rel=0.2)


def test_the_straightforward_scorer_is_the_same_function() -> None:
    from benchmarks.scorer import StraightforwardScorer

    from gsina.nn.scorer import NormedScorer
    from gsina.ops.groups import Groups

    theirs, ours = StraightforwardScorer(8), NormedScorer(8)
    ours.load_state_dict(theirs.state_dict())
    ours.eval()
    theirs.eval()
    h = torch.randn(20, 8)
    edge_graph = torch.arange(60) // 20
    edge_index = torch.randint(20, (2, 60))
    expected = theirs(h, edge_index, edge_graph, 3)
    torch.testing.assert_close(ours(h, edge_index, Groups(edge_graph, 3, 60)), expected)


def test_the_plain_pna_network_is_as_wide_and_as_deep() -> None:
    from benchmarks.pna_epoch import PNANetwork, _peer_step

    from gsina.datasets import spmotif
    from gsina.nn.backbones import PNA

    graphs = spmotif.generate(0.5, "train", num_per_class=2)
    peer = PNANetwork(4, 1, 3, torch.tensor([1, 2, 1]))
    ours = PNA(4, edge_channels=1)
    assert len(peer.layers) == len(ours.layers)
    assert peer.layers[0].out_channels == ours.out_channels
    batch = graphs.batch(range(len(graphs)))
    assert peer(batch).shape == (6, 3)
    assert _peer_step(graphs)() is None  # a step runs


def test_timing_compares_side_by_side() -> None:
    from benchmarks.timing import interleaved

    now = 0.0

    def work(seconds: float) -> None:
        nonlocal now
        now += seconds

    candidates = {"once": lambda: work(1), "many": lambda: work(20)}
    timings = interleaved(candidates, 0.2, clock=lambda: now)
    assert timings["many"].median > 3 * timings["once"].median
    assert timings["once"].calls > timings["many"].calls >= 5
    for timing in timings.values():
        assert 0 < timing.low <= timing.median <= timing.high


def test_report_as_text_and_as_file(tmp_path: Path) -> None:
    from benchmarks.__main__ import names, save
    from benchmarks.report import Claim, Report, Table, markdown

    assert {"operator", "scorer"} <= set(names())
    report = Report(
        [Table("a title", ("what", "ms"), [("one", 1.5), ("another", 22)])],
        [Claim("is quick", 3.0, 2.0), Claim("is far", 3.0, 2.0, at_least=True)],
    )
    text = markdown("thing", report)
    assert "| another | 22  |" in text
    assert "| is quick | 3.0      | at most 2  | NO    |" in text
    assert "| is far   | 3.0      | at least 2 | yes   |" in text
    content = json.loads(save("thing", report, True, tmp_path).read_text())
    assert [claim["holds"] for claim in content["claims"]] == [False, True]
    assert content["tables"][0]["rows"] == [["one", 1.5], ["another", 22]]
    assert content["hardware"]["threads"] == 1
    assert {"versions", "commit", "finished", "quick"} <= set(content)


def test_kept_answers_are_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.held_out import kept

    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    whole = np.savez

    def cut(file: Any, **arrays: Any) -> None:
        whole(file, **arrays)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", cut)
        with pytest.raises(KeyboardInterrupt):
            kept("study", "one", lambda: {"val": np.zeros(3)})
    assert list(tmp_path.rglob("*.npz")) == []
    assert kept("study", "one", lambda: {"val": np.ones(3)})["val"].sum() == 3
    assert kept("study", "one", dict)["val"].sum() == 3
