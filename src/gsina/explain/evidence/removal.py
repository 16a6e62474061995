"""Three ways to take a part of a graph away, and what a model says of the rest.

``zero``
    The messages of the other edges are multiplied by 0, as PyG's metrics do; all nodes stay.
``delete``
    The other edges are deleted, and then the nodes that have lost all of theirs.
``replace``
    Every other edge is moved to two random nodes of its graph, with the features of a random edge
    of the training graphs; nodes without a kept edge get those of a random node. So the graph
    keeps its size, and what is left tells nothing but what graphs are usually made of.

At node level, where the answers are those of nodes, no node is deleted or gets other features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from gsina.errors import check_name
from gsina.explainers.marked import edge_groups, touched
from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.models.model import Model
from gsina.models.pyg import PygModel
from gsina.ops.ragged import gather_groups
from gsina.training.devices import device_of

Way = Literal["zero", "delete", "replace"]
WAYS: tuple[Way, ...] = ("delete", "zero", "replace")
#: Most edges that are in memory at a time, all copies of a graph together.
MOST_EDGES = 500_000


def answers_of_parts(
    model: Model,
    graphs: PackedGraphs,
    parts: Tensor,
    way: Way,
    *,
    pool: PackedGraphs | None = None,
    seed: int = 0,
) -> Tensor:
    """What a model says of parts of graphs: logits ``[T, G, outputs]``, at node level of nodes.

    Args:
        model: The model.
        graphs: The graphs.
        parts: Which edges each of T parts keeps ``[T, E]``, bool.
        way: How the other edges are taken away.
        pool: Graphs that ``replace`` takes features from; by default the graphs themselves.
        seed: Seeds what ``replace`` draws.
    """
    check_name(way, WAYS, "way of removing")
    if way == "zero":
        return masked_answers(model, graphs, parts.to(torch.float32))
    per_node = model.task.level == "node"
    plain = replace(graphs, y=None, node_y=None, label_weight=None, node_label_weight=None)
    generator = torch.Generator().manual_seed(seed)

    def rest(kept: Tensor) -> PackedGraphs:
        if way == "delete":
            return delete_others(plain, kept, nodes_too=not per_node)
        return replace_others(plain, kept, pool or graphs, generator, nodes_too=not per_node)

    at_once = max(1, MOST_EDGES // max(1, graphs.edge_index.size(1)))
    found = []
    for some in torch.split(parts, at_once):
        together = PackedGraphs.join([rest(kept) for kept in some])
        logits = model.predict(together).logits
        found.append(logits.view(len(some), -1, logits.size(-1)))
    return torch.cat(found)


@torch.no_grad()
def masked_answers(
    model: Model, graphs: PackedGraphs, edge: Tensor, node: Tensor | None = None
) -> Tensor:
    """What a model says if messages and features are multiplied by masks, as PyG does it.

    Args:
        model: The model.
        graphs: The graphs.
        edge: T masks of the edges ``[T, E]`` in [0, 1].
        node: T masks of the nodes ``[T, N]``; not used where features are categories.

    Returns:
        Logits ``[T, G, outputs]``, at node level ``[T, N, outputs]``.
    """
    copies, largest = len(edge), int(graphs.edge_ptr.diff().max())
    if copies > 1 and copies * largest > MOST_EDGES:  # one after the other
        pairs = zip(edge, edge if node is None else node, strict=True)
        return torch.cat(
            [
                masked_answers(model, graphs, one[None], None if node is None else other[None])
                for one, other in pairs
            ]
        )
    network = PygModel(model)
    place = device_of(network)
    size = max(1, MOST_EDGES // max(1, copies * largest))
    found = []
    for ids in torch.split(torch.arange(len(graphs)), min(size, 256)):
        batch = graphs.batch(ids.repeat(copies)).to(place)
        edges, nodes = (gather_groups(ptr, ids)[0] for ptr in (graphs.edge_ptr, graphs.node_ptr))
        if node is not None and batch.x.is_floating_point():
            batch = replace(batch, x=batch.x * node[:, nodes].reshape(-1, 1).to(batch.x))
        if batch.num_edges:
            mask = edge[:, edges].flatten().to(place)
            set_masks(network, mask, batch.edge_index, apply_sigmoid=False)
        logits = network.run(batch).cpu()
        clear_masks(network)
        found.append(logits.view(copies, -1, logits.size(-1)))
    return torch.cat(found, dim=1)


def delete_others(graphs: PackedGraphs, kept: Tensor, *, nodes_too: bool = True) -> PackedGraphs:
    """The graphs with some edges only, and without the nodes that so lose all of theirs.

    Args:
        graphs: The graphs.
        kept: Edges that stay ``[E]``, bool.
        nodes_too: Whether nodes are deleted.
    """
    index = torch.repeat_interleave(graphs.edge_ptr.diff())
    ends = graphs.edge_index + graphs.node_ptr[index]
    count = graphs.x.size(0)
    stays = torch.ones(count, dtype=torch.bool)
    if nodes_too:
        every = torch.ones_like(kept)
        stays = touched(kept, ends, count) | ~touched(every, ends, count)
    nodes, edges = stays.nonzero().view(-1), kept.nonzero().view(-1)
    owner = torch.repeat_interleave(graphs.node_ptr.diff())
    node_ptr = offsets(torch.bincount(owner[nodes], minlength=len(graphs)))
    new = stays.cumsum(0) - 1
    parts = take(graphs, {"node": nodes, "edge": edges})
    parts["edge_index"] = new[ends[:, edges]] - node_ptr[index[edges]]
    edge_ptr = offsets(torch.bincount(index[edges], minlength=len(graphs)))
    return replace(graphs, node_ptr=node_ptr, edge_ptr=edge_ptr, **parts)


def replace_others(
    graphs: PackedGraphs,
    kept: Tensor,
    pool: PackedGraphs,
    generator: torch.Generator,
    *,
    nodes_too: bool = True,
) -> PackedGraphs:
    """The graphs with some edges, and nodes and edges as they usually are in place of the others.

    Args:
        graphs: The graphs.
        kept: Edges that stay ``[E]``, bool.
        pool: Where features are taken from.
        generator: Draws.
        nodes_too: Whether nodes without a kept edge get other features.
    """
    _, reverse = edge_groups(graphs)
    index = torch.repeat_interleave(graphs.edge_ptr.diff())
    position = torch.arange(kept.numel())
    first = position if reverse is None else torch.minimum(position, reverse)
    sizes = graphs.node_ptr.diff()[index]
    draw = torch.rand(2, kept.numel(), generator=generator)[:, first]
    source = (draw[0] * sizes).long()
    # Another node than the source, where there is one.
    step = 1 + (draw[1] * (sizes - 1)).long()
    target = torch.where(sizes > 1, (source + step) % sizes.clamp(min=1), source)
    moved = torch.stack([source, target])
    moved = torch.where(position == first, moved, moved.flip(0))
    changed = {"edge_index": torch.where(kept, graphs.edge_index, moved)}
    if graphs.edge_attr is not None and pool.edge_attr is not None and len(pool.edge_attr):
        drawn = torch.randint(len(pool.edge_attr), (kept.numel(),), generator=generator)[first]
        rows = pool.edge_attr[drawn].to(graphs.edge_attr.dtype)
        changed["edge_attr"] = torch.where(kept.unsqueeze(-1), graphs.edge_attr, rows)
    if nodes_too:
        ends = graphs.edge_index + graphs.node_ptr[index]
        count = graphs.x.size(0)
        stays = touched(kept, ends, count) | ~touched(torch.ones_like(kept), ends, count)
        rows = pool.x[torch.randint(len(pool.x), (count,), generator=generator)].to(graphs.x.dtype)
        changed["x"] = torch.where(stays.unsqueeze(-1), graphs.x, rows)
    return replace(graphs, **changed)
