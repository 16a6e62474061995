"""Trained models: read from the folder of a run, or trained now and kept there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from gsina.errors import InputError, MissingFileError
from gsina.files import cache_dir, load_tensors, load_text, parse_json
from gsina.formats import reading_of
from gsina.graphs.dataset import Dataset
from gsina.listeners import Listener
from gsina.models import folder as model_folders
from gsina.models.architecture import Architecture
from gsina.models.folder import MakeSpec
from gsina.models.hub import local_folder
from gsina.models.model import Model
from gsina.runs.folder import check_version
from gsina.runs.job import Job
from gsina.runs.names import MODEL, OLD_WEIGHTS, RESULT
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run, run
from gsina.training.devices import choose_device


def model_folder(recipe: Recipe, seed: int) -> Path:
    """Where the model of a run is kept for explainers and figures, in the cache folder."""
    return cache_dir() / "models" / Job(recipe, seed).name


def trained(
    recipe: Recipe,
    seed: int,
    folder: Path | None,
    dataset: Dataset | None = None,
    listeners: Sequence[Listener] = (),
) -> Run:
    """The trained model of a recipe: from its folder, or trained now.

    Args:
        recipe: What to train.
        seed: Seed of the training.
        folder: Its folder; without one the model is trained and not kept.
        dataset: The recipe's dataset, if it is loaded already.
        listeners: Notified of the progress, if it is trained now.

    Raises:
        InputError: The folder holds another model.
    """
    result: dict[str, Any] = {}
    if folder is not None:
        with contextlib.suppress(FileNotFoundError, ValueError):  # missing or damaged
            result = parse_json(load_text(folder / RESULT))
    if folder is None or not result:
        return run(
            recipe,
            seed,
            out=folder,
            resume=True,
            dataset=dataset,
            report=False,
            listeners=listeners,
        )
    if not recipe.same(Recipe.parse(result.get("recipe", {}))) or result.get("seed") != seed:
        raise InputError(
            f"{folder} holds a model of another recipe or seed than the one to explain; choose "
            "another folder."
        )
    return _read(folder, recipe, result, dataset, recipe.run.device)


def load_run(folder: Path, device: str | torch.device = "cpu") -> Run:
    """The finished run in a folder, as ``gsina train --out`` leaves it, with its data.

    Args:
        folder: The folder.
        device: Where its model is to compute.

    Raises:
        MissingFileError: There is no finished run, or its data are not there any more.
        InputError: A file is broken, or of a newer version.
    """
    check_version(folder)
    try:
        result = parse_json(load_text(folder / RESULT))
        recipe = Recipe.parse(result["recipe"])
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(
            f"there is no finished run in {folder}; make one with `gsina train ... --out {folder}`."
        ) from None
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder / RESULT} is not the result of a run ({error}); train it again."
        ) from error
    return _read(folder, recipe, result, None, device)


def load_model(
    folder: Path | str,
    make_spec: MakeSpec | None = None,
    *,
    device: str | torch.device = "cpu",
) -> Model:
    """The model in a model folder or in the folder of a run, of this version or of 0.1.

    Args:
        folder: The folder; or a model on the Hugging Face hub, ``hf://user/name`` or
            ``hf://user/name@revision``, of which only weights and description are fetched.
        make_spec: Makes the network, for a model with the user's own.
        device: Where it is to compute: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu`` or ``auto``;
            where it was trained does not matter.

    Raises:
        MissingFileError: There is no model, or a file of it is missing.
        InputError: A file is damaged, or of a newer version.
    """
    folder = local_folder(folder)
    check_version(folder)
    whole = any((place / model_folders.META).is_file() for place in (folder, folder / MODEL))
    if not whole and (folder / OLD_WEIGHTS).is_file() and (folder / RESULT).is_file():
        return load_run(folder, device).model
    return model_folders.load_model(folder, make_spec, device=device)


def _read(
    folder: Path,
    recipe: Recipe,
    result: dict[str, Any],
    dataset: Dataset | None,
    device: str | torch.device,
) -> Run:
    place = choose_device(device)
    old = folder / OLD_WEIGHTS
    if not old.is_file() and not (folder / MODEL).is_dir():
        model_folders.check_several(folder)
        raise MissingFileError(f"{folder / MODEL} is missing; train the run in {folder} again.")
    dataset = recipe.judge(recipe.data.load() if dataset is None else dataset)
    if (folder / MODEL).is_dir():
        return Run(model_folders.load_model(folder, device=place), dataset, result)
    plan = recipe.plan(dataset, int(result["seed"]))
    architecture = Architecture.of(plan.method, plan.options, plan.network_spec)
    method = architecture.build(dataset.task, plan.spec)
    method.load_state_dict(load_tensors(old)[0])
    model = Model(
        method=method.eval().to(place),
        task=dataset.task,
        architecture=architecture,
        featuriser=reading_of(dataset),
        target_names=dataset.target_names,
        class_names=dataset.class_names,
        training={"settings": recipe.optimiser.model_dump(), "seed": plan.seed},
        data={"name": dataset.name},
        metrics=result["metrics"],
        versions=result.get("versions", {}),
        created=result.get("finished", ""),
    )
    return Run(model, dataset, result)
