"""What decides on Spurious-Motif: depth, what the predictor reads, the rule that selects, the loss.

Every row has the same optimiser, number of epochs and selection rule, so that rows differ in the
factor they name and in nothing else. The depth of a row is the number of layers between the
features and the answer: a predictor that reads an embedding has the layers of the extractor before
its own.
"""

from __future__ import annotations

from typing import Any

from gsina.paper.tables.table import FIVE, Cell, ExtraColumn, Table
from gsina.runs.recipe import Recipe

BIASES = (0.5, 0.9, 0.7)
EPOCHS = 40
GSINA = {"ratio": 0.25, "scorer": "plain"}
RAW, EMBEDDING = {"predict_from": "raw"}, {"predict_from": "embedding"}


def factors() -> Table:
    """The cheap and decisive cells first: bias by bias, the plain network before the others."""
    cells = tuple(
        Cell(row, f"SPMotif {bias}", _recipe(bias, method, layers, options), FIVE)
        for bias in BIASES
        for row, method, layers, options in _rows()
    )
    notes = (
        f"All rows: GIN, {EPOCHS} epochs, Adam with learning rate 1e-3, batches of 128, the latest "
        "of the best epochs on validation data, no early stopping, seeds 0 to 4.",
        "Depth: layers between the features and the answer. Where the predictor reads the "
        "extractor's embedding, half of them are the extractor's, and the subgraph is no strict "
        "bottleneck: a node's state has seen its neighbourhood. Where it reads raw features, the "
        "extractor is a second network of the same depth.",
    )
    extra = (
        ExtraColumn("explanation_auc", "explanation ROC-AUC"),
        ExtraColumn("precision_at_5", "precision@5"),
    )
    title = "What decides on Spurious-Motif: OOD test accuracy"
    return Table("factors", title, cells, notes=notes, extra=extra, sample_std=True)


def _rows() -> list[tuple[str, str, int, dict[str, Any]]]:
    """Label, method, layers per network and options of every row."""
    gsina = GSINA | EMBEDDING
    return [
        *((f"plain network, depth {depth}", "erm", depth, {}) for depth in (2, 4, 6, 8)),
        *(
            (f"GSINA, embedding, depth {2 * layers}", "gsina", layers, gsina)
            for layers in (2, 3, 4)
        ),
        *((f"GSINA, raw, depth {depth}", "gsina", depth, GSINA | RAW) for depth in (2, 4, 6)),
        *((f"GSAT, depth {depth}", "gsat", depth, {"final_ratio": 0.7}) for depth in (2, 4, 6)),
        ("DIR, embedding, depth 4", "dir", 2, EMBEDDING),
        ("DIR, embedding, no interventions, depth 4", "dir", 2, EMBEDDING | {"alpha": 0.0}),
        ("DIR, raw, no interventions, depth 2", "dir", 2, RAW | {"alpha": 0.0}),
        ("GSINA, embedding, no noise, depth 4", "gsina", 2, gsina | {"noise": 0.0}),
        ("GSINA, embedding, normed scorer, depth 4", "gsina", 2, gsina | {"scorer": "normed"}),
    ]


def _recipe(bias: float, method: str, layers: int, options: dict[str, Any]) -> Recipe:
    return Recipe.parse(
        {
            "data": {"name": "spmotif", "options": {"bias": bias}},
            "method": {"name": method, "options": options},
            "backbone": {"name": "gin", "options": {"num_layers": layers}},
            "optimiser": {"epochs": EPOCHS, "batch_size": 128, "learning_rate": 1e-3},
            "selection": {"rule": "latest-best"},
        }
    )
