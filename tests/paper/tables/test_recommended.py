"""The recommended recipe: trials apart from what is reported, and the same chances for all."""

from __future__ import annotations

from pathlib import Path

from gsina.paper.grid.results import Results
from gsina.paper.tables.factors import Row
from gsina.paper.tables.recommended import (
    DRAWS,
    TRIAL_SEEDS,
    candidates,
    ideas,
    recommended,
    recommended_more,
)
from gsina.paper.tables.table import FIVE
from gsina.paper.tables.tuned_cells import resolve, settings_of
from gsina.runs.job import identity
from gsina.runs.published import default_recipe


def test_trial_seeds_are_not_reported() -> None:
    assert not {*TRIAL_SEEDS} & {*FIVE}
    assert all(cell.seeds == TRIAL_SEEDS and cell.split == "val" for cell in ideas().cells)
    assert all({*cell.trial_seeds} <= {*TRIAL_SEEDS} for cell in recommended().cells)


def test_methods_have_the_same_trials_but_for_their_own_setting() -> None:
    shared = ("learning_rate", "average", "resample", "epochs", "batch_size", "readout")
    found = [
        [tuple(settings_of(row.recipe(0.7))[name] for name in shared) for row in rows]
        for rows in candidates().values()
    ]
    assert len(found) == 4
    assert all(one == found[0] for one in found)
    for rows in candidates().values():
        assert len({str(row.recipe(0.7)) for row in rows}) == 4
        assert [depth_of(row) for row in rows] == [4] * 4


def depth_of(row: Row) -> int:
    """Layers between the features and the answer."""
    if row.options.get("predict_from") != "embedding":
        return row.layers
    return row.layers + row.options.get("predictor_layers", row.layers)


def test_elsewhere_the_recipe_is_the_recommended_one() -> None:
    cells = recommended_more().cells
    assert len(cells) == 14
    for cell in cells:
        assert cell.recipe.backbone.options["readout"] == "max"
        assert cell.recipe.optimiser.resample == "shortcuts"
        assert (cell.paper is None) == (cell.row != "GSINA")


def test_trials_are_made_on_the_usual_draw_and_choices_on_that_of_the_column() -> None:
    cells = recommended().cells
    assert {cell.column for cell in cells} == {
        f"b = {bias}, draw {draw}" for draw in DRAWS for bias in (0.5, 0.7, 0.9)
    }
    for cell in cells:
        assert all("seed" not in trial.data.options for trial in cell.trials)
        assert all(trial.data.options["validation"] == "middle" for trial in cell.trials)
        for trial, choice in zip(cell.trials, cell.choices, strict=True):
            assert settings_of(trial) == settings_of(choice)
            assert "validation" not in choice.data.options
            draw = int(cell.column.rpartition(" ")[2])
            assert choice.data.options.get("seed", 0) == draw


def test_the_recommended_recipe_is_what_the_trials_chose() -> None:
    found = resolve(recommended(), Results(Path(__file__).parents[3] / "results"))
    place = ("GSINA", "b = 0.7, draw 0")
    (cell,) = [cell for cell in found.cells if (cell.row, cell.column) == place]
    assert not cell.trials  # they are done
    ours = default_recipe("spmotif", "gin", data={"bias": 0.7}, which="recommended")
    assert identity(cell.recipe) == identity(ours)
