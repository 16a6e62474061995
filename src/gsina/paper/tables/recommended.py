"""The recommended recipe: the ideas it was chosen from, and how it does beside other methods.

Nothing here is chosen on test data. Ideas are compared on validation graphs, with seeds that no
reported number has; every method gets the same number of trials over the same settings; and what is
reported stands also on draws of the data that were made after all choices.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from gsina.paper.tables.factors import EMBEDDING, EXPLANATIONS, RAW, Row, changed
from gsina.paper.tables.table import Cell, Table
from gsina.runs.recipe import Recipe

#: Seeds of trials; reported are others.
TRIAL_SEEDS = (100, 101)
TEN = tuple(range(10))
#: Where recipes are chosen, and the biases that are reported.
CHOSEN_AT = 0.7
BIASES = (0.5, 0.7, 0.9)
#: Draws of the data: two that nobody had looked at when the recipe was chosen, and the usual one.
DRAWS = (2026, 2027, 0)
#: What the ideas left for all methods: readout, averaged weights, graphs drawn against shortcuts.
SHARED = {"average": 0.99, "resample": "shortcuts"}
#: GSINA begins with most of the edges: from half of them on, single seeds never found the motif.
FROM_ALL = {"initial_ratio": 0.9, "anneal_epochs": 10}
#: A predictor of one layer that follows the extractor's.
FOLLOWED = EMBEDDING | {"predictor_layers": 1}
DEPTHS, RATES = (4, 6), (1e-3, 3e-3)


def start() -> Row:
    """Where the ideas start from."""
    options = {"ratio": 0.5, "scorer": "normed"} | RAW | FROM_ALL
    return Row("start", "gsina", 4, options, "max", optimiser=SHARED)


def ideas() -> Table:
    """One change at a time to GSINA, on validation graphs."""
    first = start()

    def change(label: str, options: dict[str, Any] | None = None, **other: Any) -> Row:
        return replace(first, label=label, options=changed(first.options, options or {}), **other)

    rows = [
        change("start: raw, r 0.5, normed scorer, 4 layers, max, averaged, resampled"),
        change("embedding, 2 and 2 layers", EMBEDDING, layers=2),
        change("embedding, 3 and 1 layers", FOLLOWED, layers=3),
        change("embedding, 3 and 1 layers, 6 edges", FOLLOWED | {"budget": 6}, layers=3),
        change(
            "embedding, 3 and 1 layers, 6 edges, plain scorer",
            FOLLOWED | {"budget": 6, "scorer": "plain"},
            layers=3,
        ),
        change("embedding, 3 and 1 layers, 12 edges", FOLLOWED | {"budget": 12}, layers=3),
        change("3 layers", layers=3),
        change("6 layers", layers=6),
        change("plain scorer", {"scorer": "plain"}),
        change("narrow scorer", {"scorer": "narrow"}),
        change("r 0.25", {"ratio": 0.25}),
        change("r 0.7", {"ratio": 0.7}),
        change("8 edges", {"budget": 8}),
        change("16 edges", {"budget": 16}),
        change("tau 0.3", {"temperature": 0.3}),
        change("tau from 1 to 0.2", {"final_temperature": 0.2}),
        change("weighted mean", readout="mean"),
        change("weighted sum", readout="sum"),
        change("quadratic", {"regulariser": "quadratic"}),
        change("hard draws", {"hard": True}),
        change("hard draws, 8 at test time", {"hard": True, "test_draws": 8}),
        change("8 draws at test time", {"test_draws": 8}),
        change("no noise", {"noise": 0.0}),
        change("r 0.5 from the beginning", {"initial_ratio": None}),
        change("no average", optimiser={"resample": "shortcuts"}),
        change("not resampled", optimiser={"average": 0.99}),
    ]
    cells = tuple(
        Cell(row.label, "validation", row.recipe(CHOSEN_AT), TRIAL_SEEDS, split="val")
        for row in rows
    )
    notes = (
        "GIN on Spurious-Motif at b = 0.7, 40 epochs; validation graphs only, with trial seeds.",
        "Validation graphs have no bias, and the sizes of training graphs.",
    )
    return Table(
        "ideas",
        "Ideas for the recommended recipe: validation accuracy",
        cells,
        notes=notes,
        extra=EXPLANATIONS,
        sample_std=True,
    )


def recommended() -> Table:
    """Four methods, tuned alike, on three draws of the data."""
    cells = tuple(
        Cell(
            label,
            f"b = {bias}, draw {draw}",
            choices[0],
            TEN,
            trials=tuple(row.recipe(CHOSEN_AT) for row in rows),
            choices=choices,
            trial_seeds=TRIAL_SEEDS,
        )
        for draw, bias in product(DRAWS, BIASES)
        for label, rows in candidates().items()
        for choices in [tuple(_on(row, bias, draw) for row in rows)]
    )
    notes = (
        "All methods: GIN, maximum as the readout, averaged weights, training graphs resampled "
        "against shortcuts, 40 epochs, latest of the best epochs on validation data.",
        f"Trials at b = {CHOSEN_AT} of draw 0. Depth is what the row's networks have between "
        "features and answer; DIR that reads the embedding has half of it in either network.",
        "Draws 2026 and 2027 were made after the recipe was chosen; draw 0 is that of the other "
        "tables, whose test scores had been seen.",
    )
    return Table(
        "recommended",
        "The recommended recipe beside other methods, tuned alike: OOD test accuracy",
        cells,
        notes=notes,
        extra=EXPLANATIONS,
        sample_std=True,
    )


def candidates() -> dict[str, list[Row]]:
    """Eight recipes per method: two depths, two learning rates, two values of its own."""

    def rows(method: str, *own: tuple[dict[str, Any], dict[str, Any], int]) -> list[Row]:
        return [
            Row(
                method,
                method,
                depth // networks,
                options,
                "max",
                network,
                SHARED | {"learning_rate": rate},
            )
            for depth, rate, (options, network, networks) in product(DEPTHS, RATES, own)
        ]

    normed = {"scorer": "normed"} | RAW | FROM_ALL
    return {
        "GSINA": rows("gsina", ({"ratio": 0.5} | normed, {}, 1), ({"ratio": 0.7} | normed, {}, 1)),
        "plain network": rows("erm", ({}, {"dropout": 0.3}, 1), ({}, {"dropout": 0.1}, 1)),
        "GSAT": rows("gsat", ({"final_ratio": 0.5}, {}, 1), ({"final_ratio": 0.7}, {}, 1)),
        "DIR": rows("dir", (EMBEDDING, {}, 2), (RAW, {}, 1)),
    }


def _on(row: Row, bias: float, draw: int) -> Recipe:
    return replace(row, data={"seed": draw} if draw else {}).recipe(bias)
