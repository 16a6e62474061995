"""The bar of a notebook, with a stand-in for IPython; ``tests/estimators`` shows it in use."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from gsina.listeners import Beginning, notebook, told
from gsina.listeners.notebook import NotebookBar, in_notebook


class Screen:
    """What a notebook shows: one entry per output, the last state of each."""

    def __init__(self) -> None:
        self.outputs: list[str] = []

    def display(self, html: str, display_id: bool = False) -> Any:
        self.outputs.append(html)
        place = len(self.outputs) - 1

        def update(new: str) -> None:
            self.outputs[place] = new

        return types.SimpleNamespace(update=update)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    shell = types.SimpleNamespace(kernel=object())
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    shown: Any = types.ModuleType("IPython.display")
    shown.display, shown.HTML = found.display, lambda text: text
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return found


def record(epoch: int) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "train": {"prediction": 0.5},
        "val": {"accuracy": 0.25 * (epoch + 1), "loss": 1.0},
        "best": True,
    }


def test_without_ipython_or_a_kernel_it_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    terminal: Any = types.ModuleType("IPython")
    terminal.get_ipython = lambda: types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert not in_notebook()


def test_one_bar_per_training_that_stays(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "PAUSE", 1e9)  # only the last state is sure to be shown
    assert in_notebook()
    bar = NotebookBar()
    with told([bar], Beginning("<gsina>", "tiny", 3, "accuracy")):
        bar.on_trial("ratio 0.3", 0)
        bar.on_batch(1, 2)
        bar.on_epoch(record(0))
        bar.on_epoch(record(1))
        bar.on_trial("ratio 0.5", 0)
        for epoch in range(3):
            bar.on_epoch(record(epoch))
        bar.on_part("boosted trees", 1, 4)
        bar.on_part("boosted trees", 4, 4)
    first, said, second, trees = screen.outputs
    assert "&lt;gsina&gt;, ratio 0.3" in first
    assert 'value="2" max="3"' in first
    assert "val 50.0 %" in first
    assert "stopped after 2 epochs" in said
    assert 'value="3" max="3"' in second
    assert "4 of 4" in trees


CELL = """
from gsina.listeners import Beginning, told
from gsina.listeners.notebook import NotebookBar, in_notebook
assert in_notebook()
bar = NotebookBar()
with told([bar], Beginning("gsina", "tiny", 2, "accuracy")):
    bar.on_trial("", 0)
    for epoch in range(2):
        bar.on_batch(1, 1)
        val = {"accuracy": 0.5}
        bar.on_epoch({"epoch": epoch, "train": {"loss": 1.0}, "val": val, "best": True})
"""


def test_in_a_notebook_that_is_run(tmp_path: Path) -> None:
    """One output that is updated in place, and stays in the file."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    # The kernel of this very environment, whatever others are registered.
    spec: dict[str, Any] = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    }
    place = tmp_path / "kernels" / "here"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(
        json.dumps(spec | {"display_name": "x", "language": "python"})
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(tmp_path))
        nbclient.NotebookClient(page, timeout=120, kernel_name="here").execute()
    (output,) = page.cells[0].outputs
    assert output.output_type == "display_data"
    assert 'value="2" max="2"' in output.data["text/html"]
    assert "2/2  loss 1.000  val 50.0 %" in output.data["text/html"]
