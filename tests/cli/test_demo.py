from __future__ import annotations

import json

from gsina.cli import demo


def test_the_demo_prints_a_table_and_draws(gsina, tmp_path):
    done = gsina("demo", "--quick", "--out", "shown")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    rows = [line.split() for line in lines if line.strip().startswith(("ERM", "GSINA"))]
    assert [row[0] for row in rows] == ["ERM", "ERM+", "GSINA"]
    assert "These numbers mean nothing" in done.output
    assert "shown/subgraphs.png" in done.output
    assert "train spmotif --bias 0.9" in done.output
    for name in ("subgraphs.png", "large.png"):
        assert (tmp_path / "shown" / name).read_bytes().startswith(b"\x89PNG")

    # The table shows what the result files hold, and nothing else.
    for row in rows:
        result = json.loads((tmp_path / "shown" / f"{row[0].lower()}.json").read_text())
        metrics = result["metrics"]
        assert float(row[1]) == round(100 * metrics["id_test"]["accuracy"], 1)
        assert float(row[3]) == round(100 * metrics["test"]["accuracy"], 1)
    auc = json.loads((tmp_path / "shown" / "gsina.json").read_text())["metrics"]["test"]
    assert f"{100 * auc['explanation_auc']:.1f} %" in done.output
    assert f"{100 * auc['precision_at_5']:.1f} %" in done.output


def test_an_interrupted_demo(gsina, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_train", stop)
    done = gsina("demo", "--quick")
    assert done.exit_code == 130
    assert "interrupted" in done.output
