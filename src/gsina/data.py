"""Names of version 0.1 that have moved; they answer with a warning until version 0.3."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

#: Where the public names of this module live now.
_HOMES = {
    "Batch": "gsina.graphs.batch",
    "PackedGraphs": "gsina.graphs.packed",
    "Task": "gsina.graphs.task",
    "spmotif": "gsina.datasets",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gsina.data' has no attribute {name!r}")
    warnings.warn(
        f"gsina.data.{name} is {home}.{name} now; gsina.data goes away in version 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )
    if name == "spmotif":
        return import_module(f"{home}.{name}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
