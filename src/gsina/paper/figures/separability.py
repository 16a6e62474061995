"""The paper's first figure, with numbers: how far attention tells explanation from background.

One command trains GSAT, CIGA, DIR and GSINA on Spurious-Motif, draws the heat maps and densities of
GSAT and GSINA, and measures, for all of them, what the property table of the paper says in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gsina.datasets.catalog import load_dataset
from gsina.explain.separability import Panel, draw_separability, separability
from gsina.files import save_json
from gsina.graphs.packed import PackedGraphs
from gsina.listeners import OnEpoch
from gsina.methods import Method
from gsina.paper.report.properties import rows_of, write_properties
from gsina.paper.studies.properties import property_result
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run
from gsina.runs.trained import model_folder, trained
from gsina.training import predict

#: The figure's ratio and bias; GSAT has no ratio, and keeps its published prior.
RATIO, BIAS = 0.3, 0.5
METHODS: dict[str, dict[str, Any]] = {
    "gsat": {},
    "cigav2": {"ratio": RATIO},
    "dir": {"ratio": RATIO},
    "gsina": {"ratio": RATIO},
}
DRAWN = {"gsat": "GSAT", "gsina": f"GSINA, r = {RATIO}"}
#: Graphs of the batch that is drawn.
BATCH = 128

#: Called with the recipe, the seed and the record of an epoch.
OnRecord = Callable[[Recipe, int, dict[str, Any]], None]


def write_figure_one(
    docs: Path,
    numbers: Path,
    seeds: Sequence[int] = (0,),
    *,
    data: dict[str, Any] | None = None,
    device: str | None = None,
    on_epoch: OnRecord | None = None,
    **settings: Any,
) -> list[Path]:
    """Train what is not trained yet, and write the figure, the numbers and the page.

    Args:
        docs: Folder of the documentation: ``img/separability.png`` and ``properties.md`` in it.
        numbers: The result file.
        seeds: Seeds of the training; the smallest is drawn.
        device: Where to train; by default on the CPU.
        data: Options of the dataset beside the bias, such as a smaller number of graphs.
        on_epoch: Called after every epoch that is trained.
        **settings: Changes of the recipes, such as ``epochs=1``.

    Returns:
        The files written.
    """
    options = {"bias": BIAS, **(data or {})}
    dataset = load_dataset("spmotif", **options)
    recipes = {
        name: default_recipe(
            "spmotif", "gin", name, data=options, options=method, **settings
        ).on_device(device)
        for name, method in METHODS.items()
    }
    runs: dict[tuple[str, int], Run] = {}
    for seed in seeds:
        for name, recipe in recipes.items():
            listeners = [] if on_epoch is None else [OnEpoch(partial(on_epoch, recipe, seed))]
            folder = model_folder(recipe, seed)
            runs[name, seed] = trained(recipe, seed, folder, dataset, listeners)
    picture = docs / "img" / "separability.png"
    batch = one_batch(dataset.val)
    panels = [
        Panel(title, _attention(runs[name, min(seeds)].method, batch))
        for name, title in DRAWN.items()
    ]
    draw_separability(
        batch, panels, picture, f"{len(batch)} validation graphs of SPMotif, b = {BIAS}; GIN."
    )
    results = [_measure(run) for run in runs.values()]
    save_json(numbers, {"runs": results})
    page = docs / "properties.md"
    write_properties(page, rows_of(results))
    return [picture, numbers, page]


def one_batch(graphs: PackedGraphs) -> PackedGraphs:
    """A random batch, always the same; the splits are sorted by class."""
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    return graphs[order[:BATCH]]


def _attention(method: Method, graphs: PackedGraphs) -> torch.Tensor:
    edge = predict(method, graphs).edge
    assert edge is not None
    return edge


def _measure(run: Run) -> dict[str, Any]:
    """The result of a run with its properties, and its separability on two splits."""
    splits = {name: run.dataset.splits[name] for name in ("val", "test")}
    apart = {}
    for name, graphs in splits.items():
        assert graphs.edge_truth is not None
        apart[name] = separability(_attention(run.method, graphs), graphs.edge_truth)._asdict()
    data = f"validation graphs of SPMotif, b = {BIAS}"
    return {**property_result(run, RATIO, splits["val"], data), "separability": apart}
