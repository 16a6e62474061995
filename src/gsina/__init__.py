"""Graph Sinkhorn Attention: find the part of a graph that still holds when the data change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gsina import moved

if TYPE_CHECKING:
    from gsina.estimators import GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor
    from gsina.methods.gsina import GSINA
    from gsina.nn.attention import Attention, GraphSinkhornAttention
    from gsina.ops.soft_top_r import soft_top_r
    from gsina.runs.trained import load_model

__version__ = "0.2.0"

__all__ = [
    "GSINA",
    "Attention",
    "GraphClassifier",
    "GraphRegressor",
    "GraphSinkhornAttention",
    "NodeClassifier",
    "NodeRegressor",
    "__version__",
    "load_model",
    "soft_top_r",
]

#: Where the public names live. They are imported when first used: `gsina --help` needs no torch.
_HOMES = {
    "GSINA": "gsina.methods.gsina",
    "Attention": "gsina.nn",
    "GraphClassifier": "gsina.estimators",
    "GraphRegressor": "gsina.estimators",
    "GraphSinkhornAttention": "gsina.nn",
    "NodeClassifier": "gsina.estimators",
    "NodeRegressor": "gsina.estimators",
    "load_model": "gsina.runs.trained",
    "soft_top_r": "gsina.ops",
}
_MODULES = (
    "datasets",
    "estimators",
    "explain",
    "explainers",
    "formats",
    "graphs",
    "listeners",
    "methods",
    "metrics",
    "models",
    "molecules",
    "nn",
    "ops",
    "paper",
    "runs",
    "training",
    "tuning",
)

moved.install()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES or f"gsina.{name}" in moved.MOVED:
        return import_module(f"gsina.{name}")
    raise AttributeError(f"module 'gsina' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
