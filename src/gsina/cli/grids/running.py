"""Running the jobs of tables, and saying how it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table as RichTable

from gsina.cli import show
from gsina.cli.progress import Bar, load_with_bar
from gsina.errors import InputError
from gsina.listeners.progress import clock
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.paper.grid.results import Results
    from gsina.paper.grid.runner import Finished
    from gsina.paper.tables.table import Cell, Table
    from gsina.runs.job import Job
    from gsina.runs.recipe import Recipe

#: What is said after Ctrl-C.
KEPT = "interrupted; what is finished is kept, and the same command continues from here."


def waiting_jobs(table: Table, store: Results, failed: Collection[str] = ()) -> list[Job]:
    """The jobs to run next, each once, as cells may share runs."""
    from gsina.paper.grid.plan import waiting
    from gsina.paper.tables.tuned_cells import resolve

    jobs = [job for cell in resolve(table, store).cells for job in waiting(cell, store)]
    return list({job.name: job for job in jobs if job.name not in failed}.values())


def without_data(jobs: list[Job]) -> set[str]:
    """Prepare the data of the jobs, and print and return the datasets that are missing."""
    missing: set[str] = set()
    for data in {str(job.recipe.data): job.recipe.data for job in jobs}.values():
        if data.name in missing:
            continue
        try:
            load_with_bar(data)
        except (FileNotFoundError, ImportError) as problem:
            missing.add(data.name)
            show.say(f"left out, no data of {data.name}: {problem}", "yellow")
        except InputError:
            continue  # every run that needs the data reports it
    return missing


def measure_table(table: Table, store: Results) -> None:
    """Measure a few steps of every kind of run in the table, and keep the times of an epoch."""
    from gsina.paper.grid.estimate import about, kind_name, measure_epoch, save_epochs

    kinds = {kind_name(job.recipe): job for cell in table.cells for job in cell.jobs[:1]}
    missing = without_data(list(kinds.values()))
    kept = None
    for kind, job in kinds.items():
        if job.recipe.data.name not in missing:
            found = measure_epoch(job.recipe, load_with_bar(job.recipe.data))
            show.say(f"{kind}: about {about(found['seconds'])} s per epoch")
            kept = save_epochs(store, {kind: found})
    if kept is not None:
        show.say(f"kept in {kept}")


def announce(
    table: Table, waiting: list[Job], store: Results, processes: int, dry_run: bool
) -> None:
    """Say what is done, what is not, and how long it will take."""
    from gsina.paper.grid.estimate import estimate
    from gsina.paper.grid.plan import waiting as waiting_of

    if dry_run:
        view = RichTable("row", "column", "seeds to run", "data at hand", box=show.BOX)
        listed: set[str] = set()  # trials of earlier rows, which may serve this one too
        for cell in table.cells:
            seeds = [str(job.seed) for job in waiting_of(cell, store)]
            seeds += [f"{job.seed} diverged" for job in cell.jobs if store.diverged(job)]
            left = ", ".join(seeds)
            if cell.trials:
                then = ", ".join(map(str, cell.seeds))
                trials = {job.name for job in waiting_of(cell, store)}
                left = f"{'the same' if trials & listed else len(trials)} trials, then {then}"
                listed |= trials
            at_hand = cell.recipe.data.at_hand()
            view.add_row(cell.row, cell.column, left or "done", "yes" if at_hand else "no")
        show.console.print(view)
    # Cells may share runs.
    jobs = list({job.name: job for cell in table.cells for job in cell.jobs}.values())
    done = sum(store.load(job) is not None for job in jobs)
    diverged = sum(store.diverged(job) is not None for job in jobs)
    but = f", {diverged} diverged" if diverged else ""
    show.say(f"{table.title}: {done} of {len(jobs)} runs are done{but}.")
    here = [job for job in waiting if not dry_run or job.recipe.data.at_hand()]
    if here:
        seconds, unknown = estimate(here, store)
        about = f"about {clock(seconds / processes)}" if seconds else "an unknown time"
        more = f", not counting {len(unknown)} of a kind not run before" if unknown else ""
        missing = {job.recipe.data.name for job in waiting} - {job.recipe.data.name for job in here}
        later = sum(
            _after_trials(cell) for cell in table.cells if cell.recipe.data.name not in missing
        )
        then = f" Then {later} more, with the settings that the trials choose." if later else ""
        show.say(f"{len(here)} to run: {about}{more if seconds else ''}.{then}")
    if len(here) < len(waiting):
        show.say(f"{len(waiting) - len(here)} wait for data that are not on this machine.")


def _after_trials(cell: Cell) -> int:
    """Number of runs of a cell after its trials, without a trial that is such a run."""
    shared = {*cell.trial_seeds} if cell.trials == cell.choices else set()
    return len(set(cell.seeds) - shared) if cell.trials else 0


def label(cell: Cell, job: Job) -> str:
    """A run in words; cells for several test splits share the name of their data."""
    from gsina.paper.tables.tuned_cells import describe, varied

    data = cell.column
    if cell.split != "test":
        data = " ".join([cell.recipe.data.name, *filter(None, [_options(cell.recipe)])])
    if not cell.trials:
        return f"{cell.row} on {data}, seed {job.seed}"
    elsewhere = job.recipe.data.options != cell.recipe.data.options
    where = f" at {_options(job.recipe)}" if elsewhere else ""
    seed = f", seed {job.seed}" if len(cell.trial_seeds) > 1 else ""
    return f"{cell.row} on {data}, trial {describe(job.recipe, varied(cell))}{where}{seed}"


def _options(recipe: Recipe) -> str:
    """The options of its data in words."""
    return ", ".join(f"{name} {value}" for name, value in recipe.data.options.items())


class Grid:
    """The progress of a grid: a live bar on a terminal, one line per run elsewhere."""

    def __init__(
        self, table: Table, total: int, after: Callable[[Finished], str] = lambda finished: ""
    ) -> None:
        self.after = after
        # Of these only what may decide is shown: trials, and tables of validation scores.
        self.validated = {
            job.name
            for cell in table.cells
            if cell.trials or cell.split == "val"
            for job in cell.jobs
        }
        self.labels = {job.name: label(cell, job) for cell in table.cells for job in cell.jobs}
        self.total, self.done, self.part = total, 0, 0.0
        self.began = time.perf_counter()
        self.bar = Bar("", total, width=24)

    def on_epoch(self, job: Job, record: dict[str, Any]) -> None:
        """Show how far a run is."""
        self.part = (record["epoch"] + 1) / job.recipe.optimiser.epochs
        self._show(f"{self.labels[job.name]}: epoch {record['epoch'] + 1}")

    def on_finished(self, finished: Finished) -> None:
        """Say how a run ended."""
        from gsina.paper.grid.results import metric_of, ood_score

        self.done, self.part = self.done + 1, 0.0
        name = self.labels[finished.job.name]
        if finished.result is None:
            said = finished.error if finished.stopped else f"not finished, {finished.error}"
            show.say(f"{name}: {said}", "yellow")
        else:
            metric = metric_of(finished.result)
            if finished.job.name in self.validated:
                split, value = "validation", finished.result["metrics"]["val"][metric]
            else:
                split, value = "OOD test", ood_score(finished.result)
            score = f"{split} {metric_label(metric)} {metric_text(value, metric)}"
            where = "" if show.console.is_terminal else f"  ({self._state()})"
            show.say(f"{name}: {score}{self.after(finished)}{where}")
        self._show("")

    def _show(self, now: str) -> None:
        self.bar.move(self.done + self.part, f"{self._state()}  {now}")

    def _state(self) -> str:
        """How many runs are done, and the estimated time left."""
        passed = self.done + self.part
        left = (time.perf_counter() - self.began) / max(passed, 1e-9) * (self.total - passed)
        return f"{self.done}/{self.total} runs, about {clock(left)} left"


def run_grid(
    table: Table,
    waiting: list[Job],
    store: Results,
    processes: int,
    cluster: str | None,
    device: str | None,
    *,
    until: float = math.inf,
    after: Callable[[Finished], str] = lambda finished: "",
    together: Sequence[Cell] | None = None,
) -> tuple[set[str], set[str]]:
    """Run jobs and return the names of those that did not finish, and of trials that were stopped.

    Args:
        table: Cells of these jobs, for their names.
        waiting: The jobs.
        store: Where results are, and go.
        processes: Jobs at a time.
        cluster: Ray cluster, or ``None``.
        device: Where to compute; ``None`` for where the recipes say.
        until: No job is begun after this time of ``time.monotonic``.
        after: What else to say of a run that has ended.
        together: All cells that may want one of the jobs, if these are not those of the table.
    """
    from gsina.paper.grid.hopeless import rivals_of
    from gsina.paper.grid.runner import run_jobs

    grid = Grid(table, len(waiting), after)
    waiting = [replace(job, recipe=job.recipe.on_device(device)) for job in waiting]
    failed: set[str] = set()
    stopped: set[str] = set()
    with show.on_interrupt(KEPT), grid.bar:
        ended = run_jobs(
            waiting,
            store,
            processes=processes,
            cluster=cluster,
            on_epoch=grid.on_epoch,
            until=until,
            rivals=rivals_of(table.cells if together is None else together),
        )
        for finished in ended:
            grid.on_finished(finished)
            if finished.stopped:
                stopped.add(finished.job.name)
            elif finished.result is None and not store.diverged(finished.job):
                failed.add(finished.job.name)
    return failed, stopped
