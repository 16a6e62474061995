"""Users' own data: molecules from CSV, graphs from JSON or PyG, node tables; with splits."""

from gsina.formats.json_graphs import read_graphs, stream_graphs
from gsina.formats.molecule_tables import read_molecules, stream_molecules
from gsina.formats.node_tables import NodeGraph, read_node_graph, read_nodes
from gsina.formats.pyg import from_pyg, read_tu_graphs
from gsina.formats.result import Chunk, OwnData
from gsina.formats.tensor_files import read_data_file, read_graph_file

__all__ = [
    "Chunk",
    "NodeGraph",
    "OwnData",
    "from_pyg",
    "read_data_file",
    "read_graph_file",
    "read_graphs",
    "read_molecules",
    "read_node_graph",
    "read_nodes",
    "read_tu_graphs",
    "stream_graphs",
    "stream_molecules",
]
