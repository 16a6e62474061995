"""Six short runs give the weights that they always gave.

The digests in ``kept_weights.json`` were taken before the package was rebuilt around one way to
run. They hold bit for bit on the processor and the torch that they were taken with; elsewhere
rounding differs, and the losses are compared instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gsina.models.folder import REFERENCE
from gsina.ops.compiled import torch_alone

KEPT = Path(__file__).with_name("kept_weights.json")
SMALL = ("--data-option", "num_per_class=8", "--batch-size", 8, "--epochs", 2)
SMILES = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "c1ccncc1", "CC#N", "C1CCCCC1", "CCS", "CO"]


def molecules(path: Path, numbers: bool) -> None:
    rows = [f"{'C' * (i // 10)}{text}" for i, text in enumerate(SMILES * 4)]
    labels = [
        f"{len(text) * 0.25 - i % 3:.2f}" if numbers else i % 2 for i, text in enumerate(rows)
    ]
    lines = [f"{text},{label}" for text, label in zip(rows, labels, strict=True)]
    path.write_text("\n".join(["smiles,target", *lines]) + "\n")


def nodes(folder: Path) -> None:
    table = [f"n{i},{i % 2},{(i * 7) % 5 - 2},{(i * 3) % 4}" for i in range(40)]
    edges = [f"n{i},n{(i * step + 1) % 40}" for i in range(40) for step in (1, 3)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,a,b", *table]) + "\n")
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")


#: The graph alone, as it was then.
TARGET = ("--target", "target", "--features", "none")
RUNS: dict[str, tuple[object, ...]] = {
    "spmotif-gsina": ("spmotif", "--bias", 0.5, "--method", "gsina", *SMALL),
    "spmotif-erm": ("spmotif", "--bias", 0.5, "--method", "erm", *SMALL),
    "spmotif-dir": ("spmotif", "--bias", 0.5, "--method", "dir", *SMALL),
    "molecules-classes": ("classes.csv", *TARGET, "--split", "random", "--epochs", 2),
    "molecules-numbers": ("numbers.csv", *TARGET, "--epochs", 2),
    "nodes": ("--nodes", "nodes.csv", "--edges", "edges.csv", "--epochs", 3),
}


def processor() -> str:
    """What rounding depends on: the processor, and the instructions that torch uses of it."""
    wanted = ("vendor_id", "cpu family", "model\t", "model name", "stepping")
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return ""
    named = [line.split(":")[1].strip() for line in lines if line.startswith(wanted)]
    return " ".join([*named, torch.backends.cpu.get_cpu_capability()])


def digest(weights: dict[str, torch.Tensor]) -> str:
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        found.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        found.update(value.numpy().tobytes())
    return found.hexdigest()


def measure(gsina: Callable[..., object], name: str, folder: Path) -> dict[str, object]:
    """Digest of the weights, and the training loss of every epoch."""
    molecules(folder / "classes.csv", numbers=False)
    molecules(folder / "numbers.csv", numbers=True)
    nodes(folder)
    with torch_alone():  # the compiled kernels round as their compiler likes
        gsina("train", *RUNS[name], "--out", "out")
    places = (folder / "out" / "model" / "model.safetensors", folder / "out" / "model.safetensors")
    found = load_file(next(path for path in places if path.exists()))
    weights = {name: value for name, value in found.items() if not name.startswith(REFERENCE)}
    log = (folder / "out" / "log.jsonl").read_text().splitlines()
    losses = [sum(json.loads(line)["train"].values()) for line in log]
    return {"digest": digest(weights), "losses": losses}


@pytest.mark.parametrize("name", RUNS)
def test_weights_are_what_they_were(name: str, gsina, tmp_path: Path) -> None:
    kept = json.loads(KEPT.read_text())
    found = measure(gsina, name, tmp_path)
    assert found["losses"] == pytest.approx(kept["runs"][name]["losses"], rel=1e-3)
    if (kept["processor"], kept["torch"]) == (processor(), torch.__version__):
        assert found["digest"] == kept["runs"][name]["digest"]
