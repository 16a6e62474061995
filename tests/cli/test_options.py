"""``--device``: where a command computes, and what it says of a device that is not there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch

from cli.runs import SMALL, assert_same_run, result

TRAIN = (*SMALL, "--epochs", 1, "--method", "erm")
#: A device that this machine does not have.
MISSING = "xpu:63"


@pytest.mark.parametrize(
    "arguments",
    [
        (*TRAIN,),
        (*TRAIN, "--seeds", "0,1"),
        ("tune", "spmotif", "--data-option", "num_per_class=8"),
        ("bench", "gsat", "--only", "GIN"),
        ("demo", "--quick"),
        ("figure", "separability"),
    ],
    ids=lambda given: given[0] if "--seeds" not in given else "seeds",
)
def test_a_missing_device_is_one_sentence_and_leaves_nothing(gsina, tmp_path, arguments):
    done = gsina(*arguments, "--device", MISSING)
    assert done.exit_code == 2
    assert f"finds no device {MISSING} here, only" in done.output.replace("\n", " ")
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_a_setting_of_the_run_and_not_of_the_recipe(gsina, tmp_path):
    """It is kept, but two runs that differ in it alone have the same name and are the same."""
    assert gsina(*TRAIN, "--device", "cpu").exit_code == 0
    assert gsina(*TRAIN, "--device", "auto", "--out", "auto").exit_code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert result(folder)["recipe"]["run"] == {"device": "cpu", "recompute": False}
    assert result(folder)["hardware"]["device"] == "cpu"
    assert result(Path("auto"))["recipe"]["run"] == {"device": "auto", "recompute": False}
    recipe = tomllib.loads((tmp_path / "auto" / "recipe.toml").read_text())
    assert recipe["run"] == {"device": "auto", "recompute": False}
    if not torch.accelerator.is_available():
        assert result(Path("auto"))["hardware"]["device"] == "cpu"
        again = result(Path("auto")) | {"recipe": result(folder)["recipe"]}
        assert again["metrics"] == result(folder)["metrics"]


def test_a_run_goes_on_elsewhere_if_it_is_told_to(gsina, tmp_path):
    """A run that was begun on a device that is not here names it; with another it goes on."""
    assert gsina(*TRAIN, "--out", "run").exit_code == 0
    assert gsina(*SMALL, "--method", "erm", "--epochs", 2, "--out", "straight").exit_code == 0
    file = tmp_path / "run" / "recipe.toml"
    file.write_text(file.read_text().replace('device = "cpu"', f'device = "{MISSING}"'))
    done = gsina("train", "--out", "run", "--resume", "--epochs", 2)
    assert done.exit_code == 2
    assert f"no device {MISSING}" in done.output.replace("\n", " ")
    done = gsina("train", "--out", "run", "--resume", "--epochs", 2, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert_same_run(Path("run"), Path("straight"))


def test_a_recipe_file_may_name_the_device(gsina, tmp_path):
    shown = gsina("train", "spmotif", "--device", "mps", "--show-recipe").output
    assert '[run]\ndevice = "mps"\nrecompute = false' in shown
    (tmp_path / "mine.toml").write_text(shown)
    assert gsina("train", "--recipe", "mine.toml", "--show-recipe").output == shown
    other = gsina("train", "--recipe", "mine.toml", "--device", "cpu", "--show-recipe").output
    assert other == shown.replace('"mps"', '"cpu"')


def test_predictions_name_a_device_that_is_missing(gsina, tmp_path):
    assert gsina(*TRAIN, "--out", "run").exit_code == 0
    (tmp_path / "new.jsonl").write_text("{}\n")
    for command in ("predict", "explain", "embed"):
        done = gsina(command, "run", "new.jsonl", "--device", MISSING)
        assert done.exit_code == 2
        assert f"no device {MISSING}" in done.output.replace("\n", " ")
    done = gsina("figure", "gallery", "run", "--device", MISSING)
    assert f"no device {MISSING}" in done.output.replace("\n", " ")
