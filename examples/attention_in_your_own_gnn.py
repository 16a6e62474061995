"""Let any PyG model predict from the part of the graph that a Graph Sinkhorn Attention keeps."""

import torch
from torch import nn
from torch_geometric.nn import GCN, GraphSAGE, global_add_pool

from gsina import GraphSinkhornAttention
from gsina.data import spmotif
from gsina.nn import weighted_messages


class MyModel(nn.Module):
    """A GCN finds the subgraph, a GraphSAGE predicts from it; take any two PyG models."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.extractor = GCN(features, 32, num_layers=2)
        self.attention = GraphSinkhornAttention(32, ratio=0.5)
        self.predictor = GraphSAGE(features, 32, num_layers=2)
        self.head = nn.Linear(32, classes)

    def forward(self, x, edge_index, batch):
        """Logits of every graph, and the weights of edges and nodes."""
        embedding = self.extractor(x, edge_index)
        weight = self.attention(embedding, edge_index, batch)
        with weighted_messages(self.predictor, weight.edge):
            h = self.predictor(x, edge_index)
        return self.head(global_add_pool(h * weight.node[:, None], batch)), weight


def main(epochs: int = 5) -> None:
    torch.manual_seed(0)
    graphs = spmotif.generate(bias=0.5, num_per_class=300)
    model = MyModel(graphs.num_features, classes=3)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        for batch in graphs.batches(64, torch.Generator().manual_seed(epoch)):
            logits, weight = model(batch.x, batch.edge_index, batch.node_graph)
            loss = nn.functional.cross_entropy(logits, batch.y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * batch.num_graphs / len(graphs)
        print(f"epoch {epoch}: loss {total:.3f}, mean edge weight {weight.edge.mean():.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)  # batches of small graphs gain nothing from more
    main()
