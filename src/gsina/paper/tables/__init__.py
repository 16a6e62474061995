"""The paper's tables as grids of recipes, by name; the list of them needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gsina.errors import check_name

if TYPE_CHECKING:
    from gsina.paper.tables.table import Table


def _make(module: str, function: str, *arguments: Any) -> Table:
    """Call a function of a module of tables, imported only now."""
    table: Table = getattr(import_module(f"gsina.paper.tables.{module}"), function)(*arguments)
    return table


_RATIOS = tuple(round(0.1 * k, 1) for k in range(1, 11))
_TEMPERATURES = (0.2, 0.5, 1.0, 2.0, 5.0)

#: Where each table is made and with which arguments, in the order of the page of results.
_HOMES: dict[str, tuple[Any, ...]] = {
    "gsat": ("gsat", "gsat"),
    "draws": ("gsat", "draws"),
    "plain": ("gsat", "plain"),
    "gsat-ogbg": ("gsat", "gsat_ogbg"),
    "ablation": ("gsat", "ablation"),
    "connectivity": ("gsat", "connectivity"),
    "sensitivity-r": ("gsat", "sensitivity", "sensitivity-r", "ratio", _RATIOS, "Sensitivity to r"),
    "sensitivity-tau": (
        "gsat",
        "sensitivity",
        "sensitivity-tau",
        "temperature",
        _TEMPERATURES,
        "Sensitivity to tau",
    ),
    "sensitivity-r-more": (
        "gsat",
        "sensitivity_more",
        "sensitivity-r-more",
        "ratio",
        _RATIOS,
        "Sensitivity to r on five further datasets",
    ),
    "sensitivity-tau-pna": (
        "gsat",
        "sensitivity_more",
        "sensitivity-tau-pna",
        "temperature",
        _TEMPERATURES,
        "Sensitivity to tau with PNA",
    ),
    "interpret-auc": ("explanations", "interpret_auc"),
    "interpret-p5": ("explanations", "interpret_p5"),
    "interpret-long": ("explanations", "interpret_long"),
    "explainer-trials": ("explanations", "explainer_trials"),
    "explanations": ("evidence", "explanations"),
    "certified": ("evidence", "certified"),
    "ciga-spm": ("ciga", "ciga_spm"),
    "ciga-real": ("ciga", "ciga_real"),
    "ciga-more": ("ciga", "ciga_more"),
    "node": ("nodes", "node_table"),
    "node-facebook": ("nodes", "other_schools"),
    "good": ("good", "good"),
    "peers": ("peers", "peers"),
    "own": ("own", "own"),
    "factors": ("factors", "factors"),
    "transport": ("factors", "transport"),
    "factors-nodes": ("elsewhere", "factors_nodes"),
    "factors-molecules": ("elsewhere", "factors_molecules"),
    "ideas": ("recommended", "ideas"),
    "recommended": ("recommended", "recommended"),
    "recommended-more": ("recommended", "recommended_more"),
    "recommended-ciga": ("recommended", "recommended_ciga"),
}
TABLES: dict[str, Callable[[], Table]] = {
    name: partial(_make, *home) for name, home in _HOMES.items()
}


def make_table(name: str) -> Table:
    """A table by name."""
    return TABLES[check_name(name, TABLES, "table")]()
