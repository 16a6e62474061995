"""A user's graph in a file of tensors, on the command line."""

from __future__ import annotations

import json

import torch

from gsina.runs.recipe import Recipe


def test_split_by_time_and_options_that_do_not_fit(gsina, tmp_path):
    """An option that cannot be followed is refused, not left out."""
    torch.manual_seed(0)
    tensors = {"x": torch.randn(60, 3), "edge_index": torch.randint(0, 60, (2, 150))}
    tensors |= {"y": torch.arange(60) % 2, "year": torch.arange(60).flip(0)}
    torch.save(tensors, tmp_path / "a.pt")
    done = gsina("train", "a.pt", "--time", "year", "--epochs", 1, "--out", "run")
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["recipe"]["data"]["options"] == {"time": "year"}
    assert result["shifted"]
    for options, said in (
        (["--time", "yaer"], "did you mean 'year'"),
        (["--split", "random"], "--split cannot be used with a file of tensors"),
        (["--directed"], "--directed cannot be used with a file of tensors"),
        (["--split-column", "year"], "--split-column cannot be used with a file of tensors"),
    ):
        done = gsina("train", "a.pt", *options, "--out", "other")
        assert done.exit_code == 2, done.output
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_sampled_neighbours(gsina, tmp_path):
    lines, pairs = ["id,a,label"], ["source,target"]
    for node in range(60):
        lines.append(f"n{node},{node % 2},{'xy'[node % 2]}")
        pairs += [f"n{node},n{(node + step) % 60}" for step in (2, 4, 7)]
    (tmp_path / "nodes.csv").write_text("\n".join(lines))
    (tmp_path / "edges.csv").write_text("\n".join(pairs))
    tables = ("train", "--nodes", "nodes.csv", "--edges", "edges.csv", "--epochs", 2)
    done = gsina(*tables, "--neighbours", "3,2", "--batch-size", 16, "--out", "run")
    assert done.exit_code == 0, done.output
    noted = Recipe.read(tmp_path / "run" / "recipe.toml").optimiser
    assert (noted.neighbours, noted.batch_size) == ((3, 2), 16)
    done = gsina(*tables, "--neighbours", "3;2", "--out", "other")
    assert done.stderr == "error: --neighbours needs whole numbers such as 1,2,3, got '3;2'.\n"


def test_nodes_without_labels_are_predicted(gsina, tmp_path):
    torch.manual_seed(0)
    tensors = {"x": torch.randn(40, 3), "edge_index": torch.randint(0, 40, (2, 90))}
    torch.save(tensors, tmp_path / "new.pt")
    torch.save(tensors | {"y": torch.arange(40) % 2}, tmp_path / "old.pt")
    assert gsina("train", "old.pt", "--epochs", 1, "--out", "run").exit_code == 0
    for name in ("old", "new"):
        done = gsina("predict", "run", f"{name}.pt", "-o", f"{name}.csv")
        assert done.exit_code == 0, done.output
    assert (tmp_path / "new.csv").read_text() == (tmp_path / "old.csv").read_text()
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 41
    torch.save({"edge_index": tensors["edge_index"]}, tmp_path / "bare.pt")
    done = gsina("predict", "run", "bare.pt", "-o", "bare.csv")
    assert "bare.pt has no x but edge_index; add x (the features of every node" in done.stderr
