"""GCN and GIN of the CIGA benchmark, in the form of the Open Graph Benchmark's examples."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from gsina.errors import check_name
from gsina.nn.backbones.protocol import BackboneModule, Features
from gsina.nn.encoders import encode_edges, make_encoder
from gsina.nn.norm import BatchNorm
from gsina.nn.readout import READOUTS
from gsina.ops.dropout import dropout
from gsina.ops.groups import Groups
from gsina.ops.neighbour_sum import message_sum

HEADS = ("linear", "mlp")


class OGBLayer(MessagePassing):  # type: ignore[misc]
    """Sums messages ``relu(h_j + W e_ij)``; without edge features the relu is taken at the nodes.

    Args:
        channels: Width H.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
    """

    def __init__(self, channels: int, edge_channels: Features) -> None:
        super().__init__(aggr=None)
        self.encode_edges = make_encoder(edge_channels, channels) if edge_channels else None

    def gather(
        self,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        weight: Tensor | None,
        scale: Tensor | None = None,
    ) -> Tensor:
        """Sum of the messages at every node ``[N, H]``; ``scale`` ``[N, 1]`` is the source's."""
        edges = encode_edges(self.encode_edges, edge_attr)
        if edges is None:
            h = F.relu(h) if scale is None else F.relu(h) * scale
            scale = None
        if weight is not None:
            return message_sum(h, edge_index, weight, edges, scale)
        summed: Tensor = self.propagate(edge_index, x=h, edges=edges, scale=scale)
        return summed

    def message(self, x_j: Tensor, edges: Tensor | None, scale_j: Tensor | None) -> Tensor:
        """One message per edge ``[E, H]``, which attention multiplies."""
        if edges is None:
            return x_j
        message = F.relu(x_j + edges)
        return message if scale_j is None else message * scale_j

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: int) -> Tensor:
        """Sum at the target; a single call, cheaper on the CPU than a scatter."""
        return inputs.new_zeros(dim_size, inputs.size(1)).index_add(0, index, inputs)


class OGBGCNLayer(OGBLayer):
    """``sum_j relu(z_j + e_ij) / sqrt(deg_i deg_j) + relu(z_i + rho) / deg_i`` with ``z = W h``.

    The degree is 1 + the number of stored edges that *leave* the node, as in the benchmark: where
    edges are stored once that is the out-degree, also for the target. It ignores edge weights.
    """

    def __init__(self, channels: int, edge_channels: Features) -> None:
        super().__init__(channels, edge_channels)
        self.linear = nn.Linear(channels, channels)
        self.root = nn.Parameter(torch.randn(channels))

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        degree: Tensor,
        weight: Tensor | None = None,
    ) -> Tensor:
        """``[N, H]`` to ``[N, H]``; ``degree`` is ``[N, 1]``, ``weight`` that of edges ``[E]``."""
        z = self.linear(h)
        root = degree.rsqrt()
        self_message: Tensor = F.relu(z + self.root) / degree
        return root * self.gather(z, edge_index, edge_attr, weight, root) + self_message


class OGBGINLayer(OGBLayer):
    """``MLP((1 + eps) h_i + sum_j relu(h_j + e_ij))``; the MLP is H -> 2H -> H with batch norm."""

    def __init__(self, channels: int, edge_channels: Features) -> None:
        super().__init__(channels, edge_channels)
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            BatchNorm(2 * channels),
            nn.ReLU(),
            nn.Linear(2 * channels, channels),
        )

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        degree: Tensor,
        weight: Tensor | None = None,
    ) -> Tensor:
        """``[N, H]`` to ``[N, H]``; ``degree`` is not needed here."""
        out: Tensor = self.mlp((1 + self.eps) * h + self.gather(h, edge_index, edge_attr, weight))
        return out


