"""ASAP: pool the nodes into the clusters that matter, and predict from the coarser graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import LEConv

from gsina.errors import check_range
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.base import Method, Output
from gsina.nn.attention import Attention
from gsina.nn.predictor import NetworkSpec, Predictor, embed
from gsina.ops.dropout import dropout
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r
from gsina.ops.ragged import Sparse, sparse_product


@dataclass(frozen=True)
class ASAPConfig:
    """Settings of ASAP.

    Attributes:
        ratio: Share of the nodes of each graph that are kept as clusters.
        dropout: Dropout of the memberships; the CIGA benchmark's is the backbone's.
        slope: Of the leaky ReLU in front of the memberships.
    """

    ratio: float = 0.25
    dropout: float = 0.0
    slope: float = 0.2

    def __post_init__(self) -> None:
        check_range(self, "lie in (0, 1]", "ratio")
        check_range(self, "lie in [0, 1)", "dropout")


class ASAPooling(nn.Module):
    """Clusters around the best nodes.

    Every node i is the centre of a cluster of itself and the nodes j with an edge to it. With
    ``m_i = W max_j h_j``, the members' shares are ``s_ij = softmax_j leaky_relu(a [m_i, h_j])`` and
    the cluster's state is ``c_i = sum_j s_ij h_j``. A local-extremum convolution of the c_i and a
    sigmoid give its fitness; the ``ceil(r N)`` fittest clusters of a graph remain, with states
    ``fitness_i c_i`` and edges weighted by ``S^T A S``, A with self-loops.

    PyG's layer of this name passes no gradient through the edge weights, and keeps the least fit
    clusters where its random selection weight is negative; otherwise this one is the same.

    Args:
        channels: Width H.
        config: Settings.
    """

    def __init__(self, channels: int, config: ASAPConfig) -> None:
        super().__init__()
        self.config = config
        self.centre = nn.Linear(channels, channels)
        self.attend = nn.Linear(2 * channels, 1)
        self.fitness = LEConv(channels, 1)

    def forward(self, h: Tensor, batch: Batch) -> tuple[Batch, Tensor]:
        """The coarser graphs with states as features, and the weights of their edges."""
        loops = torch.arange(batch.num_nodes, device=h.device)
        proper = batch.edge_index[:, batch.edge_index[0] != batch.edge_index[1]]
        edges = torch.cat([proper, loops.expand(2, -1)], dim=1)
        source, target = edges
        share = self._shares(h, edges)
        clusters = torch.zeros_like(h).index_add(
            0, target, h.index_select(0, source) * share.unsqueeze(1)
        )
        fitness = self.fitness(clusters, edges).sigmoid().squeeze(1)
        kept = hard_top_r(fitness, self.config.ratio, batch.node_groups)
        centres = kept.nonzero().squeeze(1)
        states = clusters * fitness.unsqueeze(1)
        node_graph = batch.node_graph.index_select(0, centres)
        links = _coarsen(edges, share, kept)
        return (
            Batch(
                x=states.index_select(0, centres),
                edge_index=torch.stack([links.row, links.column]),
                node_graph=node_graph,
                edge_graph=node_graph.index_select(0, links.row),
                num_graphs=batch.num_graphs,
                y=batch.y,
            ),
            links.value,
        )

    def _shares(self, h: Tensor, edges: Tensor) -> Tensor:
        """Share of every member in the cluster of its edge's target ``[E]``."""
        source, target = edges
        members = h.index_select(0, source)
        index = target.unsqueeze(1).expand_as(members)
        best = torch.zeros_like(h).scatter_reduce(0, index, members, "amax", include_self=False)
        centre = self.centre(best).index_select(0, target)
        score = self.attend(torch.cat([centre, members], dim=1)).squeeze(1)
        score = F.leaky_relu(score, self.config.slope)
        groups = Groups(target, h.size(0), target.numel())
        share = (score - groups.spread(groups.logsumexp(score))).exp()
        return dropout(share, self.config.dropout, self.training)


def _coarsen(edges: Tensor, share: Tensor, kept: Tensor) -> Sparse:
    """``S^T A S`` for the kept clusters, without its diagonal."""
    source, target = edges
    inside = kept.index_select(0, target).nonzero().squeeze(1)
    number = kept.cumsum(0) - 1
    members = Sparse(
        source.index_select(0, inside),
        number.index_select(0, target.index_select(0, inside)),
        share.index_select(0, inside),
    )
    nodes, width = kept.numel(), max(kept.numel(), 1)
    graph = Sparse(source, target, torch.ones_like(share))
    half = sparse_product(graph, members, nodes, width)
    full = sparse_product(members.transposed, half, nodes, width)
    off_diagonal = (full.row != full.column).nonzero().squeeze(1)
    return Sparse(*(part.index_select(0, off_diagonal) for part in full))


class ASAP(Method):
    """One network, a pooling layer, another network; the loss is the prediction's.

    After Ranjan, Sanyal, Talukdar, ASAP: adaptive structure aware pooling for learning hierarchical
    graph representations, AAAI 2020.

    The first network embeds the nodes, :class:`ASAPooling` pools them, and the second one predicts
    from the coarser graph with messages multiplied by ``sigmoid`` of the edge weights, as in the
    CIGA benchmark. Unlike there, the first network may use edge features (the coarser graph has
    none).
    """

    def __init__(
        self, network: nn.Module, pooling: ASAPooling, predictor: Predictor, task: Task
    ) -> None:
        super().__init__(task)
        self.config = pooling.config
        self.network = network
        self.pooling = pooling
        self.predictor = predictor

    @classmethod
    def build(cls, spec: NetworkSpec, task: Task, config: ASAPConfig) -> ASAP:
        """A fresh model: two networks of the same make."""
        network = spec.network()
        channels = network.out_channels
        predictor = replace(spec, edge_channels=0).predictor(task, channels)
        return cls(network, ASAPooling(channels, config), predictor, task)

    def forward(self, batch: Batch) -> Output:
        """Predict from the pooled graph."""
        pooled, weight = self.pooling(embed(self.network, batch), batch)
        return Output(self.predictor(pooled, Attention(weight.sigmoid(), None)))
