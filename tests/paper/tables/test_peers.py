"""The table of newer peers."""

from __future__ import annotations

from gsina.methods import METHODS
from gsina.paper.numbers import PaperNumber
from gsina.paper.tables import make_table
from gsina.paper.tables.table import FIVE

PEERS = {"gmt-lin", "gmt-sam", "gala", "grea", "prune", "cal", "disc", "canet"}


def test_every_peer_has_a_cell_and_no_setting_is_tuned() -> None:
    cells = make_table("peers").cells
    assert {cell.recipe.method.name for cell in cells} == PEERS
    assert all(cell.seeds == FIVE and not cell.trials for cell in cells)
    assert {cell.row for cell in cells} == {METHODS[name].label for name in PEERS}


def test_published_numbers_stand_where_their_data_are() -> None:
    found = {(cell.row, cell.column): cell.paper for cell in make_table("peers").cells}
    assert found["GREA", "molbace"] == PaperNumber(82.37, 2.37)
    assert found["GMT-lin", "SPMotif 0.5, PNA"] == PaperNumber(69.33, 1.42)
    assert found["GMT-sam", "SPMotif 0.5, GIN"] == PaperNumber(60.09, 2.4)
    assert sum(paper is not None for paper in found.values()) == 5


def test_settings_are_those_of_the_release() -> None:
    cells = {(cell.row, cell.column): cell.recipe for cell in make_table("peers").cells}
    grea = cells["GREA", "molbace"]
    assert (grea.optimiser.batch_size, grea.method.options["size"]) == (64, 0.55)
    assert cells["GMT-lin", "SPMotif 0.5, GIN"].data.options == {"bias": 0.5}
