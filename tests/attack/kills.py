"""``kill -9`` at random moments; what was interrupted goes on, and is as if nothing had been."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from attack.sandbox import command, run, start, wait
from attack.workshop import Missing, Trials, Workshop

#: A table that takes a second.
TINY = {"bias": 0.5, "num_per_class": 4}
#: Marks the processes that a case has started, so that what is left of them can be ended.
MARK = "GSINA_ATTACK"


@dataclass
class Job:
    """Something that can be killed and begun again.

    Attributes:
        first: The command, given the folder.
        again: The command that goes on after a kill, given the folder.
        found: What must be the same whether it was killed or not.
        whole: Its result without a kill, and how long that took.
    """

    first: Callable[[Path], Callable[[], Any]]
    again: Callable[[Path], Callable[[], Any]]
    found: Callable[[Path], object]
    whole: list[tuple[object, float]] = field(default_factory=list)

    def measure(self, shop: Workshop) -> tuple[object, float]:
        """The result and the time without a kill, found once."""
        if not self.whole:
            folder = shop.folder()
            ended = run(self.first(folder), folder, limits=(), seconds=300)
            if ended.code:
                raise RuntimeError(f"without a kill it ended with {ended.code}: {ended.err}")
            self.whole.append((self.found(folder), ended.seconds))
        return self.whole[0]

    def trial(self, random: Random, shop: Workshop) -> str:
        """Kill it, perhaps more than once, let it go on, and compare."""
        expected, seconds = self.measure(shop)
        folder = shop.folder()
        child = start(self.first(folder), folder, limits=())
        kills = random.choice((1, 1, 2, 3))
        for kill in range(kills):
            time.sleep(random.random() * seconds)
            os.kill(child, signal.SIGKILL)
            wait(child, folder)
            if kill + 1 < kills:
                child = start(self.again(folder), folder, limits=())
        ended = run(self.again(folder), folder, limits=(), seconds=300)
        where = f"after {kills} kills in {folder}"
        if ended.code or "Traceback" in ended.err:
            return f"{where} it ended with {ended.code}: {ended.err[-500:]}"
        if self.found(folder) != expected:
            return f"{where} the result is another one"
        if left := debris(folder):
            return f"{where} there is debris: {', '.join(left)}"
        shop.clear(folder)
        return ""


def debris(folder: Path) -> list[str]:
    """Files that a process has left behind."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob(".*"))
    return sorted(name for name in names if not name.endswith(("-journal", "-wal", "-shm")))


def content_of(path: Path) -> object:
    """What a file of tensors holds; the order of its metadata is another every time."""
    from gsina.files import load_tensors

    tensors, meta = load_tensors(path)
    return {name: value.numpy().tobytes() for name, value in tensors.items()}, meta


def log_of(run: Path) -> list[dict[str, Any]]:
    """The log of a run, without times."""
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [{key: line[key] for key in line if not key.startswith("seconds")} for line in lines]


def train(random: Random, shop: Workshop) -> Trials:
    """Training: weights and log equal those of a run that nobody killed."""
    quick = ("--epochs", 4, "--threads", 1)
    file, options = shop.graphs, (("--no-baseline",), ("--ensemble", 2, "--no-baseline"), ())

    def again(more: Sequence[object]) -> Callable[[Path], Callable[[], Any]]:
        def choose(folder: Path) -> Callable[[], Any]:
            if (folder / "run" / "run.json").exists():
                return command("train", "--out", "run", "--resume")
            return command("train", file, *quick, *more, "--out", "run")

        return choose

    def found(folder: Path) -> object:
        out = folder / "run"
        result = json.loads((out / "result.json").read_text())
        weights = content_of(out / "model" / "model.safetensors")
        return weights, log_of(out), result["metrics"], result["epochs"]

    jobs = [
        Job(
            lambda folder, more=more: command("train", file, *quick, *more, "--out", "run"),
            again(more),
            found,
        )
        for more in options
    ]
    while True:
        yield random.choice(jobs).trial(random, shop)


def use(random: Random, shop: Workshop) -> Trials:
    """Using a model: the output is whole or as it was, and the same when it is made again."""
    model, file = shop.model("graphs"), shop.graphs
    outs = {"predict": "out.csv", "explain": "page.html", "embed": "out.npy"}

    def job(name: str) -> Job:
        out = outs[name]
        asked = command(name, model, file, "-o", out, "--force", "--threads", 1)
        return Job(lambda _: asked, lambda _: asked, lambda folder: (folder / out).read_bytes())

    jobs = [job(name) for name in outs]
    while True:
        yield random.choice(jobs).trial(random, shop)


def bench(random: Random, shop: Workshop) -> Trials:
    """A table of results: no run is lost, and none is counted twice."""

    def asked(_: Path) -> Callable[[], Any]:
        work = command("bench", "tiny", "--results", "results", "--threads", 1)

        def with_table() -> None:
            from gsina.paper import tables
            from gsina.paper.tables.table import Cell, Table
            from gsina.runs.published import default_recipe

            os.environ["GSINA_CACHE"] = str(Path.cwd() / "cache")
            recipe = default_recipe("spmotif", "gin", "erm", data=TINY, epochs=2)
            cells = (Cell("GIN", "tiny", recipe, (0, 1)),)
            tables.TABLES["tiny"] = lambda: Table("tiny", "A tiny table", cells)
            work()

        return with_table

    def found(folder: Path) -> object:
        results = sorted((folder / "results" / "runs").glob("*.json"))
        return {path.name: json.loads(path.read_text())["metrics"] for path in results}

    job = Job(asked, asked, found)
    while True:
        yield job.trial(random, shop)


