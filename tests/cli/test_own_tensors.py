"""A user's graph in a file of tensors, on the command line."""

from __future__ import annotations

import json

import torch


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
