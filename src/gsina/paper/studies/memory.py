"""Peak memory of a training step, in bytes per edge, with and without recomputed states.

On a GPU its allocator knows the peak. On the CPU every operation is watched: what counts are the
tensors that are alive at the same time, beside the model and the batch, and not what operations
need inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from gsina.datasets.spmotif import generate
from gsina.display import markdown_table
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.nn.recompute import recomputed
from gsina.runs.provenance import provenance

#: What is measured: the method and its settings.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ERM": ("erm", {}),
    "GSAT": ("gsat", {}),
    "GSINA": ("gsina", {}),
    "GSINA, plain scorer": ("gsina", {"scorer": "plain"}),
}
BACKBONES = ("gin", "gcn", "pna")
HIDDEN, LAYERS = 64, 3
#: Graphs per class of the batch.
GRAPHS, QUICK_GRAPHS = 128, 8


def measure_memory(
    device: torch.device, *, quick: bool = False, tell: Callable[[str], object] = lambda line: None
) -> dict[str, Any]:
    """Bytes per edge at the peak of a training step of every method; the content of a file."""
    graphs = generate(0.5, "train", QUICK_GRAPHS if quick else GRAPHS, seed=0)
    batch = graphs.batch(torch.arange(len(graphs))).to(device)
    rows = []
    for backbone in BACKBONES:
        for label, (name, options) in METHODS.items():
            row: dict[str, Any] = {"backbone": backbone, "method": label}
            for column, again in (("bytes", False), ("bytes_recomputed", True)):
                sizes = {"hidden_channels": HIDDEN, "num_layers": LAYERS}
                spec = NetworkSpec(backbone, graphs.num_features, 1, sizes)
                method = build_method(name, spec, Task("multiclass", 3), options).to(device)
                row[column] = round(peak_bytes(method.train(), batch, again) / batch.num_edges)
            rows.append(row)
            tell(f"{backbone}, {label}: {row['bytes']:,} bytes per edge")
    size = {"graphs": len(graphs), "nodes": batch.num_nodes, "edges": batch.num_edges}
    sizes = {"hidden_channels": HIDDEN, "num_layers": LAYERS}
    return {"batch": size, "network": sizes, "rows": rows, **provenance(device)}


def memory_markdown(content: dict[str, Any]) -> str:
    """The table of a measurement, and what it is of."""
    heads = "network", "method", "bytes per edge", "with `--recompute`"
    rows = []
    for row in content["rows"]:
        plain, again = row["bytes"], row["bytes_recomputed"]
        cells = row["backbone"], row["method"], f"{plain:,}", f"{again:,} ({again / plain:.2f})"
        rows.append(cells)
    where, edges = content["hardware"]["device"], content["batch"]["edges"]
    table = markdown_table(heads, rows, numbers_from=2)
    return (
        f"{table}\nPeak of a training step on {where} with {edges:,} edges, beside model and batch."
    )


def peak_bytes(method: Method, batch: Batch, again: bool) -> int:
    """Most bytes that forward and backward pass hold at a time beside the model and the batch."""
    with recomputed(again):
        if batch.x.is_cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats(batch.x.device)
            before = torch.cuda.memory_allocated(batch.x.device)
            _pass(method, batch)
            return int(torch.cuda.max_memory_allocated(batch.x.device) - before)
        with _Watch() as watch:
            _pass(method, batch)
        return int(watch.peak)


def _pass(method: Method, batch: Batch) -> None:
    terms = method.loss(batch, 1)
    torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]


class _Watch(TorchDispatchMode):
    """Adds up the memory of all tensors that operations have made and that are still alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        given = {one.untyped_storage()._cdata for one in _tensors((args, kwargs))}
        for one in _tensors(made):
            storage = one.untyped_storage()
            if storage._cdata not in given:
                self.alive[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())  # type: ignore[no-untyped-call]
        self.alive = {
            key: (storage, size)
            for key, (storage, size) in self.alive.items()
            if not storage.expired()  # type: ignore[no-untyped-call]
        }
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return made


def _tensors(values: Any) -> list[torch.Tensor]:
    """All tensors that own memory; a sparse one is made of such."""
    found = [one for one in tree_flatten(values)[0] if isinstance(one, torch.Tensor)]
    return [one for one in found if one.layout is torch.strided]
