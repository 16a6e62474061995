"""The table of what decides: equal settings, and depths that are what the rows say."""

from __future__ import annotations

import re

from gsina.paper.tables.factors import BIASES, factors


def test_rows_differ_in_what_they_name_and_in_nothing_else() -> None:
    table = factors()
    assert {cell.recipe.data.options["bias"] for cell in table.cells} == {*BIASES}
    assert len({str(cell.recipe.optimiser) for cell in table.cells}) == 1
    assert len({str(cell.recipe.selection) for cell in table.cells}) == 1
    assert all(cell.seeds == (0, 1, 2, 3, 4) for cell in table.cells)
    assert len({(cell.row, cell.column) for cell in table.cells}) == len(table.cells)


def test_the_depth_of_a_row_counts_all_layers_before_the_answer() -> None:
    for cell in factors().cells:
        method = cell.recipe.method
        layers = cell.recipe.backbone.options["num_layers"]
        networks = 2 if method.options.get("predict_from") == "embedding" else 1
        depth = re.search(r"depth (\d)", cell.row)
        assert depth is not None
        assert int(depth[1]) == layers * networks
