"""ogbn-arxiv by year: papers and their citations; what is the subject of the newest ones?

Hu et al., "Open Graph Benchmark", 2020; with a shift of time in EERM (Wu et al. 2022). A window of
years (a, b] is the graph of all papers up to year b, of which those after year a are scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.nodes.whole_graphs import check_ids, induced, node_archive, pack, stamp
from gsina.datasets.raw.compressed_files import read_gzip
from gsina.datasets.raw.number_files import read_column, read_table
from gsina.datasets.raw.sources import OnProgress, RawFile
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task

VERSION = 1
ARCHIVE = RawFile("ogb/arxiv.zip", "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip")
PARTS = ("edge", "node-feat", "node-label", "node_year", "num-node-list", "num-edge-list")
FILES = {part: RawFile(f"ogb/ogbn_arxiv/raw/{part}.csv.gz") for part in PARTS}
CLASSES = 40
#: Years (a, b] of each split.
WINDOWS = {
    "train": (1950, 2011),
    "val": (2011, 2014),
    "test-2014-2016": (2014, 2016),
    "test-2016-2018": (2016, 2018),
    "test-2018-2020": (2018, 2020),
}


def load(*, undirected: bool = False, progress: OnProgress | None = None) -> Dataset:
    """Load ogbn-arxiv in windows of years.

    Args:
        undirected: Add the opposite of every citation; the benchmark goes from the citing paper to
            the cited one only.
        progress: Called during a download.

    Returns:
        ``train``, ``val`` and ``test-2014-2016``, ``-2016-2018``, ``-2018-2020``; one graph each,
        ``x`` float ``[N, 128]``, ``node_y`` int64 ``[N]`` and the ``mask`` of scored papers.
    """
    node_archive(ARCHIVE, {f"raw/{part}.csv.gz": file for part, file in FILES.items()}, progress)
    dataset = cached(f"ogbn-arxiv-v{VERSION}-{stamp(list(FILES.values()))}", _prepare)
    return dataset.to_undirected() if undirected else dataset


def windows(year: NDArray[np.int64]) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """For each split, which papers ``[N]`` are in its graph and which of all are scored."""
    return {
        split: (year <= last, (year <= last) & (year > first))
        for split, (first, last) in WINDOWS.items()
    }


def _prepare() -> Dataset:
    papers, citations = (_count("num-node-list"), _count("num-edge-list"))
    x, edges = _table("node-feat", papers, np.float32), _table("edge", citations)
    label = torch.from_numpy(_table("node-label", papers)[:, 0])
    year = _table("node_year", papers)[:, 0]
    check_ids(edges, papers, FILES["edge"].target)
    task = Task("multiclass", CLASSES, level="node")
    task.check(label, str(FILES["node-label"].target))
    splits = {}
    for number, (split, (kept, scored)) in enumerate(windows(year).items()):
        if not scored.any():
            raise InputError(
                f"{FILES['node_year'].target} has no paper for {split}, years {WINDOWS[split]}; it "
                f"is altered: delete it and fetch it again from {ARCHIVE.url}."
            )
        graph = induced(x, edges, label, kept, torch.from_numpy(scored))
        splits[split] = pack([graph], [number])
    return Dataset("ogbn-arxiv", task, splits)


def _count(part: str) -> int:
    return int(read_column(*_text(part), rows=1)[0])


def _text(part: str) -> tuple[bytes, str]:
    path = FILES[part].target
    return read_gzip(path), str(path)


def _table(part: str, rows: int, dtype: type[Any] = np.int64) -> NDArray[Any]:
    return read_table(*_text(part), dtype, rows=rows)
