"""Mini-batches of large graphs: some nodes, and a sample of the edges that lead to them.

A batch holds as many seed nodes as asked for, which alone count in the loss, and for every hop at
most so many incoming edges of each node that is reached. What holds for a batch of graphs holds for
such a subgraph: the ratio of the attention is that of its edges, and a budget in edges is one per
subgraph.

``pyg-lib`` samples where it is installed; otherwise a few tensor operations do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.graphs.batch import Batch
from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs
from gsina.ops.adjacency import SortedEdges, adjacency
from gsina.ops.edges import reverse_edges
from gsina.ops.host import widest
from gsina.ops.ragged import gather_groups

#: Numbers of the edges, ascending, that are sampled for some seed nodes.
Sampler = Callable[[Tensor], Tensor]


def count_seeds(graphs: PackedGraphs) -> int:
    """Number of nodes that count in the loss."""
    return graphs.x.size(0) if graphs.mask is None else int(graphs.mask.sum())


def sampled_batches(
    graphs: PackedGraphs, size: int, neighbours: Sequence[int], generator: torch.Generator
) -> Iterator[Batch]:
    """All nodes that count in the loss, shuffled, in batches of ``size`` with sampled surroundings.

    Args:
        graphs: Graphs with labels of nodes.
        size: Seed nodes per batch.
        neighbours: Most incoming edges of a node in every hop, such as ``[10, 10]``; -1 for all.
        generator: Shuffles and samples.
    """
    if graphs.node_y is None:
        raise InputError(
            "neighbours are sampled for graphs with labels of nodes, and these have none; leave "
            "`neighbours` out to train on batches of whole graphs."
        )
    if size < 1 or not neighbours or any(limit == 0 or limit < -1 for limit in neighbours):
        raise InputError(
            f"expected a positive batch size and at least one hop of positive numbers (or -1 for "
            f"all edges), got {size} and {list(neighbours)}."
        )
    full = graphs.batch(range(len(graphs)))
    device = full.x.device
    seeds = torch.arange(full.num_nodes, device=device)
    seeds = seeds if full.mask is None else full.mask.nonzero().flatten()
    seeds = seeds[torch.randperm(seeds.numel(), generator=generator).to(device)]
    sample = make_sampler(full, neighbours, generator)
    for start in range(0, seeds.numel(), size):
        chosen = seeds[start : start + size]
        yield subgraph(full, chosen, sample(chosen))


def make_sampler(full: Batch, neighbours: Sequence[int], generator: torch.Generator) -> Sampler:
    """A sampler: of ``pyg-lib`` if it is installed, which draws from torch's default generator."""
    from torch_geometric.typing import WITH_PYG_LIB

    if WITH_PYG_LIB:
        return _pyg_sampler(full, neighbours)
    edges = adjacency(full.edge_index, full.num_nodes).by_target
    return lambda seeds: sample_edges(edges, seeds, neighbours, generator)


def _pyg_sampler(full: Batch, neighbours: Sequence[int]) -> Sampler:
    from torch_geometric.data import Data
    from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

    data = Data(edge_index=full.edge_index, num_nodes=full.num_nodes)
    sampler = NeighborSampler(data, list(neighbours))
    order = sampler.edge_permutation

    def sample(seeds: Tensor) -> Tensor:
        edges = sampler.sample_from_nodes(NodeSamplerInput(None, seeds)).edge
        found: Tensor = (edges if order is None else order[edges]).sort().values
        return found

    return sample


def sample_edges(
    edges: SortedEdges, seeds: Tensor, neighbours: Sequence[int], generator: torch.Generator
) -> Tensor:
    """Edges that lead to the seeds, to their sources, and so on, each node's drawn once.

    Args:
        edges: The edges of the graph by target.
        seeds: Nodes to start from ``[S]``.
        neighbours: Most incoming edges of a node in every hop; -1 for all.
        generator: Draws them, without replacement.

    Returns:
        Numbers of the edges ``[M]``, ascending.
    """
    device = edges.starts.device
    reached = torch.zeros(edges.starts.numel() - 1, dtype=torch.bool, device=device)
    reached[seeds] = True
    frontier, found = seeds, []
    for limit in neighbours:
        picked = _pick(edges.starts, frontier, limit, generator)
        found.append(edges.order[picked].long())
        sources = edges.other_end[picked].long()
        frontier = torch.unique(sources[~reached[sources]])
        reached[frontier] = True
    return torch.cat(found).sort().values


def _pick(starts: Tensor, nodes: Tensor, limit: int, generator: torch.Generator) -> Tensor:
    """Positions of at most ``limit`` random edges of every node, in edges sorted by node."""
    position, owner, offset = gather_groups(starts.long(), nodes)
    place = torch.arange(owner.numel(), device=owner.device) - offset[owner]
    if limit < 0 or not bool((place >= limit).any()):
        return position
    # Shuffle within every node, and take the first ones.
    draw = torch.rand(owner.numel(), generator=generator, dtype=torch.float64)
    key = owner + draw.to(owner.device, widest(owner.device))
    return position[key.argsort()][place < limit]


def subgraph(full: Batch, seeds: Tensor, edges: Tensor) -> Batch:
    """The seeds, some edges and their ends as a batch in which only the seeds count.

    Args:
        full: Graphs with labels of nodes.
        seeds: Nodes ``[S]``.
        edges: Numbers of edges ``[M]``, ascending.
    """
    ends = full.edge_index[:, edges]
    nodes = torch.unique(torch.cat([seeds, ends.reshape(-1)]))
    edge_index = torch.searchsorted(nodes, ends)
    kept, node_graph = torch.unique_consecutive(full.node_graph[nodes], return_inverse=True)
    mask = torch.zeros_like(nodes, dtype=torch.bool)
    mask[torch.searchsorted(nodes, seeds)] = True
    parts = take(full, {"graph": kept, "node": nodes, "edge": edges, "label": nodes})
    parts |= {"node_graph": node_graph, "edge_graph": node_graph[edge_index[1]], "mask": mask}
    return Batch(
        edge_index=edge_index,
        num_graphs=kept.numel(),
        reverse=reverse_edges(edge_index, nodes.numel()),
        **parts,
    )
