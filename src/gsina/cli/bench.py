"""``gsina bench``: run the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gsina.cli import show
from gsina.cli.grids.running import (
    KEPT,
    announce,
    measure_table,
    run_grid,
    waiting_jobs,
    without_data,
)
from gsina.cli.options import Device, Threads, check_device, command, numbers, use_threads
from gsina.errors import InputError
from gsina.paper.studies.measurements import MEASUREMENTS, run_measurement
from gsina.paper.tables import TABLES

if TYPE_CHECKING:
    from gsina.paper.grid.results import Results

ResultsFolder = Annotated[
    Path,
    typer.Option(
        "--results", help="Folder of all results: runs, tuning, tables, bench.", show_default=True
    ),
]
RESULTS = Path("results")


def bench(
    table: Annotated[
        str | None, typer.Argument(help="Name of a table, as listed above; none with --all.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="The most useful unfinished runs of all tables.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="3h", help="With --all: the time that there is."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Only cells with this word in their row or column; if there are none, cells of "
            "this method, or with this part of a word. =NAME is the row or column of just that "
            "name. May be repeated; all must match.",
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

    With --all the runs of all tables are weighed against the time that they take: those that say
    most come first, as long as --budget lasts. Of a kind of run of which no time is known an epoch
    is measured first, for up to a tenth of the budget; --all --measure does nothing else.

    Tables: {tables}. Measurements without a grid of runs: {measurements}. [bold]device[/]
    checks a GPU in a minute or two, and writes a report to send back.

    \b
    [bold]Examples[/]
    gsina bench gsat --dry-run
    gsina bench gsat --only GIN --only 0.5 --seeds 0,1,2 --jobs 2
    gsina bench ablation --ray auto
    gsina bench gsat --only molhiv --measure
    gsina bench --all --budget 3h --jobs 2 --dry-run
    gsina bench convergence
    gsina bench runtime
    gsina bench coverage --only bace --seeds 0,1,2
    gsina bench memory
    gsina bench device --device cuda
    """
    use_threads(threads)
    from gsina.errors import check_name
    from gsina.paper.tables import make_table

    if (table is None) != every:
        raise InputError(
            "gsina bench needs the name of a table, or --all for all of them, and not both; "
            "gsina bench --help lists the tables."
        )
    check_name(table or next(iter(TABLES)), [*TABLES, *MEASUREMENTS], "table")
    given = {
        "--budget": budget,
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
    if table is None:
        from gsina.cli.grids.budget import measure_unknown, run_within, seconds_of

        store = open_results(results)
        check_device(device)
        if measure:
            measure_unknown(store)
        elif not run_within(store, seconds_of(budget), jobs, device, dry_run=dry_run):
            raise typer.Exit(1)
        return
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
        measure_table(chosen, store)
        return
    if not dry_run:
        store.clear_locks()
    if chosen.prepare is not None and not dry_run:
        chosen.prepare()
    waiting = waiting_jobs(chosen, store)
    missing = set() if dry_run else without_data(waiting)
    waiting = [job for job in waiting if job.recipe.data.name not in missing]
    announce(resolve(chosen, store), waiting, store, jobs, dry_run)
    if dry_run or not waiting:
        return
    failed: set[str] = set()
    stopped: set[str] = set()
    tables = [make_table(name) for name in TABLES]  # what another reports is not stopped here
    for part in parts(chosen):  # first the trials of each part, then the cells that they decide
        while waiting := [
            job
            for job in waiting_jobs(part, store, failed | stopped)
            if job.recipe.data.name not in missing
        ]:
            cells = [cell for one in (part, *tables) for cell in resolve(one, store).cells]
            ended = run_grid(
                resolve(part, store), waiting, store, jobs, ray, device, together=cells
            )
            failed, stopped = failed | ended[0], stopped | ended[1]
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


def _check_options(table: str | None, given: list[str]) -> None:
    """Refuse options that would do nothing."""
    grid = ["--only", "--seeds", "--jobs", "--ray", "--dry-run", "--measure", "--device"]
    every = ["--budget", "--jobs", "--dry-run", "--measure", "--device"]
    kept = every if table is None else MEASUREMENTS.get(table, grid)
    for name in given:
        if name not in kept:
            what = "--all" if table is None else f"the table {table}"
            raise InputError(f"{name} is not for {what}; leave it out.")
        if "--measure" in given and name not in ("--measure", "--only"):
            raise InputError(f"{name} does nothing beside --measure; leave it out.")
