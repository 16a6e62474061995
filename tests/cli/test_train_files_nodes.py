"""Tables of nodes on the command line: units of features, and options that do not fit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from gsina.cli.file_options import OPTIONS
from gsina.formats import read_nodes
from gsina.models.folder import load_model

TABLES = ("--nodes", "nodes.csv", "--edges", "edges.csv")


def tables(folder: Path, unit: float = 1e5) -> None:
    """The sign of ``a`` is the label; ``amount`` says nothing, in units of its own."""
    torch.manual_seed(0)
    amount = (torch.rand(80) * unit).tolist()
    lines, pairs = ["id,year,a,amount,label"], ["source,target"]
    for node in range(80):
        good = node % 2 == 0
        sign = 0.5 if good else -0.5
        lines.append(f"n{node},{2000 + node},{sign},{amount[node]},{'good' if good else 'bad'}")
        pairs += [f"n{node},n{(node + step) % 80}" for step in (2, 4)]
    (folder / "nodes.csv").write_text("\n".join(lines))
    (folder / "edges.csv").write_text("\n".join(pairs))


def test_units_do_not_matter(gsina, tmp_path):
    tables(tmp_path)
    options = ("--feature", "a", "--feature", "amount", "--method", "erm", "--learning-rate", 0.01)
    done = gsina("train", *TABLES, *options, "--epochs", 30, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "features: a, amount\n" in done.output
    assert "16 test nodes" in done.output  # at random
    assert "OOD" not in done.output
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    for command in ("predict", "explain"):
        assert f"gsina {command} <this folder> --nodes nodes.csv --edges edges.csv" in card
    model = load_model(tmp_path / "run")
    assert model.metrics["test"]["accuracy"] == 1
    assert len(model.featuriser["scaling"]["node"]["mean"]) == 2
    # What the model says of the file is what it said in training.
    own = read_nodes(tmp_path / "nodes.csv", tmp_path / "edges.csv", features=["a", "amount"])
    shares = model.probabilities(model.predict(own.train).logits)[:, 0]
    assert gsina("predict", "run", *TABLES, "-o", "out.csv").exit_code == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = torch.tensor([float(row["probability_good"]) for row in rows])
    torch.testing.assert_close(found, shares, atol=1e-5, rtol=1e-5)
    test = [int(name[1:]) for name in own.origin.names["test"]]
    right = [rows[node]["prediction"] == rows[node]["label"] for node in test]
    assert sum(right) / len(right) == model.metrics["test"]["accuracy"]
    assert gsina("explain", "run", *TABLES, "--top", 2, "-o", "page.html").exit_code == 0
    # A folder from before has no scaling, and is used as it was.
    meta = tmp_path / "run" / "model" / "model.json"
    content = json.loads(meta.read_text())
    del content["featuriser"]["scaling"]
    meta.write_text(json.dumps(content))
    assert gsina("predict", "run", *TABLES, "-o", "old.csv").exit_code == 0
    assert (tmp_path / "old.csv").read_text() != (tmp_path / "out.csv").read_text()


def test_the_features_are_named_and_many_are_counted(gsina, tmp_path):
    names = [f"f{i}" for i in range(15)]
    lines = [",".join(["id", "label", "year", *names])]
    lines += [",".join(map(str, [i, i % 2, i, *range(15)])) for i in range(20)]
    (tmp_path / "nodes.csv").write_text("\n".join(lines))
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(f"{i},1" for i in range(20)))
    done = gsina("train", *TABLES, "--epochs", 1, "--method", "erm", "--out", "run")
    assert "features: year, f0, f1" in done.output
    assert "f10 and 4 more" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--smiles", "id"], ["--smiles is for tables of molecules", "--label"]),
        (["--target", "label"], ["--target is for tables of molecules", "--label"]),
        (["--feature", "label"], ["'label' is the column to predict"]),
        (["--split", "random", "--time", "year"], ["--split random does not use", "'year'"]),
        (["--split", "size"], ["environment with --environment"]),
    ],
)
def test_options_that_do_not_fit(gsina, tmp_path, options, parts):
    tables(tmp_path)
    done = gsina("train", *TABLES, *options, "--out", "run")
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def test_options_of_nodes_with_another_file(gsina, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"nodes": 2, "edges": [[0, 1]], "label": 1}\n')
    done = gsina("train", "a.jsonl", "--label", "label", "--out", "run")
    assert done.exit_code == 2
    assert "--label is for tables of nodes" in done.stderr


def test_a_bad_row_is_an_error_and_help_says_so(gsina, tmp_path):
    tables(tmp_path)
    gsina("train", *TABLES, "--time", "year", "--epochs", 1, "--out", "run")
    text = (tmp_path / "nodes.csv").read_text().replace("n3,2003,-0.5", "n3,2003,low")
    (tmp_path / "nodes.csv").write_text(text)
    done = gsina("predict", "run", *TABLES, "-o", "out.csv")
    assert done.exit_code == 2
    assert "row 5 of nodes.csv: the feature 'a' is 'low'" in done.stderr
    assert "--feature" not in done.stderr
    assert not (tmp_path / "out.csv").exists()
    help_text = " ".join(gsina("predict", "--help").output.split())
    assert "In a table of nodes or edges, a row that cannot be read is an error" in help_text
    assert "environment" in OPTIONS["split"].__metadata__[0].help


def test_units_of_graphs_do_not_matter(gsina, tmp_path):
    lines = [
        {"nodes": [[i % 2, 1e5 * ((i * 7) % 11)]] * 3, "edges": [[0, 1], [1, 2]], "label": i % 2}
        for i in range(60)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ("--method", "erm", "--epochs", 15, "--batch-size", 16, "--learning-rate", 0.01)
    done = gsina("train", "a.jsonl", *options, "--out", "run")
    assert done.exit_code == 0, done.output
    model = load_model(tmp_path / "run")
    assert model.metrics["test"]["roc_auc"] == 1
    assert gsina("predict", "run", "a.jsonl", "-o", "out.csv").exit_code == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    right = [row["prediction"] == row["label"] for row in rows]
    assert sum(right) / len(right) > 0.9


def test_tables_as_they_are(gsina, tmp_path):
    """Text, empty cells and columns of edges; the weights of edges have the user's own names."""
    lines, pairs = ["acc,label,city,age"], ["from,to,kind,weight"]
    for node in range(40):
        good, age = node % 2 == 0, "" if node % 5 == 0 else node
        lines.append(f"n{node},{int(good)},{'Bern' if good else 'Ulm'},{age}")
        pairs.append(f"n{node},n{(node + 2) % 40},{'kin' if good else 'work'},{node / 40}")
    (tmp_path / "nodes.csv").write_text("\n".join(lines))
    (tmp_path / "edges.csv").write_text("\n".join(pairs))
    ends = ("--id", "acc", "--edge-source", "from", "--edge-target", "to")
    features = ("--edge-feature", "kind", "--edge-feature", "weight")
    done = gsina("train", *TABLES, *ends, *features, "--epochs", 2, "--out", "run")
    assert done.exit_code == 0, done.output
    assert load_model(tmp_path / "run").architecture.backbone == "gin"
    (tmp_path / "nodes.csv").write_text("acc,city,age\na,Bern,1\nb,Oslo,\n")
    (tmp_path / "edges.csv").write_text("from,to,kind,weight\na,b,kin,\n")
    done = gsina("predict", "run", *TABLES, "--attention", "-o", "out.csv")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "empty cells of nodes.csv count as the training mean: age (1)." in said
    assert "not in the training rows are taken together: city (1 rows)." in said
    header, first, *_ = (tmp_path / "out-edges.csv").read_text().splitlines()
    assert header == "from,to,weight"
    assert first.startswith("a,b,")
    done = gsina("train", *TABLES, *ends, *features, "--backbone", "gcn", "--out", "other")
    assert done.exit_code == 2
    assert "gcn does not use features of edges; leave --edge-feature out" in done.stderr
