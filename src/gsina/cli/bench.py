"""``gsina bench``: tables and figures of the paper, made here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table as RichTable

from gsina.cli import show
from gsina.cli.options import Threads, numbers, use_threads

if TYPE_CHECKING:
    from gsina.experiments.results import Job, Results
    from gsina.experiments.runner import Finished
    from gsina.experiments.tables import Table

ResultsFolder = Annotated[
    Path, typer.Option("--results", help="Folder of result files.", show_default=True)
]
RESULTS = Path("results/runs")


def bench(
    table: Annotated[str, typer.Argument(help="A table, such as gsat, or convergence.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only cells with this word; repeatable.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Seeds such as 0,1,2; by default the table's.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Runs at a time.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray", metavar="auto|ADDRESS", help="Run on a Ray cluster (extra cluster)."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be run, and for how long.")
    ] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Only measure how long an epoch of each kind takes."),
    ] = False,
    results: ResultsFolder = RESULTS,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the page; only for convergence.")
    ] = Path("docs"),
    threads: Threads = None,
) -> None:
    """Run a table of the paper, cell by cell and seed by seed.

    Every finished run is one file in the results folder. Runs that are done are skipped; a run that
    was cut off, by Ctrl-C or otherwise, goes on where it was. Cells whose data are not there are
    named and left out. `gsina report` makes the table.

    \b
    [bold]Examples[/]
    gsina bench gsat --dry-run
    gsina bench gsat --only GIN --only 0.5 --seeds 0,1,2 --jobs 2
    gsina bench ablation --ray auto
    gsina bench convergence
    """
    use_threads(threads)
    if table == "convergence":
        from gsina.experiments.convergence import write_convergence

        write_convergence(out, results.parent / "convergence.json")
        show.say(f"the figure and its page are in {out}")
        return
    from gsina.experiments.results import Results
    from gsina.experiments.runner import pending
    from gsina.experiments.tables import TABLES, make_table
    from gsina.names import check_name

    check_name(table, [*TABLES, "convergence"], "table")
    chosen = make_table(table).select(only or [], None if seeds is None else numbers(seeds))
    store = Results(results)
    for path in store.broken():
        show.say(f"{path} is not a whole result file; its run is done again.", "yellow")
    waiting = pending([job for cell in chosen.cells for job in cell.jobs], store)
    _announce(chosen, waiting, store, jobs, dry_run)
    if not dry_run and waiting:
        _run(chosen, waiting, store, jobs, ray)


def _announce(
    table: Table, waiting: list[Job], store: Results, processes: int, dry_run: bool
) -> None:
    """Say what is done, what is not, and how long it will take."""
    from gsina.data.catalog import DATASETS
    from gsina.experiments.estimate import estimate
    from gsina.experiments.runner import pending

    if dry_run:
        view = RichTable("row", "column", "seeds to run", "data at hand", box=show.BOX)
        for cell in table.cells:
            left = ", ".join(str(job.seed) for job in pending(cell.jobs, store))
            there = DATASETS[cell.recipe.data.name].at_hand()
            view.add_row(cell.row, cell.column, left or "done", "yes" if there else "no")
        show.console.print(view)
    jobs = [job for cell in table.cells for job in cell.jobs]
    done = len(jobs) - len(pending(jobs, store))
    show.say(f"{table.title}: {done} of {len(jobs)} runs are done.")
    if waiting:
        seconds, unknown = estimate(waiting, store)
        about = f"about {show.clock(seconds / processes)}" if seconds else "an unknown time"
        more = f", not counting {len(unknown)} of a kind not run before" if unknown else ""
        show.say(f"{len(waiting)} to run: {about}{more if seconds else ''}.")


class _Grid:
    """The progress of a grid: a live bar on a terminal, one line a run elsewhere."""

    def __init__(self, table: Table, total: int) -> None:
        self.labels = {
            job.name: f"{cell.row} on {cell.column}, seed {job.seed}"
            for cell in table.cells
            for job in cell.jobs
        }
        self.total, self.done, self.part = total, 0, 0.0
        self.began = time.perf_counter()
        self.bar: Progress | None = None
        if show.console.is_terminal:
            columns = (BarColumn(bar_width=24), TextColumn("{task.fields[state]}"))
            self.bar = Progress(*columns, console=show.console)
            self.bar.add_task("", total=total, state="")
            self.bar.start()

    def on_epoch(self, job: Job, record: dict[str, Any]) -> None:
        self.part = (record["epoch"] + 1) / job.recipe.optimiser.epochs
        self._show(f"{self.labels[job.name]}: epoch {record['epoch'] + 1}")

    def on_finished(self, finished: Finished) -> None:
        self.done, self.part = self.done + 1, 0.0
        label = self.labels[finished.job.name]
        if finished.result is None:
            show.say(f"{label}: not finished, {finished.error}", "yellow")
        else:
            metric = finished.result["metric"]
            value = show.number(finished.result["metrics"]["test"][metric], metric)
            show.say(f"{label}: OOD test {show.METRICS[metric]} {value}")
        self._show("")

    def _show(self, now: str) -> None:
        if self.bar is None:
            return
        passed = self.done + self.part
        left = (time.perf_counter() - self.began) / max(passed, 1e-9) * (self.total - passed)
        state = f"{self.done}/{self.total} runs, about {show.clock(left)} left  {now}"
        self.bar.update(self.bar.task_ids[0], completed=passed, state=state)

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _run(
    table: Table, waiting: list[Job], store: Results, processes: int, cluster: str | None
) -> None:
    from gsina.experiments.runner import run_jobs

    grid = _Grid(table, len(waiting))
    failed = 0
    try:
        ended = run_jobs(
            waiting, store, processes=processes, cluster=cluster, on_epoch=grid.on_epoch
        )
        for finished in ended:
            grid.on_finished(finished)
            failed += finished.result is None
    except KeyboardInterrupt:
        grid.stop()
        show.say("interrupted; what is finished is kept, and the same command goes on from here.")
        raise typer.Exit(show.INTERRUPTED) from None
    finally:
        grid.stop()
    show.say(f"results are in {store.folder}; the table: gsina report {table.name}")
    if failed:
        raise typer.Exit(1)
