"""Published methods, one file each."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from gsina.methods.catalog import METHODS
from gsina.methods.registry import build_method, make_config

if TYPE_CHECKING:
    from gsina.methods.base import Method, Output, label_loss, task_loss

__all__ = [
    "METHODS",
    "Method",
    "Output",
    "build_method",
    "label_loss",
    "make_config",
    "task_loss",
]


def __getattr__(name: str) -> Any:
    # What brings torch is imported when first used: the base, and the classes of the table.
    if name in __all__:
        return resolve_name(f"gsina.methods.base:{name}")
    for entry in METHODS.values():
        for place in (entry.method_class, entry.config_class):
            if isinstance(place, str) and place.endswith(f":{name}"):
                return resolve_name(place)
    raise AttributeError(f"module 'gsina.methods' has no attribute {name!r}")
