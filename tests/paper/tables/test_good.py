"""The table of the GOOD benchmark."""

from __future__ import annotations

import pytest

from gsina.methods import METHODS
from gsina.paper.numbers import PaperNumber
from gsina.paper.tables import make_table
from gsina.paper.tables.good import NODE_ROWS, graph_rows
from gsina.paper.tables.table import FIVE, Table


@pytest.fixture(scope="module")
def table() -> Table:
    return make_table("good")


def test_motif_has_five_seeds_and_comes_first(table: Table) -> None:
    columns = list(dict.fromkeys(cell.column for cell in table.cells))
    assert [column.split()[0] for column in columns] == [
        *["Motif"] * 4,
        *["CBAS"] * 2,
        *["Twitch"] * 2,
        *["HIV"] * 4,
        *["CMNIST"] * 2,
    ]
    assert {cell.seeds for cell in table.cells if cell.column.startswith("Motif")} == {FIVE}


def test_every_method_is_tuned_alike(table: Table) -> None:
    counts = {len(cell.trials) for cell in table.cells if cell.recipe.method.name in METHODS}
    assert counts == {3}
    trials: dict[str, set[str]] = {}
    for cell in table.cells:
        trials.setdefault(cell.recipe.data.level, set()).update(
            str(one.data) for one in cell.trials
        )
    assert {level: len(found) for level, found in trials.items()} == {"graph": 1, "node": 1}


def test_all_rows_of_a_column_are_trained_equally_long(table: Table) -> None:
    epochs: dict[str, set[int]] = {}
    for cell in table.cells:
        epochs.setdefault(cell.column, set()).add(cell.recipe.optimiser.epochs)
    assert all(len(found) == 1 for found in epochs.values())


def test_published_numbers_stand_beside_their_methods(table: Table) -> None:
    found = {(cell.row, cell.column): cell.paper for cell in table.cells}
    assert found["ERM", "Motif basis covariate"] == PaperNumber(63.8, 10.36)
    assert found["V-REx", "HIV size concept"] == PaperNumber(61.21, 2.0)
    assert found["IRM", "HIV size concept"] is None  # it did not fit there
    assert found["GSINA, recommended", "Motif basis covariate"] is None
    assert found["ERM, recommended", "Motif basis covariate"] is None


def test_environments_are_given(table: Table) -> None:
    cells = [cell for cell in table.cells if cell.recipe.method.name in ("irm", "vrex")]
    assert cells
    assert {cell.recipe.method.options["environments"] for cell in cells} == {"given"}


def test_newer_methods_have_rows() -> None:
    assert {"gmt-lin", "prune"} <= {row.method for row in graph_rows()}
    assert all("node" in METHODS[row.method].levels for row in NODE_ROWS)
