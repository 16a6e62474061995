"""What a run is made with, and saying so when it goes on with something else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from gsina.errors import Note
from gsina.ops.compiled import kernels, torch_alone
from gsina.runs.provenance import note_other_rounding, provenance
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.run import run

DATA = {"bias": 0.5, "num_per_class": 4}


def recipe(epochs: int, **more: Any) -> Recipe:
    made = default_recipe("spmotif", "gin", "erm", data=DATA, epochs=epochs)
    return made.model_copy(update=more)


def train(out: Path, epochs: int, **more: Any) -> list[str]:
    """Train, or go on; gives what was noted about rounding."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        run(recipe(epochs, **more), out=out, resume=True, report=False)
    return [str(one.message) for one in heard if issubclass(one.category, Note)]


@pytest.mark.parametrize("more", [{}, {"ensemble": 2}], ids=["one", "members"])
def test_a_run_that_is_rounded_in_another_way_says_so(tmp_path: Path, more: dict[str, Any]) -> None:
    assert train(tmp_path, 1, **more) == []
    assert train(tmp_path, 2, **more) == []
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        [note] = train(tmp_path, 3, **more)
    finally:
        torch.set_num_threads(threads)
    assert f"threads {threads}, now {threads + 1}" in note
    result = json.loads((tmp_path / "result.json").read_text())
    assert [one["hardware"]["threads"] for one in result["sessions"]] == [threads, threads + 1]
    assert {"kernels", "threads", "device", "processes"} <= result["hardware"].keys()


@pytest.mark.skipif(kernels() is None, reason="the kernels were not built")
def test_without_the_kernels_too(tmp_path: Path) -> None:
    train(tmp_path, 1)
    with torch_alone():
        [note] = train(tmp_path, 2)
    assert "kernels True, now False" in note


def test_other_processes_and_old_checkpoints() -> None:
    now, two = provenance(), provenance(processes=2)
    with pytest.warns(Note, match="processes 2, now 1"):
        note_other_rounding([{}, {"sessions": [two]}], now)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_other_rounding([{"sessions": [now]}], now)
        note_other_rounding([{"sessions": [{"hardware": {}}]}, {}], now)


def test_the_way_of_mkl() -> None:
    now = provenance()
    assert now["hardware"]["mkl"] in {"for Intel", "for others", None}
    if now["hardware"]["mkl"] is not None:
        intel = Path("/proc/cpuinfo").read_text().count("GenuineIntel") > 0
        assert now["hardware"]["mkl"] == ("for Intel" if intel else "for others")
    other = {"hardware": now["hardware"] | {"mkl": "for somebody else"}}
    with pytest.warns(Note, match="mkl for somebody else, now "):
        note_other_rounding([{"sessions": [other]}], now)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_library_that_was_loaded_before_torch_answers_for_mkl(tmp_path: Path) -> None:
    answer = tmp_path / "answer.so"
    code = b"int mkl_serv_intel_cpu_true(void) { return 1; }"
    call = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(answer)]
    if sys.platform != "linux" or subprocess.run(call, input=code).returncode:
        pytest.skip("no library can be loaded before torch here")
    program = "from gsina.runs.provenance import mkl; print(mkl())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"LD_PRELOAD": str(answer)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "for Intel", done.stderr


@pytest.mark.parametrize(
    "kept",
    [
        {"sessions": 3},
        {"sessions": ["x"]},
        {"sessions": [{"hardware": []}]},
        {"sessions": [{"hardware": {"device": ["cpu"]}}]},
    ],
)
def test_sessions_of_any_shape_are_no_traceback(kept: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        note_other_rounding([kept], provenance(torch.device("cpu"), 1))
    odd = "device" in str(kept)  # of the others nothing is known, so nothing is said
    assert ["device ['cpu'], now cpu" in str(one.message) for one in said] == [True] * odd
