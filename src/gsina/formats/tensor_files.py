"""One graph with labelled nodes from a file of tensors, as PyG's ``Data.to_dict()`` has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gsina.errors import InputError, MissingFileError, check_name
from gsina.files import load_tensors
from gsina.formats.assemble import NodeGraph, assemble, file_name
from gsina.formats.table import fingerprint
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.labels import Labels, TargetKind, read_labels
from gsina.graphs.masks import NODE_SHARES, by_environment, check_apart
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_rules import Parts, at_random, by_order, times
from gsina.graphs.splits import finish

HOW = "save it with torch.save(data.to_dict(), path) or safetensors.torch.save_file"
#: What a file must have, and what each is.
NEEDED = {
    "edge_index": "whole numbers [2, E], the nodes that each edge joins",
    "y": "the label of every node [N], -1 or NaN where it is not known",
}
#: What a tensor may be, and as what it is read: torch does not compute with all of them.
KINDS = {
    kind: kind
    for kind in (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    )
}
KINDS |= dict.fromkeys((torch.uint16, torch.uint32, torch.uint64), torch.int64)
KINDS |= dict.fromkeys((torch.float8_e4m3fn, torch.float8_e5m2), torch.float32)
#: Most bytes of a tensor whose numbers are repeated by strides, and not in the file each.
MOST_REPEATED = 1 << 26
MASKS = ("train", "val", "test", "id_test")


def read_data_file(
    path: Path | str,
    *,
    environment: str | None = None,
    time: str | None = None,
    kind: TargetKind = "auto",
    seed: int = 0,
) -> Dataset:
    """Read one graph whose nodes have labels.

    Tensors by name: ``edge_index`` ``[2, E]`` and ``y`` ``[N]`` or ``[N, T]`` (a whole number below
    0, or NaN, is a missing label); ``x`` ``[N, F]``, ``edge_attr`` ``[E, D]``, and ``train_mask``,
    ``val_mask``, ``test_mask`` and ``id_test_mask`` ``[N]`` where they exist. Without masks, nodes
    are split at random. ``environment`` or ``time`` splits by another tensor ``[N]`` instead, as
    :func:`~gsina.formats.read_nodes` does. The edges are kept as they are. Nothing in the file is
    executed.

    Args:
        path: A ``.safetensors`` file, or one that ``torch.save`` made of a dict of tensors.
        environment: Name of a tensor of environments ``[N]``.
        time: Name of a tensor of times ``[N]``.
        kind: ``classification`` or ``regression``; ``auto`` decides by the values.
        seed: Seed of the draws.
    """
    path = Path(path)
    tensors = _tensors(path)
    _check_there(tensors, NEEDED, path)
    y = tensors["y"]
    if y.dim() not in (1, 2) or not y.numel():
        raise InputError(f"{path.name}: y is {list(y.shape)}; expected one label per node, [N].")
    count = len(y)
    graphs = _graph(tensors, count, path)
    names = [str(node) for node in range(count)]
    rows = range(1, count + 1)
    labels = read_labels(_cells(y), rows, kind=kind, level="node")
    parts, rule, column = _parts(tensors, labels, environment, time, seed, path)
    split = finish(parts, labels, rule=rule, column=column, seed=seed, shares=NODE_SHARES)
    return assemble(
        file_name(path),
        graphs,
        labels,
        split,
        names=names,
        rows=rows,
        origin=Origin(
            reading={"kind": "nodes", "version": 1},
            file=path.name,
            fingerprint=fingerprint(path),
        ),
    )


def read_graph_file(path: Path | str) -> PackedGraphs:
    """Read one graph without labels, for instance to predict; see :func:`read_data_file`.

    Raises:
        InputError: There is neither ``x`` nor ``y`` to count the nodes by, or the file is not a
            file of tensors.
    """
    path = Path(path)
    tensors = _tensors(path)
    counted = next((name for name in ("x", "y") if name in tensors), "x")
    _check_there(tensors, ("edge_index", counted), path)
    if not tensors[counted].dim():
        raise InputError(f"{path.name}: {counted} is a single number; expected a row per node.")
    return _graph(tensors, len(tensors[counted]), path)


def read_again(files: Sequence[Path], reading: dict[str, Any], names: str | None) -> NodeGraph:
    """The graph of a new file of tensors; its nodes are named by their numbers."""
    if len(files) != 1:
        raise InputError("this model was trained on a file of tensors; give one such file.")
    graphs = read_graph_file(files[0])
    numbers = tuple(str(node) for node in range(graphs.x.size(0)))
    return NodeGraph(graphs, numbers, table=({"id": name} for name in numbers))


def reading_of(dataset: Dataset) -> dict[str, Any] | None:
    """How to read a file of tensors, if node features are plain numbers."""
    if dataset.task.level != "node" or dataset.node_sizes or dataset.edge_sizes:
        return None
    return {"kind": "nodes", "version": 1}


def _check_there(tensors: dict[str, Tensor], needed: Iterable[str], path: Path) -> None:
    for name in needed:
        if name not in tensors:
            raise InputError(
                f"{path.name} has no {name} but {', '.join(sorted(tensors)) or 'nothing'}; add "
                f"{name} ({NEEDED.get(name, 'the features of every node [N, F]')}) and {HOW}."
            )


def _graph(tensors: dict[str, Tensor], count: int, path: Path) -> PackedGraphs:
    x = _features(tensors.get("x"), count, path)
    edge_index = _edges(tensors["edge_index"], count, path)
    return PackedGraphs.one(x, edge_index, _edge_features(tensors, edge_index.size(1), path))


def _tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise MissingFileError(f"there is no file {path}; check the path.")
    if path.suffix == ".safetensors":
        found: object = load_tensors(path)[0]
    else:
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except (OSError, MemoryError):
            raise
        except Exception as error:  # Broken files raise whatever their garbage leads to.
            raise InputError(
                f"{path.name} is not a file of tensors that can be read without running code; "
                f"{HOW}."
            ) from error
    if not isinstance(found, dict):
        raise InputError(f"{path.name} holds a {type(found).__name__}, expected a dict; {HOW}.")
    size = path.stat().st_size
    return {
        str(name): _plain(f"{path.name}: {name}", value.detach(), size)
        for name, value in found.items()
        if isinstance(value, Tensor)
    }


def _plain(name: str, value: Tensor, size: int) -> Tensor:
    """A tensor as one of the kinds that torch computes with; ``size`` is that of its file."""
    memory = value.is_cpu and not value.is_nested and value.layout == torch.strided
    if value.is_quantized or not memory or value.dtype not in KINDS:
        kind = f"{'quantised' if value.is_quantized else value.layout}, {value.dtype}"
        raise InputError(
            f"{name} is of another kind ({kind} on {value.device}); expected plain numbers: "
            "convert it with to_dense(), dequantize() or abs()."
        )
    if value.numel() * value.element_size() > max(size, MOST_REPEATED):
        raise InputError(
            f"{name} is {list(value.shape)}, far larger than its file of {size:,} bytes; save the "
            "numbers themselves, and not a view that repeats them."
        )
    return value.to(KINDS[value.dtype])


def _features(x: Tensor | None, count: int, path: Path) -> Tensor:
    if x is None:
        return torch.ones(count, 1)
    x = (x[:, None] if x.dim() == 1 else x).float()
    if x.dim() != 2 or len(x) != count or not x.size(1):
        raise InputError(
            f"{path.name}: x is {list(x.shape)} but y has {count} labels; expected a row of x [N, "
            "F] and a label for every node (-1 or NaN where it is not known)."
        )
    wrong = ~x.isfinite().all(dim=1)
    if bool(wrong.any()):
        node = int(wrong.nonzero()[0])
        raise InputError(f"{path.name}: x of node {node} is not finite; fill in missing features.")
    return x


def _edge_features(tensors: dict[str, Tensor], count: int, path: Path) -> Tensor | None:
    attr = tensors.get("edge_attr")
    if attr is None:
        return None
    attr = (attr[:, None] if attr.dim() == 1 else attr).float()
    if attr.dim() != 2 or len(attr) != count or not bool(attr.isfinite().all()):
        raise InputError(
            f"{path.name}: edge_attr is {list(attr.shape)}; expected a row of finite numbers for "
            f"each of {count} edges [E, D]."
        )
    return attr if attr.size(1) else None


def _edges(edge_index: Tensor, count: int, path: Path) -> Tensor:
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(f"{path.name}: edge_index is {list(edge_index.shape)}; expected [2, E].")
    if edge_index.size(1) == 0:
        raise InputError(
            f"{path.name} has no edges; add a column to edge_index for each, with the numbers of "
            "the two nodes that it joins."
        )
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise InputError(
            f"{path.name}: edge_index is {edge_index.dtype}; expected whole numbers of nodes: "
            "convert it with edge_index.long()."
        )
    edge_index = edge_index.long()
    outside = ((edge_index < 0) | (edge_index >= count)).any(dim=0)
    if bool(outside.any()):
        edge = int(outside.nonzero()[0])
        raise InputError(
            f"{path.name}: edge {edge} joins {edge_index[:, edge].tolist()}; expected nodes 0 to "
            f"{count - 1}, as there are {count} nodes."
        )
    return edge_index


def _cells(y: Tensor) -> dict[str, list[str]]:
    """Labels as the text of cells, one column per target."""
    columns = (y[:, None] if y.dim() == 1 else y).t()
    names = ["y"] if len(columns) == 1 else [f"y {i}" for i in range(1, len(columns) + 1)]
    missing = (columns < 0) if not y.is_floating_point() else columns.isnan()
    return {
        name: ["" if gone else str(value) for value, gone in zip(column, empty, strict=True)]
        for name, column, empty in zip(names, columns.tolist(), missing.tolist(), strict=True)
    }


def _parts(
    tensors: dict[str, Tensor],
    labels: Labels,
    environment: str | None,
    time: str | None,
    seed: int,
    path: Path,
) -> tuple[Parts, str, str | None]:
    """Nodes of every split, the rule that divides them, and the tensor that it reads."""
    rows = range(1, len(labels.y) + 1)
    if environment is not None and time is not None:
        raise InputError(
            f"got {environment!r} and {time!r} to split by; expected one of environment and time."
        )
    if environment is not None:
        cells = _values(tensors, environment, len(rows), path)
        return by_environment(cells, environment), "environment", environment
    if time is not None:
        keys = times(_values(tensors, time, len(rows), path), rows, time)
        return by_order(keys, NODE_SHARES), "time", time
    found = _masks(tensors, len(rows), path)
    if not found:
        return at_random(labels, seed, NODE_SHARES), "random", None
    if missing := [part for part in ("train", "test") if part not in found]:
        raise InputError(
            f"{path.name} has masks but no {missing[0]}_mask; add one, bool [{len(rows)}] and true "
            f"for the nodes to {missing[0]} on, or leave all masks out for a random split."
        )
    return {"val": np.zeros(0, dtype=np.int64)} | found, "own", None


def _values(tensors: dict[str, Tensor], name: str, count: int, path: Path) -> list[str]:
    """A tensor to split by as the text of cells, one per node."""
    check_name(name, tensors, f"tensor of {path.name}")
    values = tensors[name]
    if values.shape != (count,) or not bool(values.isfinite().all()):
        raise InputError(
            f"{path.name}: {name} is {values.dtype} {list(values.shape)}; expected a number for "
            f"each of {count} nodes, none of them missing."
        )
    return [str(value) for value in values.tolist()]


def _masks(tensors: dict[str, Tensor], count: int, path: Path) -> Parts:
    """Nodes in the masks that the file has; a node may be in one of them only."""
    masks = {}
    for part in MASKS:
        mask = tensors.get(f"{part}_mask")
        if mask is None:
            continue
        if mask.shape != (count,) or mask.dtype != torch.bool:
            raise InputError(
                f"{path.name}: {part}_mask is {mask.dtype} {list(mask.shape)}; expected bool "
                f"[{count}]: choose one column if it has several."
            )
        masks[part] = mask
    check_apart(masks, f"{path.name}: ")
    return {part: mask.nonzero().flatten().numpy() for part, mask in masks.items()}
