"""A disk that is full: by a limit of file sizes, or really, where a small disk can be mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from attack.kills import content_of, debris, log_of
from attack.sandbox import Ended, command, limit_files, run
from attack.workshop import Trials, Workshop

#: What limits a process, as it begins.
Limits = Sequence[Callable[[], None]]


def full_disk(random: Random, shop: Workshop) -> Trials:
    """Train and use a model on a full disk: one sentence, nothing lost, and it goes on after."""
    model, graphs = shop.model("graphs"), shop.graphs
    train = ("train", graphs, "--epochs", 2, "--no-baseline", "--threads", 1, "--out", "run")
    whole = shop.folder()
    shop.do(whole, *train)
    files = [path for path in (whole / "run").rglob("*") if path.is_file()]
    largest = max(path.stat().st_size for path in files)
    expected = _found(whole)
    disk = shop.root / "disk"
    while True:
        folder = shop.folder()
        size = random.randrange(1, largest + 1000)
        mounted = random.random() < 0.5 and _mount(disk, size)
        place = disk if mounted else folder
        limits: Limits = () if mounted else (partial(limit_files, size),)
        try:
            problem = _trial(random, shop, place, train, model, limits, expected, mounted)
        finally:
            if mounted:
                subprocess.run(["umount", str(disk)], check=True)
        if not problem:
            shop.clear(folder)
        yield problem and f"with {size} bytes of disk in {place}: {problem}"


def _trial(
    random: Random,
    shop: Workshop,
    place: Path,
    train: tuple[object, ...],
    model: Path,
    limits: Limits,
    expected: object,
    mounted: bool,
) -> str:
    if random.random() < 0.5:
        old = b"what was there before\n"
        (place / "out.csv").write_bytes(old)
        asked = ("predict", model, train[1], "-o", "out.csv", "--force")
        ended = _on(shop, place, asked, limits)
        if ended.problem:
            return ended.problem
        if ended.code and (place / "out.csv").read_bytes() != old:
            return "the file that was there is lost"
        return f"there is debris: {debris(place)}" if debris(place) else ""
    ended = _on(shop, place, train, limits)
    if ended.problem:
        return ended.problem
    if left := debris(place):
        return f"there is debris: {left}"
    if mounted:  # make room
        subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
    begun = (place / "run" / "run.json").exists()
    again = ("train", "--out", "run", "--resume") if begun else (*train, "--force")
    ended = _on(shop, place, again, ())
    if ended.code:
        return f"it did not go on: {ended.err[-500:]}"
    return "" if _found(place) == expected else "the result is another one"


def _on(shop: Workshop, place: Path, asked: tuple[object, ...], limits: Limits) -> Ended:
    """Run a command in a place, with its output elsewhere."""
    beside = shop.folder()
    work = command(*asked)

    def there() -> None:
        os.chdir(place)
        for limit in limits:
            limit()
        work()

    ended = run(there, beside, limits=(), seconds=300)
    shop.clear(beside)
    return ended


def _found(folder: Path) -> object:
    weights = content_of(folder / "run" / "model" / "model.safetensors")
    return weights, log_of(folder / "run")


def _mount(disk: Path, size: int) -> bool:
    """Whether a disk of so many bytes could be mounted, which takes a system's rights."""
    if os.geteuid() != 0:
        return False
    disk.mkdir(exist_ok=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={max(size, 4096)}", "none", str(disk)]
    return subprocess.run(asked, capture_output=True).returncode == 0
