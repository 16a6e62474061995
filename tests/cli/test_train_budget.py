"""A budget in edges on the command line: what is kept, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from gsina.datasets import spmotif

Invoke = Callable[..., Result]
SPMOTIF = ("train", "spmotif", "--data-option", "num_per_class=6")
TINY = ("--epochs", 1, "--batch-size", 8, "--budget", 8, "--out", "run")


def assert_kept(file: Path, column: str) -> list[int]:
    """Check the weights of every row, one per undirected edge; how many edges the rows have."""
    with file.open(newline="") as text:
        rows = [json.loads(row[column]) for row in csv.DictReader(text)]
    for edges in rows:
        total = sum(weight for *_, weight in edges)
        assert total == pytest.approx(min(8, len(edges)), abs=1e-4 * (1 + len(edges)))
    return [len(edges) for edges in rows]


def test_molecules_keep_as_many_bonds_as_the_budget_says(gsina: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    tails = ("O", "N", "CC", "CCO", "CCCCC", "C(=O)OCCC")
    smiles = [ring + tail for tail in tails for ring in ("c1ccccc1", "C1CCCCC1", "C")]
    lines = [f"{one},{'yes' if 'O' in one else 'no'}" for one in smiles]
    (tmp_path / "molecules.csv").write_text("\n".join(["smiles,active", *lines]))
    done = gsina("train", "molecules.csv", "--target", "active", *TINY)
    assert done.exit_code == 0, done.output
    done = gsina("predict", "run", "molecules.csv", "-o", "out.csv", "--attention")
    assert done.exit_code == 0, done.output
    counts = assert_kept(tmp_path / "out.csv", "bond_weights")
    assert min(counts) < 8 < max(counts)


def test_graphs_of_a_named_dataset_do_so_too(gsina: Invoke, tmp_path: Path) -> None:
    done = gsina(*SPMOTIF, *TINY)
    assert done.exit_code == 0, done.output
    graphs = spmotif.generate(num_per_class=2, seed=5).to_pyg()
    lines = [{"nodes": one.x.tolist(), "edges": one.edge_index.T.tolist()} for one in graphs]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = gsina("predict", "run", "new.jsonl", "-o", "out.csv", "--attention")
    assert done.exit_code == 0, done.output
    counts = assert_kept(tmp_path / "out.csv", "edge_weights")
    assert counts == [one.num_edges for one in graphs]  # this dataset has one direction of each


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ratio", 0.3), "got ratio 0.3 and budget 8.0; leave one out."),
        (("--ratio", "auto"), "got ratio auto and budget 8.0; leave one out."),
        (("--set", "ratio=0.3"), "got ratio 0.3 and budget 8.0; leave one out."),
        (("--method", "erm"), "method erm has no budget, got 8.0; leave it out, or use one that"),
    ],
)
@pytest.mark.parametrize("data", ["spmotif", "graphs.jsonl"])
def test_what_goes_with_no_budget_is_refused_in_one_sentence(
    gsina: Invoke, tmp_path: Path, data: str, options: tuple[object, ...], message: str
) -> None:
    (tmp_path / "graphs.jsonl").touch()
    done = gsina("train", data, "--budget", 8, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "erm" not in options or done.stderr.endswith("that has: gsina.\n")


def test_a_recipe_that_is_to_choose_a_ratio_has_no_budget(gsina: Invoke, tmp_path: Path) -> None:
    recipe = gsina(*SPMOTIF, "--ratio", "auto", "--show-recipe").output
    assert "auto_ratio = true" in recipe
    assert "ratio = 0.6" not in recipe  # the published one, which is not used
    both = recipe.replace('name = "gsina"', 'name = "gsina"\noptions = { budget = 8.0 }')
    (tmp_path / "both.toml").write_text(both)
    done = gsina("train", "--recipe", "both.toml")
    assert "got ratio auto and budget 8.0; leave one out." in done.stderr
