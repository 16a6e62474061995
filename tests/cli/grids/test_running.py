"""Running the jobs of tables."""

from __future__ import annotations

from pathlib import Path

from gsina.cli.grids.running import run_grid
from gsina.paper.grid.results import Results
from gsina.paper.grid.runner import run_job
from gsina.paper.tables.knobs import with_trials
from gsina.paper.tables.table import Cell, Table
from gsina.runs.published import default_recipe


def test_stopped_trials_are_told_so_that_they_are_not_tried_again(tmp_path: Path) -> None:
    data = {"bias": 0.5, "num_per_class": 4}
    recipe = default_recipe("spmotif", "gin", "erm", data=data, epochs=1)
    cell, store = with_trials(Cell("GIN", "tiny", recipe, (0,))), Results(tmp_path)
    first, *others = cell.jobs
    result = run_job(first, store).result
    assert result is not None
    store.save(first, result | {"validation": [2.0]})  # nobody reaches it
    table = Table("tiny", "A tiny table", (cell,))
    assert run_grid(table, others, store, 1, None, None) == (set(), {job.name for job in others})
