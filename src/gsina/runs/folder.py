"""The folder of a run: what it holds, and keeping one run from overwriting another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from gsina.errors import InputError, MissingFileError
from gsina.files import load_tensors, locked, save_json
from gsina.runs.job import Job
from gsina.runs.recipe import Recipe

RUN, RESULT, CHECKPOINT = "run.json", "result.json", "checkpoint.safetensors"
#: Everything that a run writes.
FILES = (RUN, RESULT, CHECKPOINT, "log.jsonl", "model.safetensors")


class Saved(NamedTuple):
    """How far the run in a folder has come.

    Attributes:
        history: The record of every whole epoch.
        best_epoch: The selected epoch, -1 if there is none.
    """

    history: list[dict[str, Any]]
    best_epoch: int = -1

    def best(self, metric: str) -> float | None:
        """Validation metric of the selected epoch."""
        if self.best_epoch < 0:
            return None
        value: float = self.history[self.best_epoch]["val"][metric]
        return value


def default_folder(recipe: Recipe, seed: int) -> Path:
    """Where a run goes when nothing is said; another recipe goes elsewhere."""
    return Path("runs") / Job(recipe, seed).name


def saved(out: Path) -> Saved:
    """How far the run in a folder has come."""
    path = out / CHECKPOINT
    if not path.exists():
        return Saved([])
    progress = load_tensors(path)[1].get("progress", {})
    return Saved(progress.get("history", []), progress.get("best_epoch", -1))


def read_run(out: Path) -> tuple[Recipe, int]:
    """The recipe and the seed of the run in a folder.

    Raises:
        MissingFileError: There is no run.
        InputError: The file is broken.
    """
    path = out / RUN
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Recipe.parse(content["recipe"]), int(content["seed"])
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(
            f"there is no run in {out} to resume; name a dataset or a --recipe to start one."
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} does not describe a run ({error}); choose another --out."
        ) from error


def check_folder(out: Path) -> None:
    """Refuse an ``out`` that is a file."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder, and {out} is a file.")


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Keep other processes from training into the same folder; it is made, and not left empty.

    Raises:
        InputError: Another process is at it.
    """
    check_folder(out)
    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        with locked(out / ".lock") as mine:
            if not mine:
                raise InputError(
                    f"another process trains into {out} now; wait for it, or choose another --out."
                )
            yield
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()


def claim(out: Path, recipe: Recipe, seed: int, *, resume: bool, force: bool) -> None:
    """Make sure that a run may go into the folder; :func:`note_run` then notes it there.

    Raises:
        InputError: The folder holds a run and neither ``resume`` nor ``force`` is given, or it
            holds another run than the one to resume.
        OSError: The folder cannot be written to.
    """
    check_folder(out)
    if force:
        for name in FILES:
            (out / name).unlink(missing_ok=True)
    elif not resume:
        done = (out / RESULT).exists()
        if done or (out / CHECKPOINT).exists():
            raise InputError(
                f"{out} holds {'a finished' if done else 'an unfinished'} run already; go on "
                "with --resume, choose another --out, or replace it with --force."
            )
    elif (out / RUN).exists():
        old, old_seed = read_run(out)
        if (_without_epochs(old), old_seed) != (_without_epochs(recipe), seed):
            raise InputError(
                f"{out} holds another run ({_difference(old, old_seed, recipe, seed)}); resume it "
                "with the settings it was started with, or choose another --out."
            )


def note_run(out: Path, recipe: Recipe, seed: int) -> None:
    """Note in the folder which run it holds."""
    save_json(out / RUN, {"recipe": recipe.model_dump(), "seed": seed})


def _without_epochs(recipe: Recipe) -> dict[str, Any]:
    """What must not change in a resumed run: all but the largest number of epochs."""
    values = recipe.essential()
    values.get("optimiser", {}).pop("epochs", None)
    return {part: content for part, content in values.items() if content}


def _difference(old: Recipe, old_seed: int, new: Recipe, new_seed: int) -> str:
    """The first setting that differs, in words."""
    if old_seed != new_seed:
        return f"seed {old_seed}, not {new_seed}"
    before, after = _flat(_without_epochs(old)), _flat(_without_epochs(new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            return f"{name} {before.get(name)!r}, not {after.get(name)!r}"
    return "other settings"


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return flat
