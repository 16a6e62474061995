"""Pictures of what a model looks at."""

from gsina.explain.pictures.graphs import draw_subgraphs

__all__ = ["draw_subgraphs"]
