"""Two processes at once: one folder belongs to one of them, and one cache serves both."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from attack.kills import content_of, debris
from attack.sandbox import Ended, command, output_of, run, start, wait
from attack.workshop import Trials, Workshop


def one_folder(random: Random, shop: Workshop) -> Trials:
    """Two trainings into one folder: one trains, the other says so; the result is that of one."""
    asked = command("train", shop.graphs, "--epochs", 3, "--no-baseline", "--out", "../run")

    def weights(out: Path) -> object:
        return content_of(out / "model" / "model.safetensors")

    alone = shop.folder()
    (alone / "a").mkdir()
    run(asked, alone / "a", limits=())
    while True:
        ended = _both(random, shop, asked)
        where = ended.pop("folder")
        first, second = ended["first"], ended["second"]
        good = [one for one in (first, second) if one.code == 0]
        problem = "".join(one.problem for one in (first, second))
        if not problem and len(good) != 1:
            problem = f"{len(good)} of two processes trained"
        if not problem and weights(where / "run") != weights(alone / "run"):
            problem = "the model is another one than that of one process"
        if not problem and debris(where):
            problem = f"there is debris: {debris(where)}"
        if not problem:
            shop.clear(where)
        yield problem and f"in {where}: {problem}"


def one_cache(random: Random, shop: Workshop) -> Trials:
    """Two trainings that fill one empty cache: both end well, with the same numbers."""

    def asked(place: Path) -> Callable[[], Any]:
        work = command(
            *("train", "spmotif", "--data-option", "num_per_class=20", "--epochs", 1),
            *("--out", "run", "--threads", 1),
        )

        def in_cache() -> None:
            os.environ["GSINA_CACHE"] = str(place)
            work()

        return in_cache

    while True:
        ended = _both(random, shop, asked(Path("../cache")))
        where = ended.pop("folder")
        problem = "".join(one.problem or one.err * bool(one.code) for one in ended.values())
        if not problem:
            results = [(where / name / "run" / "result.json").read_text() for name in ended]
            found = {json.dumps(json.loads(result)["metrics"]) for result in results}
            problem = "the two have other numbers" if len(found) > 1 else ""
        if not problem and debris(where):
            problem = f"there is debris: {debris(where)}"
        if not problem:
            shop.clear(where)
        yield problem and f"in {where}: {problem}"


def _both(random: Random, shop: Workshop, work: Callable[[], Any]) -> dict[str, Any]:
    """Do the same twice at once, in two folders inside one."""
    where = shop.folder()
    places = {name: where / name for name in ("first", "second")}
    children = {}
    for name, place in places.items():
        place.mkdir()
        children[name] = start(work, place, limits=())
        time.sleep(random.choice((0, 0, 0.1)) * random.random())
    ended: dict[str, Any] = {name: _wait(children[name], places[name]) for name in places}
    return ended | {"folder": where}


def _wait(child: int, place: Path) -> Ended:
    ended = wait(child, place, 300)
    output_of(place).unlink(missing_ok=True)
    return ended
