"""The folder of a run on a user's file: what it holds, and keeping runs apart."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.files import save_json, write_aside
from gsina.formats import OwnData
from gsina.models.train import RATIOS
from gsina.runs.folder import CHECKPOINT, RESULT, RUN, check_folder
from gsina.runs.own_recipe import OwnRecipe

MODEL, REPORT, UNREADABLE = "model", "report.html", "unreadable.csv"


def is_own_run(out: Path) -> bool:
    """Whether a folder holds a run on a user's file."""
    return "own" in _noted(out)


def read_own_run(out: Path) -> tuple[OwnRecipe, int]:
    """The recipe and the seed of the run in a folder."""
    noted = _noted(out)
    try:
        return OwnRecipe.parse(noted["own"]), int(noted["seed"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{out / RUN} does not describe a run ({error}); choose another --out."
        ) from error


def claim_own(out: Path, recipe: OwnRecipe, seed: int, *, resume: bool, force: bool) -> None:
    """Make sure that a run may go into the folder.

    Raises:
        InputError: The folder holds a run and neither ``resume`` nor ``force`` is given, or it
            holds another run than the one to resume.
    """
    check_folder(out)
    if force:
        return  # `note_own` clears the folder, once the new data are known to be good
    if not resume:
        # A start that failed has left a note at most.
        if any(path.exists() for path in _files(out) if path.name not in (RUN, UNREADABLE)):
            done = "a finished" if (out / RESULT).exists() else "an unfinished"
            raise InputError(
                f"{out} holds {done} run already; go on with --resume, choose another --out, or "
                "replace it with --force."
            )
    elif (out / RUN).exists():
        if not is_own_run(out):
            raise InputError(
                f"{out} holds a run on a named dataset, not on your file; choose another --out."
            )
        old, old_seed = read_own_run(out)
        if (_unchangeable(old), old_seed) != (_unchangeable(recipe), seed):
            raise InputError(
                f"{out} holds a run with other settings or files; resume it with "
                f"`gsina train --out {out} --resume` alone, or choose another --out."
            )


def note_own(out: Path, recipe: OwnRecipe, seed: int, own: OwnData, *, force: bool = False) -> None:
    """Note in the folder which run it holds, and the rows that could not be read.

    Args:
        out: The folder.
        recipe: What is trained.
        seed: With which seed.
        own: The data.
        force: Remove what a run before has left there.

    Raises:
        InputError: The run was started on other content of the file.
    """
    if force:
        for path in _files(out):
            path.unlink(missing_ok=True)
    content = own.source.get("fingerprint")
    before = _noted(out).get("fingerprint")
    if before is not None and before != content:
        raise InputError(
            f"the file has changed since the run in {out} was started; choose another --out, or "
            "start again with --force."
        )
    save_json(out / RUN, {"own": recipe.model_dump(), "seed": seed, "fingerprint": content})
    if own.unreadable:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerows([("row", "reason"), *own.unreadable])
        with write_aside(out / UNREADABLE) as file:
            file.write(text.getvalue().encode())


def _noted(out: Path) -> dict[str, Any]:
    try:
        content = json.loads((out / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _files(out: Path) -> list[Path]:
    """What a run leaves in its folder, the trainings of several ratios included."""
    names = (RUN, RESULT, REPORT, UNREADABLE, CHECKPOINT, "log.jsonl", "model.safetensors")
    folders = [out, *(out / f"ratio-{ratio}" for ratio in RATIOS)]
    model = [out / MODEL / name for name in ("model.json", "model.safetensors", "README.md")]
    return [folder / name for folder in folders for name in names] + model


def _unchangeable(recipe: OwnRecipe) -> dict[str, Any]:
    """What must stay the same in a resumed run: all but the largest number of epochs."""
    values = recipe.model_dump()
    values["optimiser"].pop("epochs")
    return values
