"""All datasets of the package; importing this module fills the registry."""

from gsina.data import ba2motifs, mnist75sp, mutagenicity, ogbg, sentigraph, spmotif, text_graphs
from gsina.data.registry import DATASETS, Entry, load_dataset

MODULES = (ba2motifs, mnist75sp, mutagenicity, ogbg, sentigraph, spmotif, text_graphs)

__all__ = ["DATASETS", "MODULES", "Entry", "load_dataset"]
