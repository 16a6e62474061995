"""The tables of the GSAT benchmark: what stands in for other data, and sweeps."""

from __future__ import annotations

import pytest

from gsina.paper.tables import make_table
from gsina.paper.tables.table import FIVE
from gsina.runs.published import default_recipe


def test_sentences_have_the_settings_of_the_data_in_whose_place_they_are() -> None:
    cells = {(cell.row, cell.column): cell for cell in make_table("gsat").cells}
    ours, theirs = (cells["GIN + GSINA", name] for name in ("SST2 text", "Graph-SST2"))
    assert ours.recipe.data.name == "sst2-text"
    assert ours.recipe.essential() | {"data": 0} == theirs.recipe.essential() | {"data": 0}
    assert ours.paper is None
    assert theirs.paper is not None


@pytest.mark.parametrize(
    ("name", "columns"), [("sensitivity-r-more", 5), ("sensitivity-tau-pna", 3)]
)
def test_sweeps_elsewhere_change_one_option(name: str, columns: int) -> None:
    cells = make_table(name).cells
    assert len({cell.column for cell in cells}) == columns
    for cell in cells:
        option, value = cell.row.split(" = ")
        options = cell.recipe.method.options
        assert options[option] == float(value)
        plain = default_recipe(
            cell.recipe.data.name,
            cell.recipe.backbone.name,
            data=dict(cell.recipe.data.options),
            options={option: float(value)},
        )
        assert cell.recipe.same(plain)


def test_the_sweep_of_the_paper_is_what_it_was() -> None:
    (cell,) = (one for one in make_table("sensitivity-r").cells if one.row == "ratio = 0.3")
    assert cell.jobs[0].name == "spmotif-gin-gsina-6ad09bb700-seed0"


@pytest.mark.parametrize("name", ["draws", "plain", "ablation", "gsat-ogbg", "interpret-auc"])
def test_five_seeds(name: str) -> None:
    assert {cell.seeds for cell in make_table(name).cells} == {FIVE}
