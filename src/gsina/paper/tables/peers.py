"""Newer peers, each on data on which its own paper has a number, or nearly (docs/peers.md)."""

from __future__ import annotations

from typing import Any

from gsina.methods import METHODS
from gsina.paper.numbers import paper_number
from gsina.paper.tables.table import ALL_TESTS, FIVE, Cell, Table
from gsina.runs.published import default_recipe

BASIS = {"domain": "basis", "shift": "covariate"}
#: Method, column, dataset, its options and the network; the cheapest with a number first.
CELLS: tuple[tuple[str, str, str, dict[str, Any], str | None], ...] = (
    ("grea", "molbace", "ogbg-molbace", {}, "gin"),
    ("gmt-lin", "SPMotif 0.5, GIN", "spmotif", {"bias": 0.5}, "gin"),
    ("gmt-lin", "SPMotif 0.5, PNA", "spmotif", {"bias": 0.5}, "pna"),
    ("grea", "molhiv", "ogbg-molhiv", {}, "gin"),
    ("canet", "Twitch", "twitch", {}, None),
    ("prune", "Motif basis covariate", "good-motif", BASIS, None),
    ("gala", "EC50 assay", "drugood-ec50-assay", {}, None),
    ("cal", "EC50 assay", "drugood-ec50-assay", {}, None),
    ("disc", "EC50 assay", "drugood-ec50-assay", {}, None),
    ("gmt-sam", "SPMotif 0.5, GIN", "spmotif", {"bias": 0.5}, "gin"),
)

NOTES = (
    "Settings are those of the releases, as far as they name the data (docs/peers.md); nothing is "
    "tuned here.",
    "Published: GMT from table 2 of its submission to ICLR 2024, GREA from table 3 of its paper. A "
    "cell without a published number stands where the paper has one whose table could not be read, "
    "or whose data are close but not the same: CaNet's Twitch has other splits and features, "
    "PrunE's Motif is rebuilt here.",
)


def peers() -> Table:
    """One row per method and network; a published number is looked up by the column."""
    return Table("peers", "Newer peers, beside their own numbers", _cells(), notes=NOTES)


def _cells() -> tuple[Cell, ...]:
    found = []
    for method, column, dataset, data, backbone in CELLS:
        recipe = default_recipe(dataset, backbone, method, data=data)
        paper = paper_number("peers", method, recipe.backbone.name, column.split(",")[0].lower())
        split = "test" if recipe.data.level == "graph" else ALL_TESTS
        found.append(Cell(METHODS[method].label, column, recipe, FIVE, paper, split=split))
    return tuple(found)
