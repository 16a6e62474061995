"""``gsina figure``: pictures from trained models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gsina.cli import show
from gsina.cli.options import (
    DataOptions,
    Device,
    Threads,
    check_device,
    numbers,
    pairs,
    use_threads,
)
from gsina.metrics import metric_text

figure = typer.Typer(
    help="Draw what trained models look at.", no_args_is_help=True, rich_markup_mode="rich"
)


@figure.command("gallery")
def gallery(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run of gsina train.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The picture; by default gallery.png in the run."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split to draw graphs of.")] = "test",
    columns: Annotated[int | None, typer.Option(min=1, help="Graphs per class.")] = None,
    max_nodes: Annotated[int, typer.Option(min=1, help="Skip larger graphs.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of graphs.")] = 0,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Draw the extracted subgraphs of a few graphs of every class.

    Molecules are drawn as structures, sentences with their words. Attention is shown
    as it is, without rescaling.

    \b
    [bold]Examples[/]
    gsina train ogbg-molhiv --out runs/hiv && gsina figure gallery runs/hiv
    gsina figure gallery runs/first --split val --columns 8 --out subgraphs.png
    """
    use_threads(threads)
    from gsina.paper.figures.gallery import draw_gallery
    from gsina.runs.trained import load_run

    path = run / "gallery.png" if out is None else out
    options: dict[str, Any] = {"columns": columns, "max_nodes": max_nodes, "seed": seed}
    drawn = draw_gallery(load_run(run, device or "cpu"), path, split=split, **options)
    show.say(f"{len(drawn)} graphs of the {split} split are drawn in {path}")


@figure.command("separability")
def separability(
    seeds: Annotated[str, typer.Option(help="Seeds such as 0,1,2; the smallest is drawn.")] = "0",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Largest number of epochs, for a quick look.")
    ] = None,
    data_options: DataOptions = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the page.")] = Path("docs"),
    results: Annotated[
        Path, typer.Option("--results", help="JSON file of the numbers.", show_default=True)
    ] = Path("results/separability.json"),
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Train GSAT, CIGA, DIR and GSINA, and draw and measure how they separate edges.

    Makes the paper's first figure (heat maps and densities), the overlap and the
    Kolmogorov-Smirnov distance behind it, and the page of the paper's property
    table. Models that have been trained before are reused.

    \b
    [bold]Examples[/]
    gsina figure separability
    gsina figure separability --seeds 0,1,2
    """
    use_threads(threads)
    check_device(device)
    from gsina.paper.figures.separability import write_figure_one
    from gsina.runs.recipe import Recipe

    def on_epoch(recipe: Recipe, seed: int, record: dict[str, Any]) -> None:
        accuracy = metric_text(record["val"]["accuracy"], "accuracy")
        label = f"{recipe.method.name}, seed {seed}, epoch {record['epoch'] + 1}"
        show.say(f"{label}: validation accuracy {accuracy}")

    settings = {} if epochs is None else {"epochs": epochs}
    data = pairs(data_options or [], "--data-option")
    kept = "interrupted; finished epochs are kept, and the same command continues from here."
    with show.on_interrupt(kept):
        written = write_figure_one(
            out,
            results,
            numbers(seeds),
            data=data,
            device=device,
            on_epoch=on_epoch,
            **settings,
        )
    show.say(f"written: {', '.join(map(str, written))}")
