"""Recipes by name on the command line."""

from __future__ import annotations


def test_the_recommended_recipe_by_name(gsina):
    shown = gsina("train", "spmotif", "--recipe", "recommended", "--epochs", "3", "--show-recipe")
    assert shown.exit_code == 0
    assert 'readout = "max"' in shown.output
    assert 'resample = "shortcuts"' in shown.output
    assert "epochs = 3" in shown.output
    published = gsina("train", "spmotif", "--recipe", "published", "--show-recipe")
    assert published.output == gsina("train", "spmotif", "--show-recipe").output
    assert "readout" not in published.output


def test_the_recommended_recipe_is_for_named_datasets(gsina, tmp_path):
    (tmp_path / "own.csv").write_text("smiles,y\nCC,1\nCO,0\n")
    done = gsina("train", "own.csv", "--target", "y", "--recipe", "recommended")
    assert done.exit_code == 2
    assert "--recipe recommended is for named datasets" in done.output
