"""The runs below a folder, as far as their files can be read; nothing here needs torch."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gsina.errors import reason_of
from gsina.files import is_locked, parse_json
from gsina.listeners.log import LOG
from gsina.metrics import METRICS
from gsina.runs.names import LOCK, RECIPE, RESULT, RUN

#: What a run can be.
STATES = ("finished", "running", "unfinished", "damaged")
#: How the folders of single runs begin in a folder of several.
REPEATS = ("seed-", "fold-")
#: Bytes that no file of a run reaches.
LARGEST = 2**26


@dataclass(frozen=True)
class FoundRun:
    """A run folder, and what its files say; ``None`` and empty text for what they do not.

    Attributes:
        folder: The folder.
        state: One of :data:`STATES`; ``unfinished`` was interrupted, or never began.
        data: Name of the dataset, or of the file.
        method: Name of the method.
        backbone: Name of the network.
        seed: Seed of the training; of several runs ``None``.
        epochs: Epochs that are done.
        metric: The main metric.
        validation: Its value on validation data.
        test: Its value on test data.
        finished: When it ended, in ISO format.
        problem: What is wrong with a damaged folder.
    """

    folder: Path
    state: str
    data: str = ""
    method: str = ""
    backbone: str = ""
    seed: int | None = None
    epochs: int | None = None
    metric: str = ""
    validation: float | None = None
    test: float | None = None
    finished: str = ""
    problem: str = ""

    @property
    def rank(self) -> float:
        """Smaller is better: by validation, which may choose, else by test; else the worst."""
        score = self.test if self.validation is None else self.validation
        if score is None:
            return math.inf
        larger = self.metric not in METRICS or METRICS[self.metric].larger_is_better
        return -score if larger else score


def find_runs(folder: Path) -> Iterator[FoundRun]:
    """All runs in and below a folder, in the order of their names; links are not followed.

    Args:
        folder: Where to look.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        inner = _folders(place)
        if (place / RUN).is_file() or _is_result(place / RESULT):
            yield read_run_folder(place)
            inner = [one for one in inner if one.name.startswith(REPEATS)]
        waiting += reversed(inner)


def read_run_folder(folder: Path) -> FoundRun:
    """What the files of a run say; damaged ones make a damaged run, never an error."""
    try:
        noted = _object(folder / RUN)
        result = _object(folder / RESULT)
        recipe = result.get("recipe") or noted.get("own") or noted.get("recipe")
        if recipe is None:
            recipe = tomllib.loads(_text(folder / RECIPE))
        running = is_locked(folder / LOCK)
        return FoundRun(
            folder,
            "running" if running else "finished" if result else "unfinished",
            finished=str(result.get("finished", "")),
            seed=_whole(None if noted.get("repeats") else result.get("seed", noted.get("seed"))),
            epochs=_whole(result["epochs"]) if "epochs" in result else _logged(folder / LOG),
            **_names(recipe),
            **_scores(result),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return FoundRun(folder, "damaged", problem=reason_of(error))


def _folders(folder: Path) -> list[Path]:
    try:
        found = [one for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(Path(one.path) for one in found if not one.name.startswith("."))


def _text(path: Path) -> str:
    """A file of text; empty if there is none, or no plain file."""
    if not path.is_file():
        return ""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} is too large to be that of a run")
    return path.read_text(encoding="utf-8")


def _object(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; empty if there is no file."""
    if not path.is_file():
        return {}
    try:
        found = parse_json(_text(path))
    except ValueError as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise TypeError(f"{path.name} holds a {type(found).__name__}, expected an object")
    return found


def _is_result(path: Path) -> bool:
    """Whether a file called ``result.json`` is that of a run, and not of another program."""
    try:
        return isinstance(_object(path).get("recipe"), dict)
    except (OSError, ValueError, TypeError):
        return False


def _names(recipe: dict[str, Any]) -> dict[str, Any]:
    data = recipe["data"]
    files = data.get("files") or [data.get("file", "")]
    name = data.get("title") or data.get("name") or Path(str(files[0])).name
    parts = {part: recipe.get(part) or {} for part in ("method", "backbone")}
    return {"data": str(name)} | {part: str(one.get("name", "")) for part, one in parts.items()}


def _scores(result: dict[str, Any]) -> dict[str, Any]:
    metric = str(result.get("metric", ""))
    scores = result.get("metrics", {})
    values = {
        name: _number(scores.get(split, {}).get(metric))
        for name, split in (("validation", "val"), ("test", "test"))
    }
    return {"metric": metric, **values}


def _logged(path: Path) -> int:
    """Epochs in a log."""
    return _text(path).count("\n")


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
