"""The runtime table: its peer is right, its numbers are ratios of one run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import tiny
from gsina import soft_top_r
from gsina.datasets import ciga_motifs as spmotif_ciga
from gsina.graphs.dataset import Dataset
from gsina.methods import GSINA, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.paper.grid.results import Results
from gsina.paper.report.pages import all_tables
from gsina.paper.report.runtime import paper_ratio, runtime_markdown, write_runtime
from gsina.paper.studies import runtime
from gsina.paper.studies.padded import PaddedLoopAttention, padded_loop, use_padded_loop


def small(name: str) -> Dataset:
    return spmotif_ciga.load("struc", num_per_class=40)


class Work(TorchDispatchMode):
    """A clock that counts operations on tensors, and so is the same on a busy machine."""

    done = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.done += 1
        return operation(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def content() -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patch, Work() as work:
        patch.setattr(runtime, "time", SimpleNamespace(perf_counter=lambda: work.done))
        return runtime.measure(["spmotif-struc"], quick=True, load=small)


def test_the_padded_loop_computes_the_same_weights() -> None:
    torch.manual_seed(0)
    index = torch.tensor([0] * 7 + [2] * 1 + [3] * 30)  # graph 1 has no edge
    scores = torch.randn(38, requires_grad=True)
    for sweeps in (1, 10):
        expected = soft_top_r(
            scores, 0.3, index, num_groups=4, solver="sinkhorn", iterations=sweeps
        )
        found = padded_loop(scores, 0.3, index, 4, sweeps)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    upstream = torch.randn(38)
    ours, theirs = (
        torch.autograd.grad(weights, scores, upstream)[0] for weights in (expected, found)
    )
    torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=0)


def test_the_peer_is_gsina_but_for_the_solver() -> None:
    spec = NetworkSpec("ogb-gcn", 4, 0)
    options = {"solver": "sinkhorn", "scorer": "plain", "ratio": 0.25}
    method = build_method("gsina", spec, tiny.CLASSES, options).eval()
    assert isinstance(method, GSINA)
    batch = tiny.whole(tiny.ragged(undirected=True))
    expected = method(batch)
    weights = method.attention.state_dict()
    peer = use_padded_loop(method).eval()
    assert isinstance(peer.attention, PaddedLoopAttention)
    peer.attention.load_state_dict(weights)
    torch.testing.assert_close(peer(batch).logits, expected.logits, atol=1e-4, rtol=1e-4)


def test_every_row_is_measured(content: dict[str, object]) -> None:
    rows = content["rows"]
    assert isinstance(rows, list)
    assert [one["row"] for one in rows] == list(runtime.ROWS)
    for one in rows:
        assert len(one["seconds"]) == len(one["ratios"]) == 1
        assert one["seconds"][0] > 0
    assert rows[0]["ratios"] == [1.0]
    ratios = {one["row"]: one["ratios"][0] for one in rows}
    assert min(value for row, value in ratios.items() if row != "ERM") > 1


def test_report(content: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="measure with: gsina bench runtime"):
        runtime.read_runtime(tmp_path)
    path = runtime.save_runtime(tmp_path, content)
    assert path == tmp_path / "bench/runtime.json"
    text = runtime_markdown(runtime.read_runtime(tmp_path))
    lines = text.splitlines()
    row, _ = [line for line in lines if line.startswith("| GSINA, scope graph |")]
    seconds = {one["row"]: one["seconds"][0] for one in content["rows"]}  # type: ignore[attr-defined]
    times = seconds["GSINA, scope graph"] / seconds["GSAT"]
    assert f"| times GSAT | {times:.2f} | at most 1.10 |" in lines
    assert row.endswith("; paper 5.96 |")  # 34.58 / 5.80
    assert "A quick run" in text
    assert "Not measured, as their data were not there: NCI1, NCI109, PROTEINS, DD" in text
    page, picture = write_runtime(content, tmp_path / "tables")
    assert "![Runtime" in page.read_text(encoding="utf-8")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Commit: unknown." in runtime_markdown(content | {"commit": ""})


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"rows": []}'])
def test_a_broken_file_is_told(tmp_path: Path, text: str) -> None:
    path = runtime.runtime_file(tmp_path)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match=r"runtime\.json is broken .*; measure again"):
        runtime.read_runtime(tmp_path)
    path.rename(runtime.begun_file(tmp_path))
    assert runtime.begun_runtime(tmp_path) is None
    path.write_text(text)
    assert "Runtime" not in all_tables(Results(tmp_path))


class Cut:
    """A measurement of two datasets that is cut off at the second."""

    both = ("spmotif-struc", "nci1")

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.kept: dict[str, object] | None = None
        self.told: list[str] = []

    def load(self, name: str) -> Dataset:
        self.loaded.append(name)
        return small(name)

    def keep(self, content: dict[str, object]) -> None:
        self.kept = dict(content)

    def begin(self) -> dict[str, object]:
        def breaks(name: str) -> Dataset:
            if name == "nci1":
                raise KeyboardInterrupt
            return small(name)

        with pytest.raises(KeyboardInterrupt):
            runtime.measure(self.both, quick=True, load=breaks, keep=self.keep)
        assert self.kept is not None
        return self.kept

    def go_on(self, begun: dict[str, object], quick: bool = True) -> dict[str, object]:
        self.loaded.clear()
        return runtime.measure(
            self.both, quick=quick, epochs=1, load=self.load, begun=begun, tell=self.told.append
        )


def test_a_measurement_that_was_cut_off_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "commit", lambda: "a" * 40)
    cut = Cut()
    begun = cut.begin()
    assert {one["dataset"] for one in begun["rows"]} == {"spmotif-struc"}  # type: ignore[attr-defined]
    whole = cut.go_on(begun)
    assert cut.loaded == ["nci1"]
    assert whole["rows"][: len(runtime.ROWS)] == begun["rows"]  # type: ignore[index]
    assert cut.told[0] == "an interrupted measurement is continued; it has spmotif-struc."


@pytest.mark.parametrize(
    ("commit", "before"),
    [
        ("a", {"commit": "b"}),
        ("a+", {}),  # a tree with changes
        ("", {}),  # no tree at all
        ("a", {"hardware": {"cpu": "another"}}),
        ("a", {"versions": {"torch": "0.1"}}),
        ("a", {"epochs": 2}),
        ("a", {"quick": False}),
    ],
    ids=str,
)
def test_other_circumstances_begin_anew(
    monkeypatch: pytest.MonkeyPatch, commit: str, before: dict[str, object]
) -> None:
    monkeypatch.setattr(runtime, "commit", lambda: commit)
    cut = Cut()
    monkeypatch.setattr(
        runtime, "_measure_one", lambda name, *rest: [runtime.Measured("ERM", name, [1.0], [1.0])]
    )
    cut.go_on(cut.begin() | before)
    assert cut.loaded == list(cut.both)
    assert "measured again" in cut.told[0]


def test_all_datasets_have_a_number_in_the_paper() -> None:
    for row in runtime.ROWS:
        for dataset in runtime.DATA:
            assert paper_ratio(row, dataset) >= 1
