"""All families of attacks, one after the other, each for its share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from attack import crowds, files, folders, full_disk, kernel, kills
from attack.workshop import Missing, Trials, Workshop


@dataclass(frozen=True)
class Family:
    """One kind of attack.

    Attributes:
        name: What is tried, in words.
        promise: The number of the promise in docs/reliability.md that it is about.
        attack: Gives one trial after the other.
        share: Its part of the time, relative to the others.
        enough: Trials of a build, so that a fast machine does not try what no other has.
    """

    name: str
    promise: int
    attack: Callable[[Random, Workshop], Trials]
    share: float = 1.0
    enough: int = 30


@dataclass
class Tally:
    """How a family went.

    Attributes:
        family: Which.
        tried: Trials.
        broken: Why some of them broke something.
        seconds: How long all took.
        skipped: Why it was not tried.
    """

    family: Family
    tried: int = 0
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0
    skipped: str = ""

    @property
    def survived(self) -> int:
        """Trials that broke nothing."""
        return self.tried - len(self.broken)

    def record(self) -> dict[str, Any]:
        """As the file of results has it."""
        return {
            "family": self.family.name,
            "promise": self.family.promise,
            "tried": self.tried,
            "survived": self.survived,
            "seconds": round(self.seconds, 1),
            **({"skipped": self.skipped} if self.skipped else {}),
            **({"broken": self.broken} if self.broken else {}),
        }


FAMILIES = (
    Family("graphs in lines of JSON", 5, files.json_graphs, 3),
    Family("tables of molecules", 5, files.tables, 3),
    Family("tables of nodes and edges", 5, files.node_tables, 2),
    Family("files of tensors", 4, files.tensor_files, 2),
    Family("values of options", 5, files.option_values, 3),
    Family("model folders", 4, folders.model_folders, 3),
    Family("checkpoints and run folders", 4, folders.run_folders, 3),
    Family("pickles", 4, folders.pickles, 1, 1000),
    Family("packed files of datasets", 4, folders.dataset_files, 1, 1000),
    Family("the compiled kernel under sanitizers", 1, kernel.sanitised, 2, 20_000),
    Family("kill -9 in train", 3, kills.train, 4),
    Family("kill -9 in predict, explain and embed", 3, kills.use, 3),
    Family("kill -9 in bench", 3, kills.bench, 2),
    Family("kill -9 in tune", 3, kills.tune, 3),
    Family("kill -9 in filling the cache", 3, kills.cache, 2),
    Family("kill -9 under torchrun", 3, kills.torchrun, 2),
    Family("kill -9 under Ray", 3, kills.ray, 2),
    Family("two processes in one folder", 2, crowds.one_folder, 2),
    Family("two processes in one cache", 2, crowds.one_cache, 2),
    Family("a full disk", 3, full_disk.full_disk, 3),
)


def campaign(
    shop: Workshop,
    seconds: float,
    seed: int,
    families: Iterable[Family] = FAMILIES,
    say: Callable[[str], None] = lambda line: None,
    *,
    brief: bool = False,
) -> list[Tally]:
    """Attack with every family; each has its share of the time, and at least one trial.

    Args:
        shop: Where the attacks take place.
        seconds: Time for all.
        seed: Seeds all families; each is the same alone and with others.
        families: Which.
        say: Called with a line about every family, and about everything that broke.
        brief: Whether to end every family when it has had enough trials for a build.
    """
    families = tuple(families)
    whole = sum(family.share for family in families)
    tallies = []
    for family in families:
        tally, began = Tally(family), time.monotonic()
        tallies.append(tally)
        try:
            for problem in family.attack(Random(f"{seed} {family.name}"), shop):
                tally.tried += 1
                if problem:
                    tally.broken.append(problem)
                    say(f"BROKEN: {family.name}, seed {seed}, trial {tally.tried}: {problem}")
                late = time.monotonic() - began > seconds * family.share / whole
                if late or (brief and tally.tried >= family.enough):
                    break
        except Missing as why:
            tally.skipped = str(why)
        tally.seconds = time.monotonic() - began
        say(line_of(tally))
    return tallies


def line_of(tally: Tally) -> str:
    """One line of the table."""
    if tally.skipped:
        return f"{tally.family.name:<40} not tried: {tally.skipped}"
    counts = f"{tally.tried:>7} tried {tally.survived:>7} survived"
    return f"{tally.family.name:<40} {counts} {tally.seconds:>7.1f} s"
