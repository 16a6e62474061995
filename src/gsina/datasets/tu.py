"""Reader of the TU text format, any dataset of the collection.

Morris et al., "TUDataset: A collection of benchmark datasets for learning with graphs", 2020.
A zip archive holds ``<NAME>_A.txt`` (pairs of node numbers, from 1 through all graphs),
``<NAME>_graph_indicator.txt`` (graph of each node) and, where they exist, labels and attributes of
graphs, nodes and edges, one line each. The archive is read in memory and never unpacked to disk.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.datasets.raw.number_files import read_table
from gsina.datasets.raw.sources import RawFile
from gsina.errors import InputError
from gsina.graphs.packed import PackedGraphs, offsets

URL = "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip"
#: Archives in the format of the collection that are kept elsewhere.
ELSEWHERE = {
    "Mutagenicity_edge_gt": "https://github.com/flyingdoog/PGExplainer/raw/master/dataset/"
    "Mutagenicity.zip"
}
#: An archive that claims to unpack to more is refused; the largest of the collection has 3 GiB.
LARGEST = 1 << 33
#: Cells of a one-hot table that still fit into memory (4 GiB).
MOST_CELLS = 1 << 30


@dataclass(frozen=True)
class TUData:
    """What one archive holds.

    Attributes:
        name: Name of the dataset, as in its file names.
        graphs: The graphs; see :func:`read_archive`.
        classes: The graph label of the file for each class 0, 1, ...; empty without labels.
        extra: Further columns that were asked for, one row per edge, in the order of the edges.
    """

    name: str
    graphs: PackedGraphs
    classes: tuple[int, ...]
    extra: dict[str, Tensor]

    @property
    def notes(self) -> tuple[str, ...]:
        """How graph labels of the file became classes."""
        if not self.classes:
            return ()
        pairs = ", ".join(f"{label} -> {number}" for number, label in enumerate(self.classes))
        return (f"graph labels of the file became classes: {pairs}",)


def tu_file(name: str) -> RawFile:
    """The archive of a dataset of the collection."""
    if not re.fullmatch(r"[\w.()+-]+", name):
        raise InputError(
            f"{name!r} cannot be the name of a TU dataset; expected letters, digits, - and _."
        )
    return RawFile(f"tu/{name}.zip", ELSEWHERE.get(name, URL.format(name=name)))


def read_archive(path: Path, extra: Sequence[str] = ()) -> TUData:
    """Read a TU archive together with further edge columns, such as ``edge_gt``.

    * ``x``: node attributes, then node labels as one-hot columns, one for each number from the
      least label to the greatest (as PyG has them); a constant 1 if there are neither.
    * ``edge_attr``: edge attributes, then edge labels in the same way.
    * ``y``: classes 0 .. C-1 in ascending order of the file's labels, int64 ``[G]``; or graph
      attributes, float ``[G, K]``, where there are no labels.

    Edges are kept as they are in the file (mostly both directions), ordered by graph.

    Raises:
        InputError: If the archive is broken, a file is missing, or files contradict each other.
    """
    name, texts = _texts(path)
    missing = [part for part in ("A", "graph_indicator", *extra) if part not in texts]
    if missing:
        raise InputError(
            f"{path} has no {name}_{missing[0]}.txt; expected a TU archive: fetch it again."
        )

    def table(part: str, rows: int | None = None, dtype: type[Any] = np.int64) -> NDArray[Any]:
        return read_table(texts[part], f"{path}: {name}_{part}.txt", dtype, rows=rows)

    node_graph = table("graph_indicator")[:, 0] - 1
    edges = table("A") - 1
    nodes, num_graphs = len(node_graph), int(node_graph.max()) + 1
    classes: tuple[int, ...] = ()
    y: Tensor | None = None
    if "graph_labels" in texts:
        labels, number = np.unique(table("graph_labels", num_graphs)[:, 0], return_inverse=True)
        classes, y = tuple(labels.tolist()), torch.from_numpy(number)
    elif "graph_attributes" in texts:
        y = torch.from_numpy(table("graph_attributes", num_graphs, np.float32))

    if edges.shape[1] != 2 or edges.min() < 0 or edges.max() >= nodes or node_graph.min() < 0:
        raise InputError(
            f"{path}: {name}_A.txt points to nodes outside 1 .. {nodes}; the archive is truncated "
            f"or altered: fetch it again."
        )
    edge_graph = node_graph[edges[:, 0]]
    if (edge_graph != node_graph[edges[:, 1]]).any():
        raise InputError(f"{path}: {name}_A.txt has an edge between two graphs: fetch it again.")

    # Files are mostly in order of the graphs already; a stable sort keeps them as they are.
    node_order, edge_order = (np.argsort(part, kind="stable") for part in (node_graph, edge_graph))
    node_ptr = offsets(torch.from_numpy(np.bincount(node_graph, minlength=num_graphs)))
    place = np.empty_like(node_order)
    place[node_order] = np.arange(nodes)
    local = place[edges] - node_ptr.numpy()[edge_graph][:, None]

    x = _features(texts, "node", nodes, table)
    edge_attr = _features(texts, "edge", len(edges), table)
    return TUData(
        name=name,
        graphs=PackedGraphs(
            x=torch.ones(nodes, 1) if x is None else x[node_order],
            edge_index=torch.from_numpy(local[edge_order].T.copy()),
            node_ptr=node_ptr,
            edge_ptr=offsets(torch.from_numpy(np.bincount(edge_graph, minlength=num_graphs))),
            y=y,
            edge_attr=None if edge_attr is None else edge_attr[edge_order],
        ),
        classes=classes,
        extra={part: torch.from_numpy(table(part, len(edges))[edge_order, 0]) for part in extra},
    )


def _texts(path: Path) -> tuple[str, dict[str, bytes]]:
    """Name of the dataset in an archive, and the content of its text files by their last part."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename.rsplit("/", 1)[-1]: info for info in archive.infolist()}
            names = [name.removesuffix("_A.txt") for name in infos if name.endswith("_A.txt")]
            if len(names) != 1:
                raise InputError(
                    f"{path} has {len(names)} files that end in _A.txt; expected one, as in a "
                    f"TU archive: fetch it again."
                )
            prefix = f"{names[0]}_"
            ours = {
                name.removeprefix(prefix).removesuffix(".txt"): info
                for name, info in infos.items()
                if name.startswith(prefix) and name.endswith(".txt")
            }
            size = sum(info.file_size for info in ours.values())
            if size > LARGEST:
                raise InputError(
                    f"{path} would unpack to {size} bytes; expected at most {LARGEST}."
                )
            return names[0], {part: archive.read(info) for part, info in ours.items()}
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} is not a complete zip archive ({error}); delete it and fetch it again."
        ) from error


def _features(
    texts: dict[str, bytes], what: str, rows: int, table: Callable[..., NDArray[Any]]
) -> Tensor | None:
    """Attributes and one-hot labels of nodes or edges ``[rows, F]``."""
    columns = []
    if f"{what}_attributes" in texts:
        columns.append(torch.from_numpy(table(f"{what}_attributes", rows, np.float32)))
    if f"{what}_labels" in texts:
        for labels in table(f"{what}_labels", rows).T:
            number = labels - labels.min()
            width = int(number.max()) + 1
            if rows * width > MOST_CELLS:
                raise InputError(
                    f"the {what} labels would take {width} one-hot columns of {rows} rows; "
                    f"expected at most {MOST_CELLS} cells: use a dataset with fewer labels."
                )
            place = torch.from_numpy(number)[:, None]
            columns.append(torch.zeros(rows, width).scatter_(1, place, 1.0))
    return torch.cat(columns, dim=1) if columns else None
