"""The examples run, on a few graphs."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_soft_top_r(capsys):
    runpy.run_path(str(EXAMPLES / "soft_top_r.py"), run_name="__main__")
    assert "temperature  1.0: [0.8" in capsys.readouterr().out


def test_attention_in_your_own_gnn(capsys):
    runpy.run_path(str(EXAMPLES / "attention_in_your_own_gnn.py"))["main"](epochs=1)
    assert "mean edge weight 0.500" in capsys.readouterr().out


def test_train_spmotif(capsys, tmp_path):
    runpy.run_path(str(EXAMPLES / "train_spmotif.py"))["main"](tmp_path, per_class=4, epochs=1)
    assert "id_test  accuracy" in capsys.readouterr().out
    assert (tmp_path / "subgraphs.png").exists()
    assert (tmp_path / "result.json").exists()
