"""Settings and graphs that an attention accepts, and one sentence for what it does not."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from gsina.errors import InputError, check_name
from gsina.ops.checks import MOST_GROUPS
from gsina.ops.soft_top_r import check_regulariser

Transport = Literal["exact", "padded"]
TRANSPORTS = ("exact", "padded")


#: Scores in units of a temperature below this one are beyond what the solver keeps exact.
LEAST_TEMPERATURE = 1e-9
#: Sweeps of ``sinkhorn``, which have long converged: a model that asks for more would never answer.
MOST_ITERATIONS = 100_000


def check_numbers(temperature: float, noise: float, iterations: int) -> None:
    """Refuse settings of :class:`~gsina.nn.GraphSinkhornAttention` that are out of range."""
    if not temperature > 0:
        raise InputError(f"temperature must be above 0, got {temperature}.")
    if temperature < LEAST_TEMPERATURE:
        raise InputError(
            f"temperature must be at least {LEAST_TEMPERATURE:g}, as weights below are not "
            f"exact, got {temperature}; for weights of 0 and 1 take hard_top_r."
        )
    if not noise >= 0:
        raise InputError(f"noise must be 0 or more, got {noise}.")
    if not 1 <= iterations <= MOST_ITERATIONS:
        raise InputError(f"iterations must be 1 to {MOST_ITERATIONS:,}, got {iterations}.")


def check_transport(transport: str, regulariser: str, solver: str) -> None:
    """Refuse a transport, regulariser or solver that is not known, or not for the others."""
    check_regulariser(regulariser, solver)
    if check_name(transport, TRANSPORTS, "transport") == "padded" and regulariser != "entropic":
        raise InputError(
            f"transport 'padded' is for the entropic regulariser, got {regulariser!r}; use "
            "transport='exact'."
        )


def check_graph(
    h: Tensor, edge_index: Tensor, batch: Tensor | None, num_graphs: int | None
) -> None:
    """Refuse what would end in an error of torch, or silently in nonsense."""
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.long:
        raise InputError(
            f"edge_index must be int64 of shape [2, E], got {edge_index.dtype} of shape "
            f"{list(edge_index.shape)}."
        )
    if batch is not None and (batch.dtype != torch.long or batch.shape != h.shape[:1]):
        raise InputError(
            f"batch must be int64 with one graph per node, shape [{h.size(0)}], got {batch.dtype} "
            f"of shape {list(batch.shape)}."
        )
    if batch is not None and batch.numel():
        low, high = (int(bound) for bound in batch.aminmax())
        most = MOST_GROUPS * (batch.numel() + 1) if num_graphs is None else num_graphs
        if low < 0 or high >= most:
            raise InputError(
                f"batch must number the graphs from 0 to {most - 1}, got values from {low} to "
                f"{high}; torch.unique(ids, return_inverse=True)[1] numbers graphs with other ids."
            )
    if edge_index.numel() and bool(((edge_index < 0) | (edge_index >= h.size(0))).any()):
        raise InputError(
            f"edge_index must lie in 0 .. {h.size(0) - 1}, got values from {int(edge_index.min())} "
            f"to {int(edge_index.max())}."
        )
    if batch is not None and not torch.equal(*batch[edge_index]):
        raise InputError("an edge joins two graphs; both its ends must have the same batch number.")
    if not bool(h.isfinite().all()):
        raise InputError("node embeddings must be finite, got NaN or infinite values.")


def check_lowest_ratio(lowest: float | None, scope: str) -> float | None:
    """The least share that training may draw; refuse what is none, or has no graphs to differ."""
    if lowest is not None:
        if not 0 < lowest <= 1:
            raise InputError(f"lowest_ratio must lie in (0, 1], got {lowest}.")
        if scope != "graph":
            raise InputError(
                f"got lowest_ratio={lowest} with scope={scope!r}, but shares are drawn per graph; "
                "take scope='graph', or leave lowest_ratio out."
            )
    return lowest


def check_expected(expected: bool, transport: str, regulariser: str) -> bool:
    """Whether evaluation makes up for the noise; refuse it where its temperature does not."""
    if expected and (transport, regulariser) != ("exact", "entropic"):
        raise InputError(
            f"expected=True is for the entropic regulariser and the exact transport, got "
            f"{regulariser!r} and {transport!r}; leave it out."
        )
    return expected


def check_scores(scores: Tensor) -> None:
    """Refuse scores that are not finite, of embeddings that are."""
    if not bool(scores.isfinite().all()):
        raise InputError(
            "the scores of the edges are not finite although the node embeddings are; the "
            "parameters of this attention hold NaN or infinite values, or are far too large."
        )


def check_reverse(reverse: Tensor | str | None, edge_index: Tensor) -> None:
    """Refuse what does not pair edges with their opposites."""
    advice = "leave it out, or take it from gsina.ops.reverse_edges(edge_index, num_nodes)."
    if isinstance(reverse, str):
        if reverse != "find":
            raise InputError(f"reverse must be 'find', None or a tensor, got {reverse!r}; {advice}")
        return
    if reverse is None:
        return
    edges = edge_index.size(1)
    if reverse.dtype != torch.long or reverse.shape != (edges,):
        raise InputError(
            f"reverse must be int64 of shape [{edges}], one per edge, got {reverse.dtype} of shape "
            f"{list(reverse.shape)}; {advice}"
        )
    position = torch.arange(edges, device=reverse.device)
    known = (reverse >= 0) & (reverse < edges)
    partner = torch.where(known, reverse, position)
    pairs = known & (partner.index_select(0, partner) == position)
    opposite = (edge_index.index_select(1, partner) == edge_index.flip(0)).all(0)
    if not bool((pairs & (opposite | (partner == position))).all()):
        raise InputError(f"reverse must pair edges with their opposites, and does not; {advice}")
