"""The study of what decides: equal settings, and depths that are what the rows say."""

from __future__ import annotations

import re

from gsina.paper.tables.factors import BIASES, factors, further_rows, main_rows, transport


def test_rows_differ_in_what_they_name_and_in_nothing_else() -> None:
    table = factors()
    assert {cell.recipe.data.options["bias"] for cell in table.cells} == {*BIASES}
    shared = [cell.recipe.optimiser.model_dump(exclude={"resample"}) for cell in table.cells]
    assert len({str(one) for one in shared}) == 1
    for cell in table.cells:
        assert (cell.recipe.optimiser.resample == "shortcuts") == ("resampled" in cell.row)
    assert len({str(cell.recipe.selection) for cell in table.cells}) == 1
    assert all(cell.seeds == (0, 1, 2, 3, 4) for cell in table.cells)
    assert len({(cell.row, cell.column) for cell in table.cells}) == len(table.cells)


def test_rows_that_decide_are_run_at_stronger_biases() -> None:
    cells = factors().cells
    weak, strong, middle = (
        {c.row for c in cells if c.column == f"SPMotif {bias}"} for bias in (0.5, 0.9, 0.7)
    )
    assert middle < strong < weak
    assert (len(middle), len(strong)) == (2, 8)
    assert {row.split(",")[0] for row in middle} == {"plain network", "GSINA"}
    assert {row.split(",")[0] for row in strong} == {"plain network", "GSINA", "GSAT", "DIR"}
    assert all("depth 4" in row for row in strong)


def test_the_label_of_a_row_says_its_depth_and_readout() -> None:
    for row in (*main_rows(), *further_rows()):
        networks = 2 if row.options.get("predict_from") == "embedding" else 1
        found = re.search(r"depth (\d), (sum|mean|max)$", row.label)
        assert found is not None, row.label
        assert int(found[1]) == row.layers * networks
        assert found[2] == row.recipe(0.5).backbone.options.get("readout", "sum")


def test_a_budget_replaces_the_ratio() -> None:
    (row,) = [row for row in further_rows() if "8 edges" in row.label]
    assert row.options["budget"] == 8
    assert "ratio" not in row.options


def test_rows_of_the_transport_have_the_published_recipe() -> None:
    cells = transport().cells
    assert cells[0].recipe.method.options["ratio"] == 0.6
    for cell in cells[1:]:
        differs = cell.recipe.method.options.items() - cells[0].recipe.method.options.items()
        assert len(differs) == 1
        assert cell.recipe.optimiser == cells[0].recipe.optimiser
