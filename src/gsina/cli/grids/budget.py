"""``gsina bench --all``: the runs of all tables that are worth most for the time given."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table as RichTable

from gsina.cli import show
from gsina.cli.grids.running import label, measure_table, run_grid, without_data
from gsina.cli.options import command
from gsina.errors import InputError
from gsina.listeners.progress import clock

if TYPE_CHECKING:
    from gsina.paper.grid.plan import Plan, Planned
    from gsina.paper.grid.results import Results
    from gsina.paper.grid.runner import Finished
    from gsina.paper.tables.table import Cell, Table

UNITS = {"h": 3600, "m": 60, "s": 1}
#: Lines of a plan that are shown.
SHOWN = 40
#: Share of the budget that may pass while times are measured.
MEASURING = 0.1


def seconds_of(text: str | None) -> float:
    """A time such as ``3h``, ``1h30m`` or ``90m`` in seconds; without one there is no end.

    Raises:
        InputError: It is not such a time.
    """
    if text is None:
        return math.inf
    joined = text.replace(" ", "")
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", joined)
    total = sum(float(number) * UNITS[unit] for number, unit in parts)
    if "".join(map("".join, parts)) != joined or total <= 0:
        raise InputError(f"--budget is a time such as 3h, 90m or 1h30m, got {text!r}.")
    return total


def run_within(
    store: Results, seconds: float, processes: int, device: str | None, *, dry_run: bool = False
) -> bool:
    """Plan, run, and plan again with the time that is left; whether all runs finished.

    Kinds of run of which no time is known are measured first, for a small part of the time. Trials
    decide what is run after them, so a plan is made anew when the last one is done.
    """
    began = time.monotonic()
    tables = _tables()
    if not dry_run:
        measure_unknown(store, MEASURING * seconds)
    left = seconds if dry_run else seconds - (time.monotonic() - began)
    plan = _plan(tables, store, left, processes, prepared=not dry_run)
    _show(plan, left, processes, dry_run=dry_run)
    if dry_run:
        return True
    store.clear_locks()
    left_out: set[str] = set()
    failed: set[str] = set()
    stopped: set[str] = set()
    taken: list[tuple[float, float]] = []
    while plan.chosen:
        left_out |= without_data([one.job for one in plan.chosen])
        chosen = [one for one in plan.chosen if one.job.recipe.data.name not in left_out]
        ended = _run(tables, chosen, store, processes, device, began + seconds, taken)
        failed, stopped = failed | ended[0], stopped | ended[1]
        left = seconds - (time.monotonic() - began)
        if left <= 0:
            break
        plan = _plan(tables, store, left, processes, left_out | failed | stopped)
    _conclude(taken, time.monotonic() - began, tables, store)
    if failed:
        show.say(f"{_runs(len(failed))} did not finish; the reasons are above.", "yellow")
    return not failed


def measure_unknown(store: Results, seconds: float = math.inf) -> None:
    """Measure an epoch of every kind of run of which no time is known, the decisive tables' first.

    After so many seconds no other is begun.
    """
    from gsina.paper.grid.estimate import Times, kind_name
    from gsina.paper.grid.plan import DECISIVE
    from gsina.runs.job import Job

    began, times, tables = time.monotonic(), Times(store), _tables()
    _prepare(tables)
    new: dict[str, tuple[Table, Cell]] = {}
    for table in sorted(tables, key=lambda table: table.name not in DECISIVE):
        for cell in table.cells:
            for recipe in (cell.recipe, *(job.recipe for job in cell.jobs[:1])):
                if times.of(Job(recipe, cell.seeds[0])) is None and recipe.data.at_hand():
                    alone = replace(cell, recipe=recipe, trials=(), choices=())
                    new.setdefault(kind_name(recipe), (table, alone))
    for done, (table, cell) in enumerate(new.values()):
        if time.monotonic() - began >= seconds:
            show.say(f"measured {done} of {len(new)} kinds in the time that there is for that.")
            return
        try:
            measure_table(replace(table, cells=(cell,)), store)
        except (InputError, OSError) as problem:
            show.say(f"{kind_name(cell.recipe)}: not measured, {problem}", "yellow")
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            show.say(f"{kind_name(cell.recipe)}: not measured, a bug ended it ({what})", "yellow")


def _tables() -> list[Table]:
    from gsina.paper.tables import TABLES, make_table

    return [make_table(name) for name in TABLES]


def _prepare(tables: list[Table]) -> None:
    """Make the files that cells of the tables read."""
    for table in tables:
        if table.prepare is not None:
            table.prepare()


def _plan(
    tables: list[Table],
    store: Results,
    seconds: float,
    processes: int,
    leave_out: set[str] | frozenset[str] = frozenset(),
    *,
    prepared: bool = True,
) -> Plan:
    from gsina.paper.grid.plan import make_plan

    return make_plan(
        tables, store, seconds, processes=processes, leave_out=leave_out, prepared=prepared
    )


def _show(plan: Plan, seconds: float, processes: int, *, dry_run: bool) -> None:
    """Say what will be run, and what cannot be."""
    if plan.chosen:
        view = RichTable("run", "done of its cell", "tables", "time", box=show.BOX)
        for one in plan.chosen[:SHOWN]:
            done, of = one.done
            state = f"{done} of {of} {'trials' if one.cell.trials else 'seeds'}"
            view.add_row(label(one.cell, one.job), state, ", ".join(one.tables), clock(one.seconds))
        show.console.print(view)
    more = len(plan.chosen) - SHOWN
    end = f" The first {SHOWN} are shown." if more > 0 else ""
    time_left = "" if math.isinf(seconds) else f" of {clock(seconds)}"
    show.say(
        f"{_runs(len(plan.chosen))} now, about {clock(plan.seconds / processes)}{time_left}; "
        f"{len(plan.later)} more are known that do not fit.{end}"
    )
    if plan.unknown:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in plan.unknown.most_common(8))
        rest = len(plan.unknown) - 8
        others = f" and {rest} more kinds" if rest > 0 else ""
        show.say(
            f"{_runs(plan.unknown.total(), 'is', 'are')} left out, as no time is known of "
            f"{kinds}{others}.",
            "yellow",
        )
        measure = command("bench", "--all", "--measure")
        show.say(
            f"Without --dry-run an epoch of each kind is measured first, for up to "
            f"{MEASURING:.0%} of the budget; at once: {measure}"
            if dry_run
            else f"To measure an epoch of each kind: {measure}"
        )
    if plan.unmade:
        names = ", ".join(f"{name} ({count})" for name, count in plan.unmade.items())
        needing = _runs(plan.unmade.total(), "needs", "need")
        show.say(f"{needing} files that are made first: {names}.")
    if plan.missing:
        names = ", ".join(f"{name} ({count})" for name, count in plan.missing.items())
        missing = _runs(plan.missing.total(), "is", "are")
        show.say(f"{missing} left out, for want of data: {names}.", "yellow")


def _runs(count: int, one: str = "", more: str = "") -> str:
    """So many runs, with what one does or more do, as in ``1 run needs``."""
    return f"1 run {one}".rstrip() if count == 1 else f"{count} runs {more}".rstrip()


def _run(
    tables: list[Table],
    chosen: list[Planned],
    store: Results,
    processes: int,
    device: str | None,
    until: float,
    taken: list[tuple[float, float]],
) -> tuple[set[str], set[str]]:
    """Run what is planned, each with the time it took beside the estimate."""
    from gsina.paper.grid.estimate import seconds_taken
    from gsina.paper.tables.table import Table
    from gsina.paper.tables.tuned_cells import resolve

    expected = {one.job.name: one.seconds for one in chosen}

    def after(finished: Finished) -> str:
        seconds = seconds_taken(finished.result or {})
        if seconds is None:
            return ""
        guess = expected[finished.job.name]
        taken.append((guess, seconds))
        return f", {clock(seconds)} (estimated {clock(guess)})"

    cells = {one.job.name: one.cell for one in chosen}.values()
    return run_grid(
        Table("all", "All tables", tuple(cells)),
        [one.job for one in chosen],
        store,
        processes,
        None,
        device,
        until=until,
        after=after,
        together=[cell for table in tables for cell in resolve(table, store).cells],
    )


def _conclude(
    taken: list[tuple[float, float]], passed: float, tables: list[Table], store: Results
) -> None:
    """Keep what trials chose, and set the time beside its estimate."""
    from gsina.paper.tables.tuned_cells import save_choices

    for table in tables:
        save_choices(table, store)
    guess, seconds = (sum(column) for column in zip(*taken, strict=True)) if taken else (0.0, 0.0)
    show.say(
        f"{_runs(len(taken))} in {clock(passed)}: {clock(seconds)} of one "
        f"process, {clock(guess)} were estimated. The page: gsina report --out docs/results.md"
    )
