"""``gsina bench``: run the tables and figures of the paper."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable

from gsina.cli import show
from gsina.cli.options import Device, Threads, check_device, command, numbers, use_threads
from gsina.cli.progress import Bar, load_with_bar
from gsina.errors import InputError
from gsina.listeners.progress import clock
from gsina.metrics import metric_label, metric_text
from gsina.paper.studies.measurements import MEASUREMENTS, run_measurement
from gsina.paper.tables import TABLES

if TYPE_CHECKING:
    from gsina.paper.grid.results import Results
    from gsina.paper.grid.runner import Finished
    from gsina.paper.tables.table import Cell, Table
    from gsina.runs.job import Job

#: What is said after Ctrl-C.
KEPT = "interrupted; what is finished is kept, and the same command continues from here."

ResultsFolder = Annotated[
    Path,
    typer.Option(
        "--results", help="Folder of all results: runs, tuning, tables, bench.", show_default=True
    ),
]
RESULTS = Path("results")


def bench(
    table: Annotated[str, typer.Argument(help="Name of a table, as listed above.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Only cells with this word in their row or column; if there are none, cells of "
            "this method, or with this part of a word. May be repeated; all must match.",
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Seeds such as 0,1,2; by default the table's.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Number of runs at a time.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option("--ray", metavar="auto|ADDRESS", help="Ray cluster; auto: this machine."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be run and how long it would take.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Only measure how long an epoch of each kind takes.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few batches, nothing is kept; for runtime and memory."),
    ] = False,
    results: ResultsFolder = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the page; by default docs. Only for convergence and coverage."
        ),
    ] = None,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Run a table of the paper, cell by cell and seed by seed.

    Every finished run is one file in the results folder. Finished runs are skipped; a run that was
    interrupted, by Ctrl-C or otherwise, continues from its last epoch. Cells without data are named
    and left out. `gsina report` makes the table.

    Tables: {tables}. Measurements without a grid of runs: {measurements}. [bold]device[/]
    checks a GPU in a minute or two, and writes a report to send back.

    \b
    [bold]Examples[/]
    gsina bench gsat --dry-run
    gsina bench gsat --only GIN --only 0.5 --seeds 0,1,2 --jobs 2
    gsina bench ablation --ray auto
    gsina bench gsat --only molhiv --measure
    gsina bench convergence
    gsina bench runtime
    gsina bench coverage --only bace --seeds 0,1,2
    gsina bench memory
    gsina bench device --device cuda
    """
    use_threads(threads)
    from gsina.errors import check_name
    from gsina.paper.tables import make_table

    check_name(table, [*TABLES, *MEASUREMENTS], "table")
    given = {
        "--only": only,
        "--seeds": seeds,
        "--jobs": jobs > 1,
        "--ray": ray,
        "--dry-run": dry_run,
        "--measure": measure,
        "--quick": quick,
        "--out": out,
        "--device": device,
    }
    _check_options(table, [name for name, value in given.items() if value])
    wanted = None if seeds is None else numbers(seeds)
    if table in MEASUREMENTS:
        open_results(results)
        with show.on_interrupt(KEPT):
            well = run_measurement(
                table,
                results,
                show.say,
                quick=quick,
                out=out,
                device=device,
                only=only or [],
                seeds=wanted,
            )
        if not well:
            raise typer.Exit(1)
        return
    store = open_results(results)
    if ray is None:
        check_device(device)
    from gsina.paper.tables.tuned_cells import jobs_of, parts, resolve, save_choices

    chosen = make_table(table).select(only or [], wanted)
    for path in store.broken(jobs_of(chosen, store)):
        show.say(f"{path} is not a complete result of its run, so it is run again.", "yellow")
    if measure:
        _measure(chosen, store)
        return
    if not dry_run:
        store.clear_locks()
    if chosen.prepare is not None and not dry_run:
        chosen.prepare()
    waiting = _waiting(chosen, store)
    missing = set() if dry_run else _without_data(waiting)
    waiting = [job for job in waiting if job.recipe.data.name not in missing]
    _announce(resolve(chosen, store), waiting, store, jobs, dry_run)
    if dry_run or not waiting:
        return
    failed: set[str] = set()
    for part in parts(chosen):  # first the trials of each part, then the cells that they decide
        while waiting := [
            job for job in _waiting(part, store, failed) if job.recipe.data.name not in missing
        ]:
            failed |= _run(resolve(part, store), waiting, store, jobs, ray, device)
    save_choices(make_table(table), store)  # of all cells, as the file is rewritten
    where: list[str | Path] = [] if results == RESULTS else ["--results", results]
    show.say(f"results are in {store.folder}; the table: {command('report', table, *where)}")
    usual = {seed for cell in make_table(table).cells for seed in cell.seeds}
    other = sorted({seed for cell in chosen.cells for seed in cell.seeds} - usual)
    if other:
        show.say(f"seeds {', '.join(map(str, other))} are kept, but the table does not use them.")
    if failed:
        show.say(
            f"{len(failed)} runs did not finish; fix the problems above and run the same command "
            "again, which continues from their last epoch.",
            "yellow",
        )
        raise typer.Exit(1)


