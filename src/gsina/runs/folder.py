"""The folder of a run: what it holds, and keeping one run from overwriting another.

``recipe.toml`` says what is run, ``run.json`` with which seed and on which content of a file. Then
come ``checkpoint.safetensors`` and ``log.jsonl``, and at the end ``model/``, ``report.html`` and
``result.json``; ``unreadable.csv`` lists the rows of a file that could not be read, ``baselines/``
keeps what the model is compared with. Folders of version 0.1 had the recipe in ``run.json``. For a
folder of several runs see :mod:`gsina.runs.repeats`.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gsina.errors import InputError, MissingFileError
from gsina.files import (
    load_text,
    locked,
    parse_json,
    refuse_link,
    remove_leftovers,
    save_json,
    save_text,
)
from gsina.graphs.cells import inert
from gsina.graphs.dataset import Dataset
from gsina.listeners.log import LOG
from gsina.listeners.trackers.tensorboard import FOLDER as TENSORBOARD
from gsina.listeners.trackers.tracker import TRACKED
from gsina.methods.registry import check_can
from gsina.models.plan import trial_folders
from gsina.runs.data import NamedData
from gsina.runs.job import Job
from gsina.runs.names import (
    BASELINES,
    LOCK,
    MODEL,
    OLD_WEIGHTS,
    PREDICTIONS,
    RECIPE,
    REPORT,
    RESULT,
    RUN,
    UNREADABLE,
)
from gsina.runs.recipe import Recipe
from gsina.runs.toml import to_toml
from gsina.training.checkpoint import FILE as CHECKPOINT

#: Raise it when an older version could not resume the folder.
FORMAT = 2
#: The folders that a run makes inside its own.
INSIDE = (MODEL, BASELINES, f"{BASELINES}/erm", TENSORBOARD)
#: Most folds that a folder may say it has, far beyond what anybody trains.
MOST_FOLDS = 10_000
#: Everything that a run writes, besides its model.
FILES = (
    *(RUN, RECIPE, RESULT, REPORT, UNREADABLE, PREDICTIONS),
    *(CHECKPOINT, LOG, OLD_WEIGHTS, TRACKED),
)


def default_folder(recipe: Recipe, seed: int) -> Path:
    """The default folder of a run; for named datasets it depends on the recipe and the seed."""
    named = isinstance(recipe.data, NamedData)
    return Path("runs") / (Job(recipe, seed).name if named else recipe.data.name)


def read_run(out: Path) -> tuple[Recipe, int]:
    """The recipe and the seed of the run in a folder.

    Raises:
        MissingFileError: There is no run.
        InputError: The file is broken, or of a newer version.
    """
    noted = _noted(out)
    if not noted:
        raise MissingFileError(
            f"there is no run in {out} to resume; name a file, a dataset or a --recipe to start "
            "one."
        )
    check_version(out)
    old = noted.get("own") or noted.get("recipe")  # as version 0.1 had it
    recipe = Recipe.read(out / RECIPE) if old is None else Recipe.parse(old)
    if not isinstance(noted.get("seed"), int):
        raise InputError(f"{out / RUN} names no seed; choose another --out, or use --force.")
    return recipe, int(noted["seed"])


def read_repeats(out: Path) -> dict[str, Any]:
    """Which runs a folder of several holds, as :func:`note_run` was told; else nothing."""
    found = _noted(out).get("repeats")
    if not found:
        return {}
    try:
        _Repeats.model_validate(found)
    except ValidationError as error:
        raise _damaged(out) from error
    return dict(found)


class _Repeats(BaseModel):
    """What may be said of several runs: whatever else could name any folder, or too many."""

    model_config = ConfigDict(extra="forbid", strict=True)
    seeds: list[int]
    folds: Annotated[int, Field(ge=2, le=MOST_FOLDS)] | None


def repeat_names(repeats: dict[str, Any]) -> list[str]:
    """The names of the folders of several runs, as :func:`read_repeats` says which."""
    seeds, folds = repeats.get("seeds") or (), repeats.get("folds") or 0
    return [*(f"seed-{seed}" for seed in seeds), *(f"fold-{fold}" for fold in range(folds))]


def has_baselines(out: Path) -> bool | None:
    """Whether the run in a folder has baselines beside it; ``None`` if there is no run."""
    noted = _noted(out)
    return bool(noted.get("baselines", False)) if noted else None


def check_version(out: Path) -> None:
    """Refuse the folder of a newer version."""
    if _noted(out).get("format", 1) > FORMAT:
        raise InputError(f"the run in {out} was written by a newer gsina; update gsina to use it.")


def check_folder(out: Path) -> None:
    """Refuse an ``out`` that is a file."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder, and {out} is a file.")


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Lock the folder against other processes; it is created, and removed if it stays empty.

    Raises:
        InputError: Another process trains into it, or a folder inside is a link to elsewhere.
    """
    check_folder(out)
    inside = [folder / name for folder in folders_of(out) for name in INSIDE]
    for folder in (*inside, *folders_of(out)[1:]):
        refuse_link(folder)
    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        with locked(out / LOCK) as mine:
            if not mine:
                raise InputError(
                    f"another process is training into {out}; wait for it, or choose another --out."
                )
            for folder in (*inside, *folders_of(out)):
                remove_leftovers(folder)
            yield
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()


def claim(
    out: Path,
    recipe: Recipe,
    seed: int,
    *,
    resume: bool,
    force: bool,
    repeats: dict[str, Any] | None = None,
) -> None:
    """Make sure that a run may go into the folder; :func:`note_run` then notes it there.

    Args:
        out: The folder.
        recipe: What is trained.
        seed: With which seed.
        resume: Whether to go on with the run that is there.
        force: Whether to replace it.
        repeats: Which runs it is to hold, if several.

    Raises:
        InputError: The folder holds a run and neither ``resume`` nor ``force`` is given, or it
            holds another run than the one to resume, or one of a newer version.
        OSError: The folder cannot be written to.
    """
    check_folder(out)
    if force:
        return  # `note_run` clears the folder, once the new data are known to be good
    check_version(out)
    if not resume:
        done = (out / RESULT).exists()
        # A failed start has left no checkpoint.
        begun = any((folder / CHECKPOINT).exists() for folder in folders_of(out))
        if done or begun or (out / MODEL).exists():
            raise InputError(
                f"{out} holds {'a finished' if done else 'an unfinished'} run already; continue "
                "with --resume, choose another --out, or replace it with --force."
            )
    elif (out / RUN).exists():
        old, old_seed = read_run(out)
        if read_repeats(out) != (repeats or {}):
            raise InputError(
                f"{out} holds {'several runs' if read_repeats(out) else 'another run'}, not "
                f"{'these' if repeats else 'one'}; resume with `gsina train --out {out} --resume` "
                "alone, or choose another --out."
            )
        if (_lasting(old), old_seed) != (_lasting(recipe), seed):
            raise InputError(
                f"{out} holds another run ({_difference(old, old_seed, recipe, seed)}); resume it "
                f"with `gsina train --out {out} --resume` alone, or choose another --out."
            )


def note_run(
    out: Path,
    recipe: Recipe,
    seed: int,
    dataset: Dataset,
    *,
    resume: bool = False,
    repeats: dict[str, Any] | None = None,
    baselines: bool = False,
) -> None:
    """Note in the folder which run it holds, and the rows of its file that could not be read.

    Args:
        out: The folder.
        recipe: What is trained.
        seed: With which seed.
        dataset: The data.
        resume: Whether the run in the folder continues; otherwise its leftovers are removed.
        repeats: Which runs it is to hold, if several.
        baselines: Whether baselines are trained beside it.

    Raises:
        InputError: The run was started on other content of the file, or the method cannot learn
            from the data.
    """
    check_can(recipe.method.name, dataset.task.level, dataset.task.kind)  # nothing is kept of it
    if not resume:
        for folder in folders_of(out):
            if (folder / RUN).exists():  # the leftovers of a run, perhaps one of several
                shutil.rmtree(folder / MODEL, ignore_errors=True)
            for name in FILES:
                (folder / name).unlink(missing_ok=True)
        for name in (MODEL, BASELINES, TENSORBOARD):
            shutil.rmtree(out / name, ignore_errors=True)
    content = dataset.origin.fingerprint
    before = _noted(out).get("fingerprint") or content
    if before != content:
        raise InputError(
            f"the file has changed since the run in {out} was started; choose another --out, or "
            "start again with --force."
        )
    save_text(out / RECIPE, to_toml(recipe.model_dump()))
    noted: dict[str, Any] = {"format": FORMAT, "seed": seed, "fingerprint": content}
    noted |= {"baselines": baselines} | ({"repeats": repeats} if repeats else {})
    save_json(out / RUN, noted)
    if dataset.origin.unreadable:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("row", "reason"))
        table.writerows((row, inert(reason)) for row, reason in dataset.origin.unreadable)
        save_text(out / UNREADABLE, text.getvalue())


def _noted(out: Path) -> dict[str, Any]:
    """What ``run.json`` says; nothing if there is none.

    Raises:
        InputError: It is damaged.
    """
    try:
        content = parse_json(load_text(out / RUN))
    except OSError:
        return {}
    except ValueError:
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("format", 1), int):
        raise _damaged(out)
    return content


def _damaged(out: Path) -> InputError:
    return InputError(f"{out / RUN} is damaged; start the run again with --force.")


def folders_of(out: Path) -> list[Path]:
    """All folders that hold files of a run, or of several."""
    runs = [out]
    with suppress(InputError):  # a damaged file names no others
        runs += [out / name for name in repeat_names(read_repeats(out))]
    return [folder for one in runs for folder in trial_folders(one)]


def _lasting(recipe: Recipe) -> dict[str, Any]:
    """What must not change in a resumed run: all but the largest number of epochs."""
    values = recipe.essential()
    values.get("optimiser", {}).pop("epochs", None)
    return {part: content for part, content in values.items() if content}


#: What users call a setting whose last word in a recipe says too little, or something else.
WORDS = {
    "data.name": "dataset",
    "data.files": "files",
    "data.options.kind": "task",
    "data.options.targets": "target",
    "method.name": "method",
    "backbone.name": "backbone",
    "selection.rule": "selection rule",
    "auto_ratio": "ratio auto",
}


def _difference(old: Recipe, old_seed: int, new: Recipe, new_seed: int) -> str:
    """The first setting that differs, in words."""
    if old_seed != new_seed:
        return f"seed {old_seed}, not {new_seed}"
    before, after = _flat(_lasting(old)), _flat(_lasting(new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            words = WORDS.get(name, name.rpartition(".")[2].replace("_", " "))
            return f"{words} {_shown(before.get(name))}, not {_shown(after.get(name))}"
    return "other settings"


def _shown(value: Any) -> str:
    """A setting as users write it; one that is left out is the default."""
    if value is None:
        return "by default"
    if isinstance(value, dict):
        return ",".join(f"{name}={one:g}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their paths, such as ``method.options.ratio``."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, dict) and (not prefix or name == "options")
        flat |= _flat(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return flat
