"""Graph Sinkhorn Attention: find the part of a graph that still holds when the data change."""

from gsina.methods import GSINA
from gsina.nn.attention import Attention, GraphSinkhornAttention
from gsina.ops.soft_top_r import soft_top_r

__version__ = "0.1.0"

__all__ = ["GSINA", "Attention", "GraphSinkhornAttention", "__version__", "soft_top_r"]