class VirtualNode(nn.Module):
    """A state per graph that every node sees before a layer, and that sums them up after it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            BatchNorm(2 * channels),
            nn.ReLU(),
            nn.Linear(2 * channels, channels),
            BatchNorm(channels),
            nn.ReLU(),
        )

    def forward(self, state: Tensor, h: Tensor, graphs: Groups) -> Tensor:
        """New states ``[G, H]`` from the old ones and the nodes ``[N, H]`` that a layer got."""
        updated: Tensor = self.mlp(graphs.sum(h) + state)
        return updated


class OGBNetwork(BackboneModule):
    """Layers with batch norm; ReLU and dropout after all but the last, which has dropout only.

    The benchmark's "last-layer JK" is the output of the last layer, and it has no residuals.

    Args:
        in_channels: Number of node features, or the sizes of categorical ones.
        hidden_channels: Width H.
        num_layers: Number of layers.
        dropout: Dropout after every layer.
        edge_channels: Number of edge features, or the sizes of categorical ones; 0 for none.
            Every layer has its own linear map of them.
        readout: ``mean``, ``max`` or ``sum``, for predictors.
        head: ``linear``, H -> out (the benchmark's ERM and its kin), or ``mlp``, H -> 2H -> out
            with ReLU (its methods that extract a subgraph). The larger head is part of what
            separates the two groups in the published table.
        virtual_node: Add a state per graph to all nodes before every layer; the first is the same
            for all graphs, and learned from zero on.
    """

    layer: ClassVar[type[OGBLayer]]
    weighs_edges = True

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int = 32,
        num_layers: int = 3,
        dropout: float = 0.5,
        edge_channels: Features = 0,
        readout: Literal["mean", "max", "sum"] = "mean",
        head: Literal["linear", "mlp"] = "linear",
        virtual_node: bool = False,
    ) -> None:
        super().__init__()
        self.out_channels = hidden_channels
        self.dropout = dropout
        self.readout = check_name(readout, READOUTS, "readout")
        self.head = check_name(head, HEADS, "head")
        self.encode_nodes = make_encoder(in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            self.layer(hidden_channels, edge_channels) for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(BatchNorm(hidden_channels) for _ in range(num_layers))
        between = num_layers - 1 if virtual_node else 0
        self.virtual = nn.ModuleList(VirtualNode(hidden_channels) for _ in range(between))
        self.start = nn.Parameter(torch.zeros(hidden_channels)) if virtual_node else None

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Node states ``[N, H]`` from features ``[N, F]``, edges ``[2, E]`` and ``[E, D]``.

        ``batch`` ``[N]`` and ``num_graphs`` are needed for the virtual node only.
        ``edge_weight`` ``[E]`` multiplies the messages.
        """
        h: Tensor = self.encode_nodes(x)
        ones = h.new_ones(()).expand(edge_index.size(1))
        degree = h.new_ones(h.size(0)).index_add(0, edge_index[0], ones).unsqueeze(1)
        graphs, state = None, h  # of the virtual node, if there is one
        if self.start is not None:
            graphs = self._graphs(h, batch, num_graphs)
            state = self.start.expand(graphs.num, -1)
        last = len(self.layers) - 1
        for depth, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            if graphs is not None:
                h = h + graphs.spread(state)
            new = norm(layer(h, edge_index, edge_attr, degree, edge_weight))
            if depth < last:
                new = F.relu(new)
                if graphs is not None:
                    state = dropout(
                        self.virtual[depth](state, h, graphs), self.dropout, self.training
                    )
            h = dropout(new, self.dropout, self.training)
        return h

    @staticmethod
    def _graphs(h: Tensor, batch: Tensor | None, num_graphs: int | None) -> Groups:
        if batch is None:
            return Groups.single(h.size(0))
        count = int(batch.max()) + 1 if num_graphs is None else num_graphs
        return Groups(batch, count, h.size(0))

    def make_head(self, out_channels: int) -> nn.Module:
        """The head that was asked for."""
        if self.head == "linear":
            return super().make_head(out_channels)
        width = self.out_channels
        return nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, out_channels)
        )


class OGBGCN(OGBNetwork):
    """Graph convolutional network (Kipf and Welling, 2017) as in OGB's examples."""

    layer = OGBGCNLayer


class OGBGIN(OGBNetwork):
    """Graph isomorphism network (Xu et al., 2019) as in OGB's examples."""

    layer = OGBGINLayer
