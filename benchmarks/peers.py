"""What the operator is measured against, written the straightforward way."""

from __future__ import annotations

import numpy as np
import ot
import torch
from torch import Tensor


def padded_loop(scores: Tensor, ratio: float, index: Tensor, graphs: int, sweeps: int) -> Tensor:
    """Sinkhorn on a padded plan, one graph after the other: rows, then columns, in the log domain.

    Args:
        scores: Scores ``[N]``.
        ratio: Share to keep.
        index: Graph of every score ``[N]``, ascending.
        graphs: Number of graphs.
        sweeps: Number of sweeps.

    Returns:
        Weights ``[N]``.
    """
    sizes = torch.bincount(index, minlength=graphs).tolist()
    plan = scores.new_full((graphs, 2, max(sizes)), -torch.inf)
    for graph, part in enumerate(torch.split(scores, sizes)):
        plan[graph, 0, : sizes[graph]] = -part
        plan[graph, 1, : sizes[graph]] = part
    kept = []
    for graph, size in enumerate(sizes):
        log_rows = torch.tensor([(1 - ratio) * size, ratio * size]).log().unsqueeze(1)
        log_plan = plan[graph, :, :size]
        for _ in range(sweeps):
            log_plan = log_plan - log_plan.logsumexp(1, keepdim=True) + log_rows
            log_plan = log_plan - log_plan.logsumexp(0, keepdim=True)
        kept.append(log_plan[1].exp())
    return torch.cat(kept)


def padded_batch(scores: Tensor, ratio: float, index: Tensor, graphs: int, sweeps: int) -> Tensor:
    """The same sweeps on the padded plans of all graphs at once; arguments as above."""
    sizes = torch.bincount(index, minlength=graphs)
    first = sizes.cumsum(0) - sizes
    place = torch.arange(index.numel()) - first[index]
    longest = int(sizes.max())
    padding = torch.arange(longest) >= sizes.unsqueeze(1)
    padded = scores.new_zeros(graphs, longest).index_put((index, place), scores)
    log_plan = torch.stack([-padded, padded], 1)
    log_rows = (sizes.view(-1, 1) * torch.tensor([1 - ratio, ratio])).log().unsqueeze(2)
    for _ in range(sweeps):
        rows = log_plan.masked_fill(padding.unsqueeze(1), -torch.inf).logsumexp(2, keepdim=True)
        log_plan = log_plan - rows + log_rows
        log_plan = log_plan - log_plan.logsumexp(1, keepdim=True)
    return log_plan[:, 1].exp()[index, place]


def transport(scores: Tensor, ratio: float, iterations: int = 1000) -> Tensor:
    """POT's entropic transport for one graph, to its own accuracy of 1e-9; weights ``[N]``."""
    cost = np.stack([scores.numpy(), -scores.numpy()])
    size = scores.numel()
    rows = np.array([1 - ratio, ratio])
    columns = np.full(size, 1 / size)
    plan = ot.sinkhorn(
        rows, columns, cost, 1.0, method="sinkhorn_log", numItermax=iterations, warn=False
    )
    return torch.from_numpy(plan[1] * size)
