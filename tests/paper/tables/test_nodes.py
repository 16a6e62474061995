"""The node-level table: its recipes, several test splits of one run, the six panels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gsina.paper.figures.nodes import draw_node
from gsina.paper.grid.results import Results, ood_score
from gsina.paper.numbers import paper_number
from gsina.paper.report.summaries import summarise
from gsina.paper.report.table_page import markdown, write_table
from gsina.paper.tables.nodes import METHODS, PANELS, node_table, other_schools
from gsina.paper.tables.table import Table


def result(job: Any, splits: list[str]) -> dict[str, Any]:
    """A result file with scores that tell seed and split apart."""
    scores = {name: {"accuracy": 0.5 + 0.01 * k + 0.1 * job.seed} for k, name in enumerate(splits)}
    return {
        "recipe": job.recipe.model_dump(),
        "seed": job.seed,
        "metrics": scores | {"val": {"accuracy": 0.5}},
        "metric": "accuracy",
        "selection": "first-best",
        "versions": {"torch": "2"},
        "hardware": {"cpu": "a", "threads": 1},
        "commit": "0123456789",
        "epochs": 1,
        "seconds_per_epoch": 0.1,
    }


@pytest.fixture
def table() -> Table:
    return node_table()


def test_cells_and_seeds(table: Table) -> None:
    assert len(PANELS) == 6
    per_panel = {panel.dataset: len(panel.tests) * len(METHODS) for panel in PANELS}
    assert len(table.cells) == sum(per_panel.values()) == 4 * (8 + 8 + 5 + 3 + 9 + 3)
    runs = {job.name for cell in table.cells for job in cell.jobs}
    assert len(runs) == 4 * (10 + 10 + 10 + 5 + 5 + 5)  # test graphs share their runs
    for cell in table.cells:
        assert cell.split.startswith("test-")
        assert cell.recipe.optimiser.algorithm == "adamw"
        assert cell.recipe.selection.rule == "first-best"


def test_recipes_are_the_benchmarks(table: Table) -> None:
    def recipe(row: str, column: str) -> Any:
        return next(c.recipe for c in table.cells if (c.row, c.column) == (row, column))

    cora = recipe("GSINA", "Cora 1")
    assert (cora.optimiser.learning_rate, cora.optimiser.weight_decay) == (0.01, 1e-3)
    assert (cora.optimiser.epochs, cora.optimiser.batch_size) == (200, 1)
    assert cora.method.options == {"ratio": 0.5, "scorer": "plain"}
    assert recipe("GSINA w/o Gumbel", "Cora 1").method.options["noise"] == 0.0
    twitch = recipe("EERM", "Twitch ES").method.options
    assert (twitch["views"], twitch["edits"], twitch["beta"], twitch["final_beta"]) == (3, 5, 3, 30)
    assert recipe("GSINA", "Facebook-100 Brown11").optimiser.learning_rate == 1e-3
    assert recipe("ERM", "Facebook-100 Brown11").optimiser.learning_rate == 0.01
    arxiv = recipe("EERM", "OGB-Arxiv 2014-2016")
    assert (arxiv.backbone.name, arxiv.optimiser.epochs) == ("sage", 500)
    assert arxiv.method.options["editor_steps"] == 5


def test_stored_values() -> None:
    assert paper_number("node", "erm", "gcn", "cora-1") == (70.86, None)
    assert paper_number("node", "gsina w/o gumbel", "gcn", "facebook100-Brown11") == (56.9, 0.19)
    assert paper_number("node", "eerm", "sage", "ogbn-arxiv-2014-2016") is None


def test_every_split_is_read_from_the_same_run(table: Table, tmp_path: Path) -> None:
    store = Results(tmp_path)
    cora = table.select(["GSINA w/o", "Cora"], [0, 1])
    facebook = table.select(["ERM", "Facebook"], [0])
    splits = ["train", "val", *(cell.split for cell in cora.cells)]
    for job in cora.cells[0].jobs:
        store.save(job, result(job, splits))
    (school,) = facebook.cells[1].jobs[:1]
    store.save(school, result(school, ["train", "val", "test-Brown11"]))
    found = {one.cell.column: one for one in summarise(table, store) if one.values}
    assert list(found) == [*(f"Cora {k}" for k in range(1, 9)), "Facebook-100 Brown11"]
    assert found["Cora 1"].mean == pytest.approx(57.0)
    assert found["Cora 8"].mean == pytest.approx(64.0)
    assert found["Cora 8"].std == pytest.approx(5.0)
    text = markdown(cora, store)
    assert "| GSINA w/o Gumbel | Cora 1 | 57.00 ± 5.00 | 84.81 |" in text
    # Penn94 is not in the result: its cell is not run, not an error.
    assert "Facebook-100 Penn94 | not run" in markdown(facebook, store)
    page, picture = write_table(table, store, tmp_path / "out")
    assert "stored with the authors' code" in page.read_text()
    assert picture.stat().st_size > 10_000


def test_figure_has_six_panels_that_say_why_they_are_empty(table: Table, tmp_path: Path) -> None:
    store = Results(tmp_path)
    for method in ("ERM", "EERM"):
        cora = table.select([method, "Cora"], [0, 1])
        for job in cora.cells[0].jobs:
            store.save(job, result(job, [one.split for one in cora.cells]))
    figure = draw_node(table, summarise(table, store))
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == [panel.label for panel in PANELS]
    lines = [line for line in panels[0].get_lines() if len(line.get_xdata()) == 8]
    assert len(lines) == 2  # ERM and EERM
    assert len(panels[0].collections) == 2  # their bands
    for axes in panels[1:]:
        assert any("not run" in text.get_text() for text in axes.texts)


def test_score_over_several_test_splits() -> None:
    metrics = {"val": {"f1": 0.1}, "test-1": {"f1": 0.2}, "test-2": {"f1": 0.4}}
    assert ood_score({"metric": "f1", "metrics": metrics}) == pytest.approx(0.3)
    assert ood_score({"metric": "f1", "metrics": {"test": {"f1": 0.7}}}) == 0.7
    assert ood_score({"metric": "f1", "metrics": {"test": {"f1": None}}}) is None


def test_other_schools_to_train_on() -> None:
    cells = other_schools().cells
    sets = {cell.column.split()[2]: cell.recipe.data.options["train_set"] for cell in cells}
    assert sets == {"B": 2, "C": 3}
    assert all(cell.paper is None for cell in cells)  # those numbers are of the first set
