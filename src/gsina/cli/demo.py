"""``gsina demo``: a plain network and GSINA side by side, and a picture of what GSINA found."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gsina.cli import show
from gsina.cli.options import Device, Threads, check_device, command, use_threads
from gsina.cli.progress import Epochs
from gsina.listeners.progress import clock
from gsina.metrics import metric_text

if TYPE_CHECKING:
    from gsina.runs.recipe import Recipe
    from gsina.runs.run import Run

BIAS = 0.5
#: A third of the benchmark's training graphs and fewer epochs, to finish in a few minutes.
PER_CLASS, EPOCHS = 1000, 40
QUICK_PER_CLASS, QUICK_EPOCHS = 30, 2
CLASS_NAMES = ("cycle", "house", "crane")
COLUMNS = 5
#: Edges' worth of attention in the pictures: those of a motif. The seed of the pictured graphs.
EDGES, PICTURED = 6, 1


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few graphs and two epochs, only to see that it runs.")
    ] = False,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Train plain networks and GSINA on Spurious-Motif and draw what GSINA found.

    In Spurious-Motif a small motif decides the class, but in the training data the
    base graph it is attached to is correlated with the class. A model that relies
    on the base fails when the bases change.

    \b
    [bold]Examples[/]
    gsina demo
    gsina demo --seed 1 --out demo-1
    """
    use_threads(threads)
    check_device(device)
    started = time.perf_counter()
    from gsina.files import save_json
    from gsina.runs.folder import check_folder

    check_folder(out)
    picture = out / "subgraphs.png"
    with show.on_interrupt("interrupted; nothing is kept, so start the demo again."):
        runs = _train(seed, quick, device)
        for name, finished in runs.items():
            save_json(out / f"{name}.json", finished.result)
        _draw(picture, runs["gsina"])
        _draw(out / "large.png", runs["gsina"], large=True)
    show.console.print(_table(runs))
    _conclude(picture, seed, quick, time.perf_counter() - started)


def _train(seed: int, quick: bool, device: str | None) -> dict[str, Run]:
    from gsina.datasets.catalog import load_dataset
    from gsina.runs.run import run

    per_class, epochs = (QUICK_PER_CLASS, QUICK_EPOCHS) if quick else (PER_CLASS, EPOCHS)
    data: dict[str, Any] = {"bias": BIAS, "num_per_class": per_class}
    dataset = load_dataset("spmotif", **data)
    train, test = dataset.train, dataset.test
    show.say(
        f"Spurious-Motif, bias {BIAS}: {len(train):,} graphs to train on, {len(test):,} with other "
        "and larger bases to test on. Three classes, so guessing is right in 33 %."
    )
    runs = {}
    for name, recipe in _recipes(data, epochs).items():
        heard = [Epochs(name)]
        runs[name] = run(recipe, seed, dataset=dataset, device=device, listeners=heard)
    return runs


def _recipes(data: dict[str, Any], epochs: int) -> dict[str, Recipe]:
    """A plain network as deep as GSINA's, one that has GSINA's recipe, and GSINA."""
    from gsina.runs.published import default_recipe
    from gsina.runs.recipe import Recipe

    ours, plain = (
        default_recipe("spmotif", "gin", method, data=data, which="recommended", epochs=epochs)
        for method in ("gsina", "erm")
    )
    values = plain.model_dump()
    values["backbone"]["options"].pop("readout")
    values["optimiser"] |= {"resample": None}
    return {"erm": Recipe.parse(values), "erm+": plain, "gsina": ours}


def _draw(path: Path, finished: Run, large: bool = False) -> None:
    """Draw new graphs with bases independent of the class, as large as in training or larger."""
    import torch

    from gsina.datasets import spmotif
    from gsina.explain.budget import with_budget
    from gsina.explain.pictures.graphs import HEIGHT, WIDTH, draw_subgraphs
    from gsina.ops.budget import Budget
    from gsina.training import predict

    graphs = spmotif.generate(
        BIAS, "test" if large else "val", num_per_class=10 * COLUMNS, seed=PICTURED
    )
    shuffle = torch.Generator().manual_seed(0)
    graphs = graphs[torch.randperm(len(graphs), generator=shuffle)]
    found = with_budget(predict(finished.method, graphs), graphs, Budget(count=EDGES))
    sizes = "four times as large as in training" if large else "as large as in training"
    draw_subgraphs(
        graphs,
        found,
        path,
        columns=2 if large else COLUMNS,
        class_names=CLASS_NAMES,
        title=f"What GSINA looks at: its scores with a budget of {EDGES} edges",
        caption=f"New graphs, picked at random: bases about {sizes}, and of any kind.",
        min_nodes=60 if large else 1,
        max_nodes=110 if large else 40,
        cell=(2 * WIDTH, 2 * HEIGHT) if large else (WIDTH, HEIGHT),
    )


def _table(runs: dict[str, Run]) -> Table:
    """Methods side by side."""
    table = show.numbers_table(
        "",
        "accuracy\nin-dist.",
        "accuracy\nOOD",
        "explanation\nROC-AUC",
        "precision\n@5",
        "seconds\nper epoch",
        "times\nERM",
    )
    plain = runs["erm"].result["seconds_per_epoch"]
    for name, finished in runs.items():
        metrics, seconds = finished.result["metrics"], finished.result["seconds_per_epoch"]
        test = metrics["test"]
        cells = [metric_text(metrics["id_test"]["accuracy"], "accuracy")]
        cells += [
            metric_text(test.get(name), name)
            for name in ("accuracy", "explanation_auc", "precision_at_5")
        ]
        table.add_row(
            name.replace("erm", "ERM").replace("gsina", "GSINA"),
            *cells,
            f"{seconds:.2f}",
            f"{seconds / plain:.1f}",
        )
    return table


def _conclude(picture: Path, seed: int, quick: bool, seconds: float) -> None:
    if quick:
        show.say("These numbers mean nothing: --quick only shows that everything runs.")
    else:
        show.say(
            f"This is one seed ({seed}) and a third of the graphs; what a claim can rest on is in "
            "docs/what-decides.md."
        )
        show.say(
            "ERM is a plain network as deep as GSINA's; ERM+ also has its readout (the "
            "maximum over nodes) and its draws of training graphs, which take shortcuts away."
        )
    show.say(
        "Explanation ROC-AUC: how well attention tells the motif's edges from the rest (50 % is "
        "chance); precision@5: the share of motif edges among the five with most attention."
    )
    show.say(
        f"What GSINA looks at is drawn in {picture}, and in larger graphs in "
        f"{picture.with_name('large.png')}. All this took {clock(seconds)}."
    )
    show.say("\nTry next:")
    for arguments, purpose in (
        (["demo", "--seed", str(seed + 1), "--out", "demo-2"], "another seed"),
        (["train", "spmotif", "--bias", "0.9"], "a full training on stronger bias"),
        (["train", "spmotif", "--ratio", "0.3"], "keep 30 % of the edges"),
        (["methods"], "all methods and their options"),
    ):
        show.say(f"  {command(*arguments):56} {purpose}")
