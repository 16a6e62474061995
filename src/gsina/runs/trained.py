"""Trained models again: from the folder of a run, or trained now and put there."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from gsina.datasets.catalog import load_dataset
from gsina.errors import InputError, MissingFileError
from gsina.files import cache_dir, load_tensors
from gsina.graphs.dataset import Dataset
from gsina.runs.job import Job
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run, make_method, run
from gsina.training.loop import OnEpoch


def model_folder(recipe: Recipe, seed: int) -> Path:
    """Where the model of a run is kept for explainers and figures, in the cache folder."""
    return cache_dir() / "models" / Job(recipe, seed).name


def trained(
    recipe: Recipe,
    seed: int,
    folder: Path | None,
    dataset: Dataset | None = None,
    on_epoch: OnEpoch | None = None,
) -> Run:
    """The trained model of a recipe: from its folder, or trained now.

    Args:
        recipe: What to train.
        seed: Seed of the training.
        folder: Its folder; without one the model is trained and not kept.
        dataset: The recipe's dataset, if it is loaded already.
        on_epoch: Called after every epoch, if it is trained now.

    Raises:
        InputError: The folder holds another model.
    """
    result: dict[str, Any] = {}
    if folder is not None:
        with contextlib.suppress(FileNotFoundError, ValueError):  # not there, or not whole
            result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if folder is None or not result:
        return run(recipe, seed, out=folder, resume=True, dataset=dataset, on_epoch=on_epoch)
    if (result.get("recipe"), result.get("seed")) != (recipe.model_dump(), seed):
        raise InputError(
            f"{folder} holds a model of another recipe or seed than the one to explain; choose "
            "another folder."
        )
    return _read(folder, recipe, result, dataset)


def load_run(folder: Path) -> Run:
    """The finished run in a folder, as ``gsina train --out`` leaves it.

    Raises:
        MissingFileError: There is no finished run.
        InputError: A file is broken.
    """
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        recipe = Recipe.parse(result["recipe"])
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(
            f"there is no finished run in {folder}; make one with `gsina train ... --out {folder}`."
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder / 'result.json'} is not the result of a run ({error}); train it again."
        ) from error
    return _read(folder, recipe, result, None)


def _read(folder: Path, recipe: Recipe, result: dict[str, Any], dataset: Dataset | None) -> Run:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise MissingFileError(f"{path} is missing; train the run in {folder} again.")
    dataset = load_dataset(recipe.data.name, **recipe.data.options) if dataset is None else dataset
    method = make_method(recipe, dataset)
    method.load_state_dict(load_tensors(path)[0])
    return Run(method.eval(), dataset, result)
