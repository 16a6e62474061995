"""``gsina embed``: every run folder, every kind of file, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gsina.cli import embed as command
from gsina.models import embed
from gsina.models.folder import load_model

SMALL = ("spmotif", "--data-option", "num_per_class=6", "--batch-size", 8, "--epochs", 1)


def test_a_named_run_embeds_graphs_of_a_file(gsina, tmp_path):
    assert gsina("train", *SMALL, "--out", "run").exit_code == 0
    lines = [
        {"id": f"g{size}", "nodes": [[1.0] * 4] * size, "edges": [[0, 1], [1, 2]]}
        for size in (3, 4, 5)
    ]
    lines.insert(1, {"id": "bad", "nodes": -1})
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = gsina("embed", "run", "new.jsonl", "-o", "v.npy")
    assert done.exit_code == 0, done.output
    assert "4 rows: 3 embedded, 1 could not be read (the first: " in done.output
    found = np.load(tmp_path / "v.npy")
    assert np.isnan(found).all(1).tolist() == [False, True, False, False]
    done = gsina("embed", "run", "new.jsonl", "--node-states", "-o", "n.npy")
    assert "v.npy" not in done.output
    assert "n-index.npy" in done.output
    assert np.load(tmp_path / "n.npy").shape == (13, found.shape[1])
    assert np.load(tmp_path / "n-index.npy").shape == (13, 2)
    done = gsina("embed", "run", "new.jsonl", "-o", "v.npy")
    assert done.exit_code == 2
    assert "v.npy exists already" in done.stderr
    assert gsina("embed", "run", "new.jsonl", "-o", "v.npy", "--force").exit_code == 0


def test_no_name_runs_in_a_spreadsheet_unless_asked_for(gsina, tmp_path):
    assert gsina("train", *SMALL, "--out", "run").exit_code == 0
    graph = {"id": "=1+1", "nodes": [[1.0] * 4] * 3, "edges": [[0, 1]]}
    (tmp_path / "new.jsonl").write_text(json.dumps(graph))
    for more, name in (((), "'=1+1"), (("--raw",), "=1+1")):
        assert gsina("embed", "run", "new.jsonl", "-o", "v.csv", "--force", *more).exit_code == 0
        assert (tmp_path / "v.csv").read_text().splitlines()[1].split(",")[0] == name


def test_molecules_and_rows_none_of_which_can_be_read(gsina, tmp_path):
    pytest.importorskip("rdkit")
    texts = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "c1ccncc1"] * 4
    rows = [f"{'C' * (i // 6)}{text},{i % 2}" for i, text in enumerate(texts)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,active", *rows]))
    assert gsina("train", "m.csv", "--target", "active", "--epochs", 1).exit_code == 0
    done = gsina("embed", "runs/m", "m.csv", "-o", "v.csv")
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "v.csv").read_text().splitlines()
    assert lines[0].startswith("smiles,state_0,state_1,")
    assert len(lines) == 25
    model = load_model(tmp_path / "runs" / "m")
    first = np.array(lines[1].split(",")[1:], dtype=float)
    np.testing.assert_allclose(first, model.embed(["CCO"])[0], rtol=1e-4, atol=1e-5)
    (tmp_path / "bad.csv").write_text("smiles\nC((\nxyz\n")
    for name, out in (("predict", "bad-out.csv"), ("embed", "bad.npy")):
        done = gsina(name, "runs/m", "bad.csv", "-o", out)
        assert done.exit_code == 1
        assert done.stderr.startswith("error: none of the 2 rows can be read (the first: ")
        assert done.stderr.count("\n") == 1
        assert (tmp_path / out).exists()


def test_nodes_of_tables(gsina, tmp_path):
    nodes = [f"n{i},{i % 2},{i / 7}" for i in range(30)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,size", *nodes]))
    edges = [f"n{i},n{(i + 1) % 30}" for i in range(30)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    tables = ("--nodes", "nodes.csv", "--edges", "edges.csv")
    trained = gsina("train", *tables, "--label", "label", "--epochs", 2, "--out", "run")
    assert trained.exit_code == 0, trained.output
    done = gsina("embed", "run", *tables, "-o", "v.csv")
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "v.csv").read_text().splitlines()
    assert len(lines) == 31
    assert [line.split(",")[0] for line in lines[:3]] == ["id", "n0", "n1"]


def test_endings_that_are_not_known_are_refused_before_anything_is_read(gsina):
    done = gsina("embed", "no-such-run", "new.csv", "-o", "v.txt")
    assert done.exit_code == 2
    assert "--out must end in .npy, .csv or .parquet, got v.txt." in done.stderr
    assert command.SUFFIXES == embed.SUFFIXES


def test_a_file_with_a_header_and_no_rows(gsina, tmp_path):
    pytest.importorskip("rdkit")
    kept = Path(__file__).parents[1] / "kept" / "v0.1" / "molecules"
    (tmp_path / "empty.csv").write_text("smiles,target\n")
    for out in ("v.npy", "v.csv"):
        done = gsina("embed", kept, "empty.csv", "-o", out)
        assert done.exit_code == 0, done.output
        assert "note: the input has no rows, so the output has none either." in done.output
    assert np.load(tmp_path / "v.npy").shape[0] == 0
    assert np.load(tmp_path / "v.npy").shape[1] > 0
    head = (tmp_path / "v.csv").read_text()
    assert head.startswith("smiles,state_0,")
    assert head.count("\n") == 1
    done = gsina("predict", kept, "empty.csv", "-o", "p.csv")
    assert done.exit_code == 0
    assert "note: the input has no rows" in done.output
    assert (tmp_path / "p.csv").read_text().startswith("smiles,target,prediction,")
    failed = gsina("explain", kept, "empty.csv", "-o", "page.html")
    assert failed.exit_code == 2
    assert "empty.csv has no rows, so there is nothing to show; check the file." in failed.stderr
    assert not (tmp_path / "page.html").exists()
