"""Small runs, and comparing two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

#: A run of a second or two, with epochs long enough to be interrupted.
SMALL = ("train", "spmotif", "--data-option", "num_per_class=8", "--batch-size", 8)


def records(folder: Path) -> list[dict[str, Any]]:
    """The log of a run without the times."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [
        {name: value for name, value in record.items() if not name.startswith("seconds")}
        for record in found
    ]


def result(folder: Path) -> dict[str, Any]:
    """The result of a run."""
    return json.loads((folder / "result.json").read_text())


def assert_same_run(left: Path, right: Path) -> None:
    """Weights, log and metrics are equal bit for bit."""
    assert records(left) == records(right)
    for name in ("metrics", "best_epoch", "epochs", "recipe", "seed"):
        assert result(left)[name] == result(right)[name]
    weights, others = (load_file(out / "model" / "model.safetensors") for out in (left, right))
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)
