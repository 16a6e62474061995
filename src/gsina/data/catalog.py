"""All datasets of the package; importing this module fills the registry."""

from gsina.data import (
    artificial_shift,
    arxiv,
    ba2motifs,
    degree_shift,
    drugood,
    elliptic,
    facebook100,
    mnist75sp,
    mutagenicity,
    ogbg,
    sentigraph,
    spmotif,
    spmotif_ciga,
    text_graphs,
    tu_size,
    twitch,
)
from gsina.data.registry import DATASETS, Entry, load_dataset

GRAPH_LEVEL = (ba2motifs, mnist75sp, mutagenicity, ogbg, sentigraph, spmotif, text_graphs)
NODE_LEVEL = (artificial_shift, arxiv, elliptic, facebook100, twitch)
CIGA = (degree_shift, drugood, spmotif_ciga, tu_size)
MODULES = GRAPH_LEVEL + CIGA + NODE_LEVEL

__all__ = ["DATASETS", "MODULES", "Entry", "load_dataset"]
