"""What a method relies on in a backbone, and what data and task fix in a backbone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from torch import Tensor, nn

#: Number of features, or the sizes of categorical ones; 0 for none.
Features = int | Sequence[int]

#: Arguments of a backbone that the data and the task decide; all others are settings.
DATA_SIDE = ("in_channels", "edge_channels", "out_channels")


@runtime_checkable
class Backbone(Protocol):
    """A network that turns the nodes of a batch into states, and knows what goes behind it.

    It is made as ``make(in_channels, edge_channels=..., out_channels=..., **settings)``: the
    :data:`Features` of nodes, those of edges, and the width of the output. A backbone without a use
    for one of the last two does not name it. All settings have defaults.

    Attributes:
        out_channels: Width H of the node states.
        readout: ``sum``, ``mean`` or ``max``: how node states become those of graphs.
        forward: ``forward(x, edge_index, edge_attr, batch, num_graphs)`` returns node states
            ``[N, H]`` from node features ``[N, F]``, edges ``[2, E]``, edge features ``[E, D]``,
            the graph of every node ``[N]`` and the number of graphs. The last three have defaults,
            and those that are not used need not be named: see
            :func:`gsina.nn.network.run_network`. Messages go through PyG's ``MessagePassing``, or
            a layer of :mod:`gsina.nn.neighbours`, so that attention can weigh them. A backbone
            with ``weighs_edges`` also names ``edge_weight`` ``[E]``, and multiplies every message
            by it: without hooks, which is faster and can be compiled.
    """

    out_channels: int
    readout: str
    forward: Callable[..., Tensor]

    def make_head(self, out_channels: int) -> nn.Module:
        """A fresh head: states ``[M, H]`` of graphs or nodes to logits ``[M, out_channels]``."""
        ...


class BackboneModule(nn.Module, Backbone):
    """A backbone as a module; its head is one linear layer unless it says otherwise.

    Attributes:
        heads_itself: Whether it can be made with the outputs of a task at node level as
            ``out_channels``, and then needs no head.
        weighs_edges: Whether its ``forward`` takes weights of edges.
    """

    heads_itself: ClassVar[bool] = False
    weighs_edges: bool = False

    def make_head(self, out_channels: int) -> nn.Module:
        """The head that goes with this network: one linear layer."""
        return nn.Linear(self.out_channels, out_channels)