bench.__doc__ = (
    (bench.__doc__ or "")
    .replace("{tables}", ", ".join(TABLES))
    .replace("{measurements}", ", ".join(MEASUREMENTS))
)


def open_results(folder: Path) -> Results:
    """The results in a folder, which must not be one of result files itself."""
    from gsina.paper.grid.results import Results

    if any(folder.glob("*-seed*.json")):
        raise InputError(
            f"{folder} holds result files; --results is the folder above it, such as results for "
            "results/runs."
        )
    return Results(folder)


def _check_options(table: str, given: list[str]) -> None:
    """Refuse options that would do nothing."""
    grid = ["--only", "--seeds", "--jobs", "--ray", "--dry-run", "--measure", "--device"]
    kept = MEASUREMENTS.get(table, grid)
    for name in given:
        if name not in kept:
            raise InputError(f"{name} is not for the table {table}; leave it out.")
        if "--measure" in given and name not in ("--measure", "--only"):
            raise InputError(f"{name} does nothing beside --measure; leave it out.")


def _waiting(table: Table, store: Results, failed: Collection[str] = ()) -> list[Job]:
    """The jobs to run next, each once, as cells may share runs."""
    from gsina.paper.grid.runner import pending
    from gsina.paper.tables.tuned_cells import resolve

    cells = resolve(table, store).cells
    jobs = pending([job for cell in cells for job in cell.jobs], store)
    return list({job.name: job for job in jobs if job.name not in failed}.values())


def _without_data(jobs: list[Job]) -> set[str]:
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


def _measure(table: Table, store: Results) -> None:
    """Measure a few steps of every kind of run in the table, and keep the times of an epoch."""
    from gsina.paper.grid.estimate import about, kind_name, measure_epoch, save_epochs

    kinds = {kind_name(job.recipe): job for cell in table.cells for job in cell.jobs[:1]}
    missing = _without_data(list(kinds.values()))
    kept = None
    for kind, job in kinds.items():
        if job.recipe.data.name not in missing:
            found = measure_epoch(job.recipe, load_with_bar(job.recipe.data))
            show.say(f"{kind}: about {about(found['seconds'])} s per epoch")
            kept = save_epochs(store, {kind: found})
    if kept is not None:
        show.say(f"kept in {kept}")