def tune(random: Random, shop: Workshop) -> Trials:
    """A search: the same command goes on, and ends with a recipe."""
    if importlib.util.find_spec("optuna") is None:
        raise Missing("optuna is not installed")
    asked = command("tune", shop.graphs, "--trials", 2, "--epochs", 1, "--out", "search")

    def found(folder: Path) -> object:
        names = sorted(path.name for path in (folder / "search").iterdir())
        done = (folder / "search" / "trials.csv").read_text().count(",COMPLETE,")
        return [name for name in names if not name.startswith("study.db-")], done >= 1

    job = Job(lambda _: asked, lambda _: asked, found)
    while True:
        yield job.trial(random, shop)


def cache(random: Random, shop: Workshop) -> Trials:
    """Preparing data: what is in the cache afterwards is whole, or made again."""

    def asked(_: Path) -> Callable[[], Any]:
        def work() -> None:
            os.environ["GSINA_CACHE"] = str(Path.cwd() / "cache")
            from gsina.datasets.catalog import load_dataset
            from gsina.files import save_tensors

            data = load_dataset("spmotif", bias=0.5, num_per_class=100)
            save_tensors(Path("train.safetensors"), data.train.tensors())

        return work

    def found(folder: Path) -> object:
        kept = sorted((folder / "cache").glob("*.safetensors"))
        return [*map(content_of, kept)], content_of(folder / "train.safetensors")

    job = Job(asked, asked, found)
    while True:
        yield job.trial(random, shop)


def torchrun(random: Random, shop: Workshop) -> Trials:
    """Two processes of one training, of which one or both are killed; one process goes on."""
    launch = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    port = ("--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")
    data = ("spmotif", "--data-option", "num_per_class=10", "--bias", "0.5", "--batch-size", "16")
    while True:
        folder = shop.folder()
        rest = ("-m", "gsina", "train", *data, "--epochs", "500", "--out", "run")
        with Started([sys.executable, *launch, *port, *rest], folder) as job:
            job.wait_for(folder / "run" / "log.jsonl")
            time.sleep(random.random() * 2)
            everybody = job.processes()
            job.kill(random.choice([everybody[-1:], everybody]))
        yield _goes_on(shop, folder)


def ray(random: Random, shop: Workshop) -> Trials:
    """A search on a Ray cluster, whose driver is killed; the same search goes on without Ray."""
    for package in ("ray", "optuna"):
        if importlib.util.find_spec(package) is None:
            raise Missing(f"{package} is not installed")
    search = ("tune", "spmotif", "--data-option", "num_per_class=4", "--epochs", "2")
    while True:
        folder = shop.folder()
        asked = (*search, "--trials", "50", "--out", "search", "--ray", "auto")
        with Started([sys.executable, "-m", "gsina", *asked], folder) as job:
            job.wait_for(folder / "search" / "study.db")
            time.sleep(random.random() * 10)
            job.kill([job.process.pid])
        ended = run(command(*search, "--trials", 1, "--out", "search"), folder, seconds=300)
        whole = (folder / "search" / "best.toml").exists() and not debris(folder / "search")
        if ended.code == 0 and whole:
            shop.clear(folder)
            yield ""
        else:
            yield f"in {folder} the search ended with {ended.code}: {ended.err[-500:]}"


class Started:
    """A command in processes of its own, all of which have ended after the block."""

    def __init__(self, asked: Sequence[str], folder: Path) -> None:
        self.mark = secrets.token_hex(8)
        # Names of sockets, which Ray has in its folder, must be short.
        self.rays = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        environment = os.environ | {MARK: self.mark, "RAY_TMPDIR": self.rays}
        environment["RAY_worker_niceness"] = "0"
        errors = (folder / "errors.txt").open("wb")
        self.process = subprocess.Popen(
            asked, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        errors.close()

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        for _ in range(20):  # those of Ray start others while they end
            left = self.processes()
            self.kill(left)
            if self.process.poll() is not None and not left:
                break
            time.sleep(0.2)
        shutil.rmtree(self.rays, ignore_errors=True)

    def wait_for(self, path: Path, seconds: float = 120) -> None:
        """Wait until a file is there; fail if the command has ended before."""
        limit = time.monotonic() + seconds
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"{self.process.args} did not come to {path}")
            time.sleep(0.02)

    def processes(self) -> list[int]:
        """The processes of the command that are alive, as the mark in their environment tells."""
        found, mark = [], f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended, or is somebody else's
        return sorted(found)

    def kill(self, pids: Sequence[int]) -> None:
        """Kill some of them."""
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _goes_on(shop: Workshop, folder: Path) -> str:
    """Whether one process can go on with a run for one epoch, and leaves no debris."""
    epochs = len((folder / "run" / "log.jsonl").read_text().splitlines())
    asked = command("train", "--out", "run", "--resume", "--epochs", epochs + 1)
    ended = run(asked, folder, limits=(), seconds=300)
    if ended.code:
        return f"in {folder} the run ended with {ended.code}: {ended.err[-500:]}"
    if left := debris(folder / "run"):
        return f"in {folder} there is debris: {', '.join(left)}"
    if len(log_of(folder / "run")) < epochs:
        return f"in {folder} the log is shorter than before"
    shutil.rmtree(folder / "run")
    shop.clear(folder)
    return ""
