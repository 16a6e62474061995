"""The paper's tables as grids of recipes, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gsina.errors import check_name
from gsina.paper.tables import ciga, explanations, factors, gsat, nodes
from gsina.paper.tables.table import Table

TABLES: dict[str, Callable[[], Table]] = {
    "gsat": gsat.gsat,
    "draws": gsat.draws,
    "plain": gsat.plain,
    "gsat-ogbg": gsat.gsat_ogbg,
    "ablation": gsat.ablation,
    "connectivity": gsat.connectivity,
    "sensitivity-r": partial(
        gsat.sensitivity,
        "sensitivity-r",
        "ratio",
        [round(0.1 * k, 1) for k in range(1, 11)],
        "Sensitivity to r",
    ),
    "sensitivity-tau": partial(
        gsat.sensitivity,
        "sensitivity-tau",
        "temperature",
        (0.2, 0.5, 1.0, 2.0, 5.0),
        "Sensitivity to tau",
    ),
    "interpret-auc": explanations.interpret_auc,
    "interpret-p5": explanations.interpret_p5,
    "interpret-long": explanations.interpret_long,
    "explainer-trials": explanations.explainer_trials,
    "ciga-spm": ciga.ciga_spm,
    "ciga-real": ciga.ciga_real,
    "ciga-more": ciga.ciga_more,
    "node": nodes.node_table,
    "factors": factors.factors,
}


def make_table(name: str) -> Table:
    """A table by name."""
    return TABLES[check_name(name, TABLES, "table")]()
