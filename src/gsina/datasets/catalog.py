"""All datasets of the package; importing this module fills the registry."""

from gsina.datasets import ba2motifs, degree_shift, drugood, mutagenicity, ogbg, spmotif
from gsina.datasets import ciga_motifs as spmotif_ciga
from gsina.datasets import size_shift as tu_size
from gsina.datasets.images import mnist75sp
from gsina.datasets.nodes import artificial_shift, arxiv, elliptic, facebook100, twitch
from gsina.datasets.registry import DATASETS, Entry, load_dataset
from gsina.datasets.text import sentigraph, text_graphs

GRAPH_LEVEL = (ba2motifs, mnist75sp, mutagenicity, ogbg, sentigraph, spmotif, text_graphs)
NODE_LEVEL = (artificial_shift, arxiv, elliptic, facebook100, twitch)
CIGA = (degree_shift, drugood, spmotif_ciga, tu_size)
MODULES = GRAPH_LEVEL + CIGA + NODE_LEVEL

__all__ = ["DATASETS", "MODULES", "Entry", "load_dataset"]
