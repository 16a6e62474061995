"""Graphs, layers and a reference for the tests of `weighted_messages`."""

from copy import deepcopy

import torch
from torch import nn
from torch_geometric.nn import (
    ChebConv,
    ClusterGCNConv,
    EGConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    LEConv,
    MessagePassing,
    PNAConv,
    SAGEConv,
    SGConv,
    TAGConv,
    TransformerConv,
)
from torch_geometric.nn.models import GAT, GCN, GIN, PNA, EdgeCNN, GraphSAGE

NODES, FEATURES = 6, 4
DEGREES = torch.tensor([1, 2, 4, 1])
HOOKS = (
    "_propagate_forward_pre_hooks",
    "_propagate_forward_hooks",
    "_message_forward_pre_hooks",
    "_message_forward_hooks",
    "_aggregate_forward_pre_hooks",
    "_message_and_aggregate_forward_pre_hooks",
    "_forward_pre_hooks",
    "_forward_hooks",
)
# Node 5 has no neighbours, 0 -> 1 is there twice.
PROPER = [(0, 1), (1, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 0), (2, 0)]
LOOPS = [(node, node) for node in range(NODES)]
GRAPHS = {
    "no loops": PROPER,
    "some loops": [(2, 2), *PROPER[:5], (0, 0), (0, 0), *PROPER[5:], (4, 4)],
    # As many edges as before, after the layer has moved the loops to the end.
    "loops first": [*LOOPS, *PROPER],
    "loops mixed": [edge for pair in zip(LOOPS, PROPER, strict=False) for edge in pair]
    + PROPER[NODES:],
    # Even the same edges, after the layer has replaced the loops by its own.
    "loops last": [*PROPER, *LOOPS],
}


def mlp(width_in: int = FEATURES, width_out: int = FEATURES) -> nn.Module:
    return nn.Sequential(nn.Linear(width_in, 8), nn.ReLU(), nn.Linear(8, width_out))


PNA_ARGS = {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"]}
LAYERS = {
    "gin": lambda: GINConv(mlp()),
    "gine": lambda: GINEConv(mlp(), edge_dim=3),
    "gcn": lambda: GCNConv(FEATURES, 5),
    "gcn without loops": lambda: GCNConv(FEATURES, 5, add_self_loops=False),
    "sage mean": lambda: SAGEConv(FEATURES, 5, aggr="mean"),
    "sage max": lambda: SAGEConv(FEATURES, 5, aggr="max"),
    "sage, two aggregations": lambda: SAGEConv(FEATURES, 5, aggr=["mean", "std"]),
    "gat": lambda: GATConv(FEATURES, 5, heads=2),
    "gat mean of heads": lambda: GATConv(FEATURES, 5, heads=3, concat=False, edge_dim=3),
    "gatv2": lambda: GATv2Conv(FEATURES, 5, heads=2),
    "pna": lambda: PNAConv(FEATURES, 6, **PNA_ARGS, deg=DEGREES, towers=2, divide_input=True),
    "le": lambda: LEConv(FEATURES, 5),
    "graph": lambda: GraphConv(FEATURES, 5),
    "transformer": lambda: TransformerConv(FEATURES, 5, heads=2, edge_dim=3),
    "sgc, two rounds": lambda: SGConv(FEATURES, 5, K=2),
    "tag, three rounds": lambda: TAGConv(FEATURES, 5, K=3),
    "cheb": lambda: ChebConv(FEATURES, 5, K=3),
    "cluster": lambda: ClusterGCNConv(FEATURES, 5),
    "eg": lambda: EGConv(FEATURES, 8, aggregators=["symnorm", "max"]),
    "gcn, flow reversed": lambda: GCNConv(FEATURES, 5, flow="target_to_source"),
}
MODELS = {
    "GCN": lambda: GCN(FEATURES, 8, 3, 2),
    "GIN": lambda: GIN(FEATURES, 8, 3, 2),
    "GraphSAGE": lambda: GraphSAGE(FEATURES, 8, 3, 2, jk="cat"),
    "GAT": lambda: GAT(FEATURES, 8, 3, 2, heads=2, edge_dim=3),
    "PNA": lambda: PNA(FEATURES, 8, 2, 2, **PNA_ARGS, deg=DEGREES, edge_dim=3),
    "EdgeCNN": lambda: EdgeCNN(FEATURES, 8, 2, 2),
}
# As `add_self_loops` of the layers in these tests says; ChebConv and EGConv always do.
ADDS_LOOPS = (GCNConv, GATConv, GATv2Conv, SGConv, ChebConv, ClusterGCNConv, EGConv)


def make(edges: str = "no loops") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x [N, F], edge_index [2, E], weights [E]; x and weights are leaves."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor(GRAPHS[edges]).t().contiguous()
    x = torch.randn(NODES, FEATURES, generator=generator)
    weights = torch.rand(edge_index.size(1), generator=generator)
    return x.requires_grad_(), edge_index, weights.requires_grad_()


def attributes(network: nn.Module, edge_index: torch.Tensor) -> dict[str, torch.Tensor]:
    """`edge_attr` for the networks that take it."""
    parts = [getattr(module, "edge_dim", None) for module in network.modules()]
    takes = any(parts) or isinstance(network, GINEConv)
    generator = torch.Generator().manual_seed(1)
    edge_attr = torch.randn(edge_index.size(1), 3, generator=generator)
    return {"edge_attr": edge_attr} if takes else {}


def layers_of(network: nn.Module) -> list[MessagePassing]:
    return [module for module in network.modules() if isinstance(module, MessagePassing)]


def weighted_by_hand(network: nn.Module, weights: torch.Tensor, edges: str) -> nn.Module:
    """A copy whose layers multiply in their own `message`, in the order of their own edges."""
    network = deepcopy(network)
    for layer in layers_of(network):
        if isinstance(layer, ADDS_LOOPS) and getattr(layer, "add_self_loops", True):
            kept = [k for k, (i, j) in enumerate(GRAPHS[edges]) if i != j]
            values = torch.cat([torch.stack([weights[k] for k in kept]), torch.ones(NODES)])
        else:
            values = weights

        def message(*args, original=layer.message, values=values, **kwargs):
            messages = original(*args, **kwargs)
            return messages * values.reshape(-1, *[1] * (messages.dim() - 1))

        layer.message = message
    return network


def outcome(network, x, edge_index, weights, **kwargs):
    """The output, and the gradients of a generic function of it."""
    out = network(x, edge_index, **kwargs)
    generator = torch.Generator().manual_seed(2)
    loss = (out * torch.randn(out.shape, generator=generator, dtype=out.dtype)).sum()
    leaves = [weights, x, *network.parameters()]
    return [out, *torch.autograd.grad(loss, leaves, allow_unused=True)]


def assert_same(got, want, **tolerance):
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        if one is None or other is None:
            assert one is other
        else:
            torch.testing.assert_close(one, other, **tolerance)


def assert_clean(network: nn.Module, before: list[set[str]]) -> None:
    for module in network.modules():
        for name in HOOKS:
            assert not getattr(module, name, None), (module, name)
    assert [set(module.__dict__) for module in network.modules()] == before
