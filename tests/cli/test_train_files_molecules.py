"""Tables of molecules on the command line: descriptors, and several molecules per row."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("rdkit")

QUICK = ("--epochs", 2, "--batch-size", 16)


def pairs(path: Path) -> Path:
    """Forty pairs of a ring with a tail and a solvent; one solvent cannot be read."""
    rings, tails = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1"), ("O", "N", "CC", "CO", "Cl")
    lines = ["solute,solvent,soluble"]
    for number in range(40):
        smiles = rings[number % 4] + tails[number % 5]
        lines.append(f"{smiles},{('O', 'CCO')[number % 2]},{int('O' in smiles)}")
    lines[7] = "CCO,C1CC,1"
    path.write_text("\n".join(lines))
    return path


def test_pairs_of_molecules(gsina, tmp_path):
    pairs(tmp_path / "pairs.csv")
    options = ("--smiles", "solute", "--smiles", "solvent", "--target", "soluble")
    done = gsina("train", "pairs.csv", *options, "--features", "morgan", *QUICK, "--out", "run")
    assert done.exit_code == 0, done.output
    assert "features of whole molecules (morgan)" in done.output
    done = gsina("predict", "run", "pairs.csv", "--attention", "-o", "out.csv")
    assert done.exit_code == 0, done.output
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[6]["reason"].startswith("solvent: ")
    assert rows[6]["prediction"] == ""
    assert all(row["prediction"] for row in rows if not row["reason"])
    done = gsina("explain", "run", "pairs.csv", "--top", 40, "-o", "page.html")
    assert done.exit_code == 0, done.output
    assert "c1ccccc1O.O" in (tmp_path / "page.html").read_text()
    (tmp_path / "new.csv").write_text("a,b\nCCO,O\n")
    renamed = ("--smiles", "a", "--smiles", "b")
    assert gsina("predict", "run", "new.csv", *renamed, "-o", "new-out.csv").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--features", "ecfp"),
            "unknown kind of molecule features 'ecfp'; known: counts, morgan, none, quick, rdkit",
        ),
        (("--features", "morgan,none"), "the molecule features 'none' stand alone"),
        (
            ("--features", "rdkit", "--no-trees", "--method", "dir"),
            "cannot use features of whole graphs",
        ),
    ],
)
def test_features_that_cannot_be_had(gsina, tmp_path, options, message):
    pairs(tmp_path / "pairs.csv")
    common = ("--smiles", "solute", "--target", "soluble", *QUICK, "--out", "run")
    done = gsina("train", "pairs.csv", *common, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_graph_alone_and_trees_without_features(gsina, tmp_path):
    pairs(tmp_path / "pairs.csv")
    common = ("--smiles", "solute", "--target", "soluble", *QUICK, "--features", "none")
    done = gsina("train", "pairs.csv", *common, "--out", "run")
    assert done.exit_code == 0, done.output
    assert (
        json.loads((tmp_path / "run" / "model" / "model.json").read_text())["architecture"]["trees"]
        is None
    )
    refused = gsina("train", "pairs.csv", *common, "--trees", "--out", "other")
    assert refused.exit_code == 2
    assert "boosted trees need features of whole molecules" in refused.stderr
    named = gsina("train", "spmotif", "--trees", "--out", "other")
    assert "--trees are for your own files and for the TU collection" in named.stderr


def test_other_data_have_no_features_of_molecules(gsina, tmp_path):
    (tmp_path / "g.jsonl").write_text('{"nodes": 2, "edges": [[0, 1]], "label": 1}\n')
    done = gsina("train", "g.jsonl", "--features", "morgan")
    assert done.exit_code == 2
    assert "--features is for tables of molecules" in done.stderr
    (tmp_path / "n.csv").write_text("id,label\n")
    done = gsina("train", "--nodes", "n.csv", "--edges", "n.csv", "--features", "morgan")
    assert done.exit_code == 2
    assert "name columns of the table with --feature" in done.stderr
