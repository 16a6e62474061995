"""The parameters of an estimator that a loaded model stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gsina.methods import make_config
from gsina.models.model import Model


def parameters_of(model: Model, names: Sequence[str]) -> dict[str, Any]:
    """Those parameters, out of ``names``, with which an estimator would train such a model.

    Args:
        model: The model.
        names: Parameters that the estimator has.
    """
    made = model.architecture
    given: dict[str, Any] = model.training.get("settings", {})
    given = given | made.backbone_options | made.method_options
    given |= {
        "features": tuple(model.featuriser.get("descriptors", {}).get("kinds", ())) or None,
        "method": made.method,
        "backbone": made.backbone,
        "ensemble": made.members,
        "trees": made.trees is not None,
    }
    if given.get("budget") is not None:
        given["ratio"] = None  # the method's own, which is not used
    usual = make_config(made.method, {})
    rest = {
        name: value
        for name, value in made.method_options.items()
        if name not in names and value != getattr(usual, name)
    }
    found = {name: value for name, value in given.items() if name in names}
    return found | {"method_options": rest or None}
