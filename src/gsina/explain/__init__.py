"""Explanations shown and judged: pages, pictures, and how far they can be believed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gsina.explain.evidence.measure import faithfulness
    from gsina.explain.gsina_explainer import GSINAExplainer
    from gsina.explainers.explanation import Explanation

__all__ = ["Explanation", "GSINAExplainer", "faithfulness"]

#: Where the public names live; imported when first used, for they need PyG's explainers.
_HOMES = {
    "Explanation": "gsina.explainers.explanation",
    "GSINAExplainer": "gsina.explain.gsina_explainer",
    "faithfulness": "gsina.explain.evidence.measure",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gsina.explain' has no attribute {name!r}")
