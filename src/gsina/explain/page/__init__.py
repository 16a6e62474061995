"""The page: graphs, predictions and the soft top-r, live, in one HTML file."""

from gsina.explain.page.graphs import PageGraph, page_graphs
from gsina.explain.page.whole_graph import WholeGraph
from gsina.explain.page.write import write_page

__all__ = ["PageGraph", "WholeGraph", "page_graphs", "write_page"]
