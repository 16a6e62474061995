"""Tables and sweeps as pictures, and times of epochs that have only been measured."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import imread

import tiny
from gsina.paper.clock import work_clock
from gsina.paper.figures.sensitivity import draw_sweep
from gsina.paper.figures.table import draw_cells
from gsina.paper.grid.estimate import (
    epoch_times,
    epochs_file,
    estimate,
    kind_name,
    measure_epoch,
    save_epochs,
)
from gsina.paper.grid.results import Results
from gsina.paper.numbers import PaperNumber
from gsina.paper.report.pages import all_tables, write_pages
from gsina.paper.report.summaries import summarise
from gsina.paper.report.table_page import SWEPT, draw_table, markdown, write_table
from gsina.paper.studies.connected_components import mean_components, run_components
from gsina.paper.tables import make_table
from gsina.paper.tables.table import Cell, ExtraColumn, Table
from gsina.runs.job import Job
from gsina.runs.published import default_recipe
from gsina.runs.run import make_method


def recipe(method: str = "erm", **settings: object):
    data = {"bias": 0.5, "num_per_class": 4}
    return default_recipe("spmotif", "gin", method, data=data, **{"epochs": 1} | settings)


def put(results: Results, job: Job, **test: float) -> None:
    content = {
        "recipe": job.recipe.model_dump(),
        "seed": job.seed,
        "metric": "accuracy",
        "metrics": {"val": {"accuracy": 0.5}, "test": {"accuracy": 0.5} | test},
        "selection": "strict-best",
        "epochs": 10,
        "seconds_per_epoch": 2.0,
        "versions": {"torch": "2"},
        "hardware": {"cpu": "x", "threads": 1},
        "commit": "abc",
    }
    results.save(job, content)


@pytest.fixture
def table() -> Table:
    cells = (
        Cell("GIN", "tiny", recipe(), (0, 1), PaperNumber(40.0, 1.0)),
        Cell("GIN + GSINA", "tiny", recipe("gsina"), (0,)),
    )
    return Table(
        "tiny", "A tiny table", cells, extra=(ExtraColumn("pieces", "pieces", percent=False),)
    )


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_a_table_shows_ours_the_papers_the_seeds_and_what_is_missing(tmp_path, table) -> None:
    results = Results(tmp_path)
    for seed, accuracy in ((0, 0.5), (1, 0.6)):
        put(results, table.cells[0].jobs[seed], accuracy=accuracy, pieces=3.0 + seed)
    shown = texts(draw_cells(table, summarise(table, results), {}))
    assert "55.00 ± 5.00  (2)" in shown
    assert "paper 40.00 ± 1.00" in shown
    assert "not run" in shown
    assert "3.50 ± 0.50" in shown
    row = "| GIN | tiny | 55.00 ± 5.00 | 40.00 ± 1.00 | 3.50 ± 0.50 | 0, 1 | 50.0, 60.0 |"
    assert row in markdown(table, results)
    assert "| GIN + GSINA | tiny | not run |  |  |  |  |" in markdown(table, results)
    page, picture = write_table(table, results, tmp_path / "tables")
    assert "![A tiny table](tiny.png)" in page.read_text(encoding="utf-8")
    assert imread(picture).shape[1] > 800


def test_a_sample_is_no_measure_of_the_whole_and_waiting_is_no_work(tmp_path) -> None:
    whole = default_recipe("mnist-75sp", "gin", "erm")
    part = default_recipe("mnist-75sp", "gin", "erm", data={"limit": 3000})
    assert kind_name(part) == "mnist-75sp (3000) gin erm"
    results = Results(tmp_path)
    save_epochs(results, {kind_name(whole): {"seconds": 5.0, "steps": 1, "batch_size": 1}})
    assert estimate([Job(part, 0)], results) == (0, [Job(part, 0)])
    assert estimate([Job(whole, 0)], results)[0] == 5 * whole.optimiser.epochs
    assert torch.get_num_threads() == 1
    start = work_clock()
    time.sleep(0.3)
    assert work_clock() - start < 0.2


def test_rows_without_a_run_are_left_out_where_that_is_asked(tmp_path) -> None:
    table = replace(make_table("explanations"), cells=make_table("explanations").cells[:3])
    text = markdown(table, Results(tmp_path), run_only=True)
    assert "| GSINA" not in text
    assert "Cells not run yet: 3 of 3" in text


def test_measured_times_stand_where_nothing_was_run(tmp_path, table) -> None:
    results = Results(tmp_path)
    ours = table.cells[1].recipe
    measured = measure_epoch(ours, tiny.dataset(4), steps=2)
    assert measured["seconds"] >= 0
    kind = kind_name(ours)
    assert kind == "spmotif gin gsina"
    save_epochs(results, {kind: {**measured, "seconds": 12.34}})
    save_epochs(results, {"other": measured})
    assert epoch_times(results)[kind] == 12.34
    assert "hardware" in json.loads(epochs_file(results).read_text())["epochs"]["other"]
    assert "not run (about 12 s per epoch here)" in markdown(table, results)
    shown = " ".join(texts(draw_cells(table, summarise(table, results), epoch_times(results))))
    assert "not run (12 s per epoch)" in shown
    jobs = [Job(ours, 0), Job(table.cells[0].recipe, 0)]
    assert estimate(jobs, results) == (12.34, [jobs[1]])  # one epoch of the one, nothing known
    epochs_file(results).write_text("{")
    assert epoch_times(results) == {}


@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_is_a_curve_with_a_band_of_one_deviation(tmp_path, name) -> None:
    table, results = make_table(name), Results(tmp_path)
    assert "not run" in texts(draw_sweep(table, summarise(table, results), *SWEPT[name]))
    rng = np.random.default_rng(0)
    values = {}
    for place, cell in enumerate(table.cells[:-1]):
        values[place] = rng.uniform(0.4, 0.6, len(cell.jobs))
        for job, value in zip(cell.jobs, values[place], strict=True):
            put(results, job, accuracy=float(value))
    figure = draw_sweep(table, summarise(table, results), *SWEPT[name])
    (axes,) = figure.axes
    mean = axes.lines[0].get_ydata()
    assert mean == pytest.approx([100 * one.mean() for one in values.values()])
    (band,) = (one for one in axes.collections if isinstance(one, PolyCollection))
    corners = band.get_paths()[0].vertices
    first = corners[np.isclose(corners[:, 0], axes.lines[0].get_xdata()[0])][:, 1]
    assert np.ptp(first) == pytest.approx(200 * values[0].std())
    last = table.cells[-1].row.split()[-1]
    assert f"not run: {SWEPT[name][1]} = {float(last):g}" in figure.get_supxlabel().replace(
        "Not run", "not run"
    )


def test_the_page_embeds_the_curves_and_they_are_written(tmp_path) -> None:
    results = Results(tmp_path)
    for cell in make_table("sensitivity-tau").cells[:2]:
        put(results, cell.jobs[0], accuracy=0.5)
    assert "(../img/sensitivity-tau.png)" in all_tables(results)
    write_pages(tmp_path / "docs" / "results.md", results)
    assert (tmp_path / "docs/img/sensitivity-tau.png").is_file()
    assert not (tmp_path / "docs/img/sensitivity-r.png").exists()


def test_every_table_can_be_drawn_without_a_run(tmp_path) -> None:
    for name in ("gsat", "connectivity", "interpret-p5"):
        path = tmp_path / f"{name}.png"
        draw_table(make_table(name), Results(tmp_path), path)
        assert path.stat().st_size > 5000


def test_the_gsat_table_has_the_papers_rows_and_columns() -> None:
    cells = make_table("gsat").cells
    theirs = [cell for cell in cells if cell.recipe.data.name != "sst2-text"]  # that is ours
    assert len(theirs) == 48
    assert all(cell.paper is not None for cell in theirs)
    assert {cell.column for cell in cells} >= {"molhiv", "MNIST-75sp", "Graph-SST2"}
    assert {"GIB", "DIR", "PNA + GSAT"} <= {cell.row for cell in cells}
    first = cells[:9]
    assert {cell.recipe.backbone.name for cell in first} == {"gin"}
    assert {cell.recipe.data.name for cell in first} == {"spmotif"}
    (sst2,) = (cell for cell in cells if (cell.row, cell.column) == ("PNA + GSINA", "Graph-SST2"))
    assert sst2.recipe.method.options["ratio"] == 0.8
    assert sst2.recipe.selection.patience == 3


def test_pieces_of_a_run(tmp_path: Path) -> None:
    ours = recipe("gsina")
    found = run_components(ours, 0, folder=tmp_path / "model")
    again = run_components(ours, 0, folder=tmp_path / "model")  # from the folder
    assert found["metrics"]["test"]["pieces"] == again["metrics"]["test"]["pieces"] >= 1
    data = tiny.dataset(2)
    whole = make_method(recipe("gsina", epochs=1), data)
    everything = make_method(
        default_recipe("spmotif", "gin", "gsina", options={"ratio": 1.0}), data
    )
    assert mean_components(everything, data.test) == 1
    assert mean_components(whole, data.test) > 1
    one_edge = default_recipe("spmotif", "gin", "gsina", options={"budget": 1})
    assert mean_components(make_method(one_edge, data), data.test) == 1
    with pytest.raises(ValueError, match="edge attention and a ratio"):
        mean_components(make_method(recipe("erm"), data), data.test)
