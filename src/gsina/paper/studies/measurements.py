"""What ``gsina bench`` measures besides the runs of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

#: Names, and the options of the command that each takes.
MEASUREMENTS = {
    "convergence": ["--out"],
    "runtime": ["--quick"],
    "memory": ["--quick", "--device"],
    "device": ["--device"],
    "coverage": ["--only", "--seeds", "--out"],
}
Tell = Callable[[str], object]


def run_measurement(
    name: str,
    results: Path,
    tell: Tell,
    *,
    quick: bool,
    out: Path | None,
    device: str | None,
    only: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
) -> bool:
    """Measure, tell about it, and keep it unless it was quick; whether all is well.

    Args:
        name: One of :data:`MEASUREMENTS`.
        results: Folder of all results.
        tell: Called with what there is to say.
        quick: Whether a few batches are enough.
        out: Folder of the page of ``convergence`` or ``coverage``; by default ``docs``.
        device: Where to measure.
        only: Words in the names of what ``coverage`` is measured on.
        seeds: Its seeds.
    """
    if name == "convergence":
        from gsina.paper.studies.convergence import write_convergence

        write_convergence(out or Path("docs"), results / "convergence.json")
        tell(f"the figure and its page are in {out or Path('docs')}")
    elif name == "runtime":
        _runtime(results, tell, quick)
    elif name == "coverage":
        _coverage(results, tell, only, seeds, out or Path("docs"))
    elif name == "memory":
        _memory(results, tell, quick, device or "cpu")
    else:
        return _device(tell, device or "auto")
    return True


def _runtime(results: Path, tell: Tell, quick: bool) -> None:
    from gsina.files import save_json
    from gsina.paper.report.runtime import runtime_markdown
    from gsina.paper.studies.runtime import begun_file, begun_runtime, measure, save_runtime

    if quick:
        tell(runtime_markdown(measure(quick=True, tell=tell)))
        tell("a quick run is not kept.")
        return
    content = measure(
        begun=begun_runtime(results),
        keep=lambda content: save_json(begun_file(results), content),
        tell=tell,
    )
    tell(runtime_markdown(content))
    tell(f"kept in {save_runtime(results, content)}")


def _coverage(
    results: Path, tell: Tell, only: Sequence[str], seeds: Sequence[int] | None, out: Path
) -> None:
    from gsina.paper.report.coverage import write_page
    from gsina.paper.studies.coverage import SEEDS, measure, save_coverage

    content = measure(SEEDS if seeds is None else seeds, results, only=only, tell=tell)
    tell(f"kept in {save_coverage(results, content)}; page: {write_page(out, content)}")


def _memory(results: Path, tell: Tell, quick: bool, device: str) -> None:
    from gsina.files import save_json
    from gsina.paper.studies.memory import measure_memory, memory_markdown
    from gsina.training.devices import choose_device

    place = choose_device(device)
    content = measure_memory(place, quick=quick)
    tell(memory_markdown(content))
    if quick:
        tell("a quick run is not kept.")
        return
    path = results / "bench" / f"memory-{place.type}.json"
    save_json(path, content)
    tell(f"kept in {path}")


def _device(tell: Tell, device: str) -> bool:
    from gsina.files import save_json
    from gsina.paper.studies.devices import check_device
    from gsina.training.devices import choose_device

    place = choose_device(device)
    if place.type == "cpu":
        tell(
            "there is no accelerator, or none was asked for: the CPU is compared with itself, "
            "computing in the way of devices, which says nothing about a GPU."
        )
    content = check_device(place, tell=tell)
    path = Path(f"gsina-device-{place.type}.json")
    save_json(path, content)
    failed = content["failed"]
    tell(f"{len(content['checks']) - len(failed)} of {len(content['checks'])} checks passed.")
    what = "the report" if place.type == "cpu" else "the report to send back"
    tell(f"{what}, with versions and hardware: {path}")
    return not failed
