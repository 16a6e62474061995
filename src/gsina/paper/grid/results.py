"""Result files: one JSON per finished run, found by its recipe and seed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gsina.errors import InputError
from gsina.files import locked, parse_json, save_json, save_text
from gsina.runs.job import Job, identity
from gsina.runs.recipe import Recipe

#: The folder of all results, relative to where the command runs.
DEFAULT_FOLDER = Path("results")


#: What reading an incomplete result may raise.
BROKEN = (ValueError, KeyError, TypeError, AttributeError)


def metric_of(result: dict[str, Any]) -> str:
    """The main metric of a result; the oldest files do not say that it is accuracy."""
    return str(result.get("metric", "accuracy"))


def _test_splits(result: dict[str, Any]) -> list[str]:
    return [name for name in result["metrics"] if name == "test" or name.startswith("test-")]


def ood_score(result: dict[str, Any]) -> float | None:
    """The main metric on the test split; the mean over the splits ``test-...`` of several."""
    metric = metric_of(result)
    values = [result["metrics"][split][metric] for split in _test_splits(result)]
    if not values or any(value is None for value in values):
        return None
    return float(sum(values) / len(values))


def _check(result: Any) -> None:
    """Raise unless this has everything that tables need, with numbers where they are expected.

    Raises:
        InputError: Something is of another kind, or not a number.
        KeyError: Something is missing.
        TypeError: A part has no parts.
        AttributeError: The same.
    """
    tests = _test_splits(result)
    if not tests or "val" not in result["metrics"]:
        raise KeyError("val or test")
    for name, scores in result["metrics"].items():
        if name in ("val", *tests) and metric_of(result) not in scores:
            raise KeyError(name)
        for score in scores.values():
            if score is not None and math.isnan(score):
                raise InputError("NaN is no score")
    hardware = result["hardware"]
    texts = (result["selection"], result["commit"], result["versions"]["torch"], hardware["cpu"])
    if not all(isinstance(text, str) for text in texts) or "threads" not in hardware:
        raise InputError("not a result file")


def _read(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    _check(result)
    return result


def _same(found: dict[str, Any], recipe: Recipe) -> bool:
    """Whether a stored recipe is this one, except for settings that it does not have."""
    return found == recipe.model_dump() or identity(Recipe.parse(found)) == identity(recipe)


class Results:
    """A folder of results; those of runs are files in its folder ``runs``."""

    def __init__(self, root: Path = DEFAULT_FOLDER) -> None:
        self.root = root
        self.folder = root / "runs"

    def path(self, job: Job) -> Path:
        """Where the result of a job is, or will be."""
        return self.folder / f"{job.name}.json"

    def load(self, job: Job) -> dict[str, Any] | None:
        """The result of a job; ``None`` if it is not there, or broken."""
        with contextlib.suppress(FileNotFoundError, *BROKEN):
            result = _read(self.path(job))
            explainer = (job.explainer or "pieces").partition(",")[0]
            same = result["seed"] == job.seed and _same(result["recipe"], job.recipe)
            if same and result.get("explainer", "pieces") == explainer:
                return result
        return None

    def broken(self, jobs: Iterable[Job]) -> list[Path]:
        """Files of these jobs that are not complete results."""
        paths = {self.path(job): job for job in jobs}
        return [path for path, job in paths.items() if path.exists() and self.load(job) is None]

    def save(self, job: Job, result: dict[str, Any]) -> Path:
        """Write a result, atomically."""
        path = self.path(job)
        save_json(path, result)
        return path

    def diverged(self, job: Job) -> str | None:
        """The message of a job that diverged; ``None`` if it did not, or has a result."""
        try:
            text = self.diverged_path(job).read_text(encoding="utf-8")
            return None if self.load(job) else str(parse_json(text)["message"]) or "diverged."
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return "training diverged."

    def save_diverged(self, job: Job, message: str, about: dict[str, Any] | None = None) -> Path:
        """Record that a run diverges, as it would every time, so that it is not run again.

        Args:
            job: The job.
            message: Its error message.
            about: What it was run with.
        """
        path = self.diverged_path(job)
        what = {"message": message, "recipe": job.recipe.model_dump(), "seed": job.seed}
        save_json(path, what | (about or {}))
        return path

    def diverged_path(self, job: Job) -> Path:
        """Where it is recorded that a run diverges."""
        return self.folder / f"{job.name}.diverged"

    def stopped(self, job: Job) -> dict[str, str] | None:
        """What is recorded of a stopped trial: ``message`` and ``behind``, a job's name.

        ``None`` if it was not stopped, or has a result by now.
        """
        with contextlib.suppress(FileNotFoundError, *BROKEN):
            found = parse_json(self.stopped_path(job).read_text(encoding="utf-8"))
            about = {"message": str(found["message"]), "behind": str(found["behind"])}
            return None if self.load(job) else about
        return None

    def save_stopped(self, job: Job, message: str, behind: Job, about: dict[str, Any]) -> Path:
        """Record that a trial was stopped, and behind which other.

        Args:
            job: The trial.
            message: Why.
            behind: The trial that it was held against.
            about: What it was run with.
        """
        path = self.stopped_path(job)
        what = {"message": message, "behind": behind.name, "recipe": job.recipe.model_dump()}
        save_json(path, what | {"seed": job.seed} | about)
        return path

    def stopped_path(self, job: Job) -> Path:
        """Where it is recorded that a trial was stopped."""
        return self.folder / f"{job.name}.stopped"

    def save_crash(self, job: Job, trace: str) -> Path:
        """Keep the traceback of a job that hit a bug, for debugging."""
        path = self.folder / f"{job.name}.traceback"
        save_text(path, trace)
        return path

    def claim(self, job: Job) -> contextlib.AbstractContextManager[bool]:
        """Lock a job against other processes; yields whether the lock was free.

        The lock is released when the process ends, however it ends.
        """
        return locked(self.folder / f".{job.name}.lock")

    def clear_locks(self) -> None:
        """Remove the locks of processes that were killed after they had stored their result."""
        for path in self.folder.glob(".*.lock"):
            with locked(path):  # leaving it removes the file; one that is held stays
                pass
