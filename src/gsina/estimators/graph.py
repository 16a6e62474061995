"""`GraphClassifier` and `GraphRegressor`: one label or number per graph."""

from __future__ import annotations

from gsina.estimators.classes import ClassesMixin
from gsina.estimators.numbers import NumbersMixin


class GraphClassifier(ClassesMixin):
    """Classes of graphs, predicted from the subgraph that decides.

    ::

        model = GraphClassifier(ratio=0.5).fit(graphs, labels)
        model.predict_proba(others)  # [G, K]
        model.explain(others)[0].edge_mask  # weight of every edge of the first graph

    Labels may be of any hashable type; two classes are learnt as one yes-or-no output. See
    :class:`~gsina.estimators.base.GraphEstimator` for the parameters.
    """


class GraphRegressor(NumbersMixin):
    """Numbers of graphs, predicted from the subgraph that decides.

    Targets are brought to mean 0 and variance 1 for training; answers are in their units. See
    :class:`~gsina.estimators.base.GraphEstimator` for the parameters.
    """
