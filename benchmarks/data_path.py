"""Making batches: gathers from packed storage against PyG's own DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch_geometric.loader import DataLoader

from benchmarks.report import Claim, Report, timing_table
from benchmarks.timing import Candidate, interleaved
from gsina.datasets import spmotif
from gsina.ops.edges import reverse_edges

BATCH = 128
OURS = "PackedGraphs.batches"
PEER = "PyG DataLoader"


def run(quick: bool) -> Report:
    graphs = spmotif.generate(0.5, "train", num_per_class=200 if quick else 3000)
    loader = DataLoader(graphs.to_pyg(), BATCH, shuffle=True)
    shuffle = torch.Generator().manual_seed(0)
    timings = interleaved(
        {
            OURS: _next(lambda: graphs.batches(BATCH, shuffle)),
            PEER: _next(lambda: iter(loader)),
            f"{PEER}, and the opposite of every edge": _with_reverse(loader),
        },
        3 if quick else 30,
    )
    title = f"a batch of {BATCH} of {len(graphs):,} SPMotif graphs, shuffled"
    faster = timings[PEER].median / timings[OURS].median
    claim = Claim(f"{PEER} takes so many times as long", faster, 5, at_least=True)
    return Report([timing_table(title, timings, OURS)], [claim])


def _next(epoch: Callable[[], Iterator[object]]) -> Candidate:
    """The next batch, epoch after epoch."""

    def forever() -> Iterator[object]:
        while True:
            yield from epoch()

    batches = forever()
    return lambda: next(batches)


def _with_reverse(loader: DataLoader) -> Candidate:
    """What our batches hold besides: the opposite of every edge."""
    following = _next(lambda: iter(loader))

    def call() -> object:
        batch = following()
        return reverse_edges(batch.edge_index, batch.num_nodes)  # type: ignore[attr-defined]

    return call
