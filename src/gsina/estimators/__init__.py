"""Graph models as scikit-learn estimators: fit, predict, explain, save, load."""

from gsina.estimators.graph import GraphClassifier, GraphRegressor
from gsina.estimators.node import NodeClassifier, NodeRegressor

__all__ = ["GraphClassifier", "GraphRegressor", "NodeClassifier", "NodeRegressor"]
