"""The attention in your own GNN: Graph Sinkhorn Attention between two networks, in ten lines."""

# %% [markdown]
# Any PyG network can be told to look at a part of the graph only. One network embeds the nodes, the
# attention turns the embeddings into a weight of every edge and node, and another network predicts
# with its messages multiplied by these weights. The ten lines are those of `__init__` and
# `forward`; take any two PyG networks.

# %%
import torch
from torch import nn
from torch_geometric.nn import GCN, GraphSAGE, global_add_pool

from gsina import GraphSinkhornAttention
from gsina.datasets import spmotif
from gsina.nn import weighted_messages


class MyModel(nn.Module):
    """A GCN finds the subgraph, a GraphSAGE predicts from it."""

    def __init__(self, features, classes):
        super().__init__()
        self.extractor = GCN(features, 32, num_layers=2)
        self.attention = GraphSinkhornAttention(32, ratio=0.5)
        self.predictor = GraphSAGE(features, 32, num_layers=2)
        self.head = nn.Linear(32, classes)

    def forward(self, x, edge_index, batch):
        """Logits of every graph, and the weights of edges and nodes."""
        weight = self.attention(self.extractor(x, edge_index), edge_index, batch)
        with weighted_messages(self.predictor, weight.edge):
            h = self.predictor(x, edge_index)
        return self.head(global_add_pool(h * weight.node[:, None], batch)), weight


# %% [markdown]
# Train it as ever. In training mode the attention adds Gumbel noise to its scores; the mean weight
# of a graph's edges is the ratio all the same.

# %%
torch.set_num_threads(1)  # batches of small graphs gain nothing from more
torch.manual_seed(0)
graphs = spmotif.generate(bias=0.5, num_per_class=100)
model = MyModel(graphs.num_features, classes=3)
optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for batch in graphs.batches(64, torch.Generator().manual_seed(epoch)):
        logits, weight = model(batch.x, batch.edge_index, batch.node_graph)
        loss = nn.functional.cross_entropy(logits, batch.y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item() * batch.num_graphs / len(graphs)
    print(f"epoch {epoch}: loss {total:.3f}, mean edge weight {weight.edge.mean():.3f}")

# %% [markdown]
# `model.eval()` switches the noise off, and a graph's weights are then the same alone and in any
# batch.

# %%
model.eval()
alone, many = graphs.batch([7]), graphs.batch(range(20))
_, one = model(alone.x, alone.edge_index, alone.node_graph)
_, all_of_them = model(many.x, many.edge_index, many.node_graph)
same = all_of_them.edge[many.node_graph[many.edge_index[0]] == 7]
print("largest difference:", f"{(one.edge - same).abs().max().item():.0e}")
