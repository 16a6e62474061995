"""The study on nodes and molecules: rows are what they say, and differ in nothing else."""

from __future__ import annotations

import re

import pytest

from gsina.paper.tables.elsewhere import factors_molecules, factors_nodes
from gsina.paper.tables.table import ALL_TESTS, Table


@pytest.mark.parametrize("table", [factors_nodes(), factors_molecules()], ids=lambda t: t.name)
def test_rows_are_what_they_say(table: Table) -> None:
    by_data: dict[str, set[str]] = {}
    for cell in table.cells:
        recipe = cell.recipe
        by_data.setdefault(cell.column, set()).add(f"{recipe.optimiser} {recipe.selection.rule}")
        found = re.search(r"depth (\d)(?:, (\w+))?$", cell.row)
        assert found is not None
        networks = 2 if recipe.method.options.get("predict_from") == "embedding" else 1
        assert int(found[1]) == networks * recipe.backbone.options["num_layers"]
        assert found[2] == recipe.backbone.options.get("readout")
        assert ("embedding" in cell.row) == (networks == 2)
    assert all(len(settings) == 1 for settings in by_data.values())
    assert len({(cell.row, cell.column) for cell in table.cells}) == len(table.cells)


def test_nodes_are_scored_by_the_mean_of_all_test_graphs() -> None:
    assert {cell.split for cell in factors_nodes().cells} == {ALL_TESTS}
