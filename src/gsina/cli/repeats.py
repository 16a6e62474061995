"""Several runs of ``gsina train``, with ``--seeds`` or ``--folds``: one folder and one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from gsina.cli import options, show
from gsina.cli.one_run import PlannedRun, introduce, resumable, train
from gsina.cli.progress import load_with_bar
from gsina.errors import InputError
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset
    from gsina.runs.repeats import Repeat


def run_repeats(plan: PlannedRun, resume: bool, force: bool, threads: int | None) -> None:
    """Train all runs of a plan, those that are finished left alone, and print means and spreads."""
    from gsina.runs.folder import alone_in, claim
    from gsina.runs.names import PREDICTIONS, RESULT
    from gsina.runs.repeats import summarise, write_summary
    from gsina.training.distributed import join
    from gsina.training.versions import versions

    recipe, seed, out, repeats = plan[:4]
    assert repeats is not None
    if not join(versions(), recipe.run.device).alone:
        raise InputError(
            "several processes share one run, not --seeds or --folds; leave torchrun out, or start "
            "the runs one by one with --seed."
        )
    runs = repeats.runs(recipe, seed)
    with alone_in(out):
        claim(out, recipe, seed, resume=resume, force=force, repeats=repeats.noted())
        with resumable(out, threads):
            _check(runs)
            results = _train_all(plan, runs, resume)
        summary = summarise(recipe, repeats, runs, results)
        write_summary(out, summary)
    show.say(f"means over {len(runs)} runs, ± their standard deviation:")
    show.console.print(means_table(summary))
    for note in summary["notes"]:
        show.say(f"note: {note}")
    if repeats.folds:
        show.say(f"predictions of every row by a model that has not seen it: {out / PREDICTIONS}")
    show.say(f"all numbers: {out / RESULT}")
    new = options.command("predict", out / runs[0].name, "...")
    show.say(f"every run is in a folder of its own, to use as any other: {new}")


def _check(runs: list[Repeat]) -> None:
    """Refuse folds that cannot be trained on, such as of one class, before any is trained."""
    for one in runs[1:]:  # the first is read next
        if one.recipe.data != runs[0].recipe.data:
            one.recipe.judge(load_with_bar(one.recipe.data))


def _train_all(plan: PlannedRun, runs: list[Repeat], resume: bool) -> list[dict[str, Any]]:
    """The results of all runs, trained now or before."""
    from gsina.runs.folder import note_run
    from gsina.training.distributed import Ranks

    assert plan.repeats is not None
    results: list[dict[str, Any]] = []
    dataset: Dataset | None = None
    told: set[str] = set()
    for place, one in enumerate(runs):
        show.say(f"{one.name} ({place + 1} of {len(runs)})", style="bold")
        before = one.result(plan.out) if resume else None
        if before is not None:
            show.say("finished before")
            results.append(before)
            continue
        if dataset is None or one.recipe.data != plan.recipe.data:
            dataset = one.recipe.judge(load_with_bar(one.recipe.data))
            introduce(plan, dataset, Ranks(), told)
        if not results:
            note_run(
                plan.out,
                plan.recipe,
                plan.seed,
                dataset,
                resume=resume,
                repeats=plan.repeats.noted(),
            )
        results.append(_train_one(plan, one, dataset, resume))
    return results


def _train_one(plan: PlannedRun, one: Repeat, dataset: Dataset, resume: bool) -> dict[str, Any]:
    from gsina.runs.folder import alone_in, claim, note_run
    from gsina.runs.names import PREDICTIONS
    from gsina.runs.repeats import write_test_predictions

    out = plan.out / one.name
    with alone_in(out):
        claim(out, one.recipe, one.seed, resume=resume, force=not resume)
        note_run(out, one.recipe, one.seed, dataset, resume=resume)
        finished = train(PlannedRun(one.recipe, one.seed, out, track=plan.track), dataset, resume)
        if plan.repeats is not None and plan.repeats.folds:
            write_test_predictions(out / PREDICTIONS, finished.model, dataset)
    show.console.print(show.metrics_table(finished.result))
    return finished.result


def means_table(summary: dict[str, Any]) -> Table:
    """Mean and spread of every metric, one row per split."""
    means, spreads = summary["metrics"], summary["spread"]
    found = list(dict.fromkeys(name for row in means.values() for name in row))
    names = [name for name in found if name not in ("loss", "explanation_auc_per_graph")]
    names.append("loss")
    table = show.numbers_table("split", *(metric_label(name) for name in names))
    for split in show.in_order(means):
        cells = [
            f"{metric_text(means[split].get(name), name)} ± "
            f"{metric_text(spreads[split].get(name), name)}"
            for name in names
        ]
        style = "bold" if split == "test" else ""
        table.add_row(show.split_name(split, summary["shifted"]), *cells, style=style)
    return table
