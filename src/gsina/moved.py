"""Names of version 0.1 that have moved; they answer with a warning until version 0.3.

Modules of the old names are made when they are imported: ``from gsina.data.own import
read_molecules`` gives ``gsina.formats.read_molecules``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

#: Where the names of a module are now: all of them in another one, or each as ``module:name``.
MOVED: dict[str, str | dict[str, str]] = {
    "gsina.data": {
        "Batch": "gsina.graphs.batch:Batch",
        "PackedGraphs": "gsina.graphs.packed:PackedGraphs",
        "Task": "gsina.graphs.task:Task",
        "spmotif": "gsina.datasets.spmotif",
    },
    "gsina.data.batch": "gsina.graphs.batch",
    "gsina.data.dataset": "gsina.graphs.dataset",
    "gsina.data.files": "gsina.files",
    "gsina.data.molecules": "gsina.molecules.packing",
    "gsina.data.own": "gsina.formats",
    "gsina.data.packed": "gsina.graphs.packed",
    "gsina.data.registry": "gsina.datasets.registry",
    "gsina.data.spmotif": "gsina.datasets.spmotif",
    "gsina.data.task": "gsina.graphs.task",
    "gsina.experiments": {},
    "gsina.experiments.published": "gsina.runs.published",
    "gsina.experiments.recipe": "gsina.runs.recipe",
    "gsina.experiments.run": "gsina.runs.run",
    "gsina.explain.molecule_pictures": "gsina.explain.pictures.molecules",
    "gsina.explain.posthoc": "gsina.explainers.registry",
    "gsina.methods.asap": "gsina.methods.extracting.asap",
    "gsina.methods.ciga": "gsina.methods.extracting.ciga",
    "gsina.methods.cnc": "gsina.methods.risk.cnc",
    "gsina.methods.dir": "gsina.methods.extracting.dir",
    "gsina.methods.eerm": "gsina.methods.nodes.eerm",
    "gsina.methods.eiil": "gsina.methods.risk.eiil",
    "gsina.methods.gib": "gsina.methods.extracting.gib",
    "gsina.methods.gsat": "gsina.methods.extracting.gsat",
    "gsina.methods.ib_irm": "gsina.methods.risk.ib_irm",
    "gsina.methods.igm": "gsina.methods.extracting.igm",
    "gsina.methods.irm": "gsina.methods.risk.irm",
    "gsina.methods.sugar": "gsina.methods.extracting.sugar",
    "gsina.methods.vrex": "gsina.methods.risk.vrex",
    "gsina.training.model_folder": "gsina.models.folder",
}


class Finder(MetaPathFinder, Loader):
    """Makes the modules of :data:`MOVED` that are no more; asked after all other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How to make a module that has moved; ``None`` for any other."""
        return ModuleSpec(name, self, is_package=True) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to Python."""
        return

    def exec_module(self, module: ModuleType) -> None:
        """Let the module ask for its names when they are used."""
        vars(module)["__getattr__"] = moved_names(module.__name__)


def moved_names(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose names have moved."""
    homes = MOVED[module]

    def find(name: str) -> Any:
        home = homes.get(name) if isinstance(homes, dict) else f"{homes}:{name}"
        if home is None or name.startswith("_") or not _is_there(home):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(
            f"{module}.{name} is {home.replace(':', '.')} now; the old name goes away in version "
            "0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        return resolve_name(home)

    return find


def _is_there(home: str) -> bool:
    module, _, name = home.partition(":")
    return not name or hasattr(import_module(module), name)


def install() -> None:
    """Make Python ask for modules that have moved, once."""
    if not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.append(Finder())