def _announce(
    table: Table, waiting: list[Job], store: Results, processes: int, dry_run: bool
) -> None:
    """Say what is done, what is not, and how long it will take."""
    from gsina.paper.grid.estimate import estimate
    from gsina.paper.grid.runner import pending

    if dry_run:
        view = RichTable("row", "column", "seeds to run", "data at hand", box=show.BOX)
        listed: set[str] = set()  # trials of earlier rows, which may serve this one too
        for cell in table.cells:
            seeds = [str(job.seed) for job in pending(cell.jobs, store)]
            seeds += [f"{job.seed} diverged" for job in cell.jobs if store.diverged(job)]
            left = ", ".join(seeds)
            if cell.trials:
                then = ", ".join(map(str, cell.seeds))
                trials = {job.name for job in pending(cell.jobs, store)}
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


def _label(cell: Cell, job: Job) -> str:
    """A run in words; cells for several test splits share the name of their data."""
    from gsina.paper.tables.tuned_cells import describe, varied

    data = cell.column if cell.split == "test" else cell.recipe.data.name
    if not cell.trials:
        return f"{cell.row} on {data}, seed {job.seed}"
    elsewhere = job.recipe.data.options != cell.recipe.data.options
    options = ", ".join(f"{name} {value}" for name, value in job.recipe.data.options.items())
    where = f" at {options}" if elsewhere else ""
    seed = f", seed {job.seed}" if len(cell.trial_seeds) > 1 else ""
    return f"{cell.row} on {data}, trial {describe(job.recipe, varied(cell))}{where}{seed}"


class _Grid:
    """The progress of a grid: a live bar on a terminal, one line per run elsewhere."""

    def __init__(self, table: Table, total: int) -> None:
        # Of these only what may decide is shown: trials, and tables of validation scores.
        self.validated = {
            job.name
            for cell in table.cells
            if cell.trials or cell.split == "val"
            for job in cell.jobs
        }
        self.labels = {job.name: _label(cell, job) for cell in table.cells for job in cell.jobs}
        self.total, self.done, self.part = total, 0, 0.0
        self.began = time.perf_counter()
        self.bar = Bar("", total, width=24)

    def on_epoch(self, job: Job, record: dict[str, Any]) -> None:
        self.part = (record["epoch"] + 1) / job.recipe.optimiser.epochs
        self._show(f"{self.labels[job.name]}: epoch {record['epoch'] + 1}")

    def on_finished(self, finished: Finished) -> None:
        from gsina.paper.grid.results import metric_of, ood_score

        self.done, self.part = self.done + 1, 0.0
        label = self.labels[finished.job.name]
        if finished.result is None:
            show.say(f"{label}: not finished, {finished.error}", "yellow")
        else:
            metric = metric_of(finished.result)
            if finished.job.name in self.validated:
                split, value = "validation", finished.result["metrics"]["val"][metric]
            else:
                split, value = "OOD test", ood_score(finished.result)
            score = f"{split} {metric_label(metric)} {metric_text(value, metric)}"
            where = "" if show.console.is_terminal else f"  ({self._state()})"
            show.say(f"{label}: {score}{where}")
        self._show("")

    def _show(self, now: str) -> None:
        self.bar.move(self.done + self.part, f"{self._state()}  {now}")

    def _state(self) -> str:
        """How many runs are done, and the estimated time left."""
        passed = self.done + self.part
        left = (time.perf_counter() - self.began) / max(passed, 1e-9) * (self.total - passed)
        return f"{self.done}/{self.total} runs, about {clock(left)} left"


def _run(
    table: Table,
    waiting: list[Job],
    store: Results,
    processes: int,
    cluster: str | None,
    device: str | None,
) -> set[str]:
    """Run jobs and return the names of those that did not finish."""
    from gsina.paper.grid.runner import run_jobs

    grid = _Grid(table, len(waiting))
    waiting = [replace(job, recipe=job.recipe.on_device(device)) for job in waiting]
    failed = set()
    with show.on_interrupt(KEPT), grid.bar:
        ended = run_jobs(
            waiting, store, processes=processes, cluster=cluster, on_epoch=grid.on_epoch
        )
        for finished in ended:
            grid.on_finished(finished)
            if finished.result is None and not store.diverged(finished.job):
                failed.add(finished.job.name)
    return failed
