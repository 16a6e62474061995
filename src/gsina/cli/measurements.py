"""What ``gsina bench`` measures besides the runs of a table."""

from __future__ import annotations

from pathlib import Path

import typer

from gsina.cli import show

#: Names, and the options of the command that each takes.
MEASUREMENTS = {
    "convergence": ["--out"],
    "runtime": ["--quick"],
    "memory": ["--quick", "--device"],
    "device": ["--device"],
}


def run_measurement(
    name: str, results: Path, *, quick: bool, out: Path | None, device: str | None
) -> None:
    """Measure, show it, and keep it unless it was quick."""
    if name == "convergence":
        from gsina.paper.studies.convergence import write_convergence

        folder = out or Path("docs")
        write_convergence(folder, results / "convergence.json")
        show.say(f"the figure and its page are in {folder}")
    elif name == "runtime":
        _runtime(results, quick)
    elif name == "memory":
        _memory(results, quick, device)
    else:
        _device(device)


def _runtime(results: Path, quick: bool) -> None:
    from gsina.cli.bench import open_results
    from gsina.files import save_json
    from gsina.paper.report.runtime import runtime_markdown
    from gsina.paper.studies.runtime import begun_file, begun_runtime, measure, save_runtime

    if quick:
        show.say(runtime_markdown(measure(quick=True, tell=show.say)))
        show.say("a quick run is not kept.")
        return
    open_results(results)
    with show.on_interrupt(
        "interrupted; finished datasets are kept, and the same command continues."
    ):
        content = measure(
            begun=begun_runtime(results),
            keep=lambda content: save_json(begun_file(results), content),
            tell=show.say,
        )
    show.say(runtime_markdown(content))
    show.say(f"kept in {save_runtime(results, content)}")


def _memory(results: Path, quick: bool, device: str | None) -> None:
    from gsina.files import save_json
    from gsina.paper.studies.memory import measure_memory
    from gsina.training.devices import choose_device

    place = choose_device(device or "cpu")
    content = measure_memory(place, quick=quick)
    table = show.numbers_table("network", "method", "bytes per edge", "with --recompute", "times")
    for row in content["rows"]:
        plain, again = row["bytes"], row["bytes_recomputed"]
        share = f"{again / plain:.2f}"
        table.add_row(row["backbone"], row["method"], f"{plain:,}", f"{again:,}", share)
    show.console.print(table)
    edges = content["batch"]["edges"]
    show.say(f"peak of a training step on {place} with {edges:,} edges, beside model and batch.")
    if quick:
        show.say("a quick run is not kept.")
        return
    path = results / "bench" / f"memory-{place.type}.json"
    save_json(path, content)
    show.say(f"kept in {path}")


def _device(device: str | None) -> None:
    from gsina.files import save_json
    from gsina.paper.studies.devices import check_device
    from gsina.training.devices import choose_device

    place = choose_device(device or "auto")
    if place.type == "cpu":
        show.say("there is no accelerator here, so the CPU computes in its way.")
    content = check_device(place, tell=show.say)
    path = Path(f"gsina-device-{place.type}.json")
    save_json(path, content)
    failed = content["failed"]
    show.say(f"{len(content['checks']) - len(failed)} of {len(content['checks'])} checks passed.")
    show.say(f"the report to send back, with versions and hardware: {path}")
    if failed:
        raise typer.Exit(1)
