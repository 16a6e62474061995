"""A model in a notebook: what it reads, what it predicts, and its scores, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gsina.display import facts, grid, text
from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label, metric_text

if TYPE_CHECKING:
    from gsina.models.model import Model

#: Classes that are named one by one.
NAMED = 8


def model_html(model: Model) -> str:
    """A small piece of HTML about a model."""
    made = model.architecture
    title = f"{made.method} on {made.backbone}"
    created = f" ({text(model.created)})" if model.created else ""
    shown = f"{facts(data_rows(model))}{scores_html(model.metrics)}"
    return f"<div><b>{text(title)}</b>{created}{shown}</div>"


def data_rows(model: Model) -> list[tuple[str, str]]:
    """What a model reads and predicts, and the sizes of its data."""
    from gsina.models.answers import class_names  # which needs the class of models

    sizes = model.data.get("sizes") or {}
    counts = ", ".join(f"{count:,} {SPLITS.get(part, part)}" for part, count in sizes.items())
    found = [
        ("reads", text(model.featuriser.get("kind", "graphs"))),
        (f"{model.task.level}s", text(counts or "unknown")),
    ]
    if model.task.kind == "regression":
        return [*found, ("targets", text(", ".join(model.target_names) or model.task.outputs))]
    classes = class_names(model)
    more = f" and {len(classes) - NAMED} more" if len(classes) > NAMED else ""
    return [*found, ("classes", text(", ".join(classes[:NAMED]) + more))]


def scores_html(metrics: Mapping[str, Mapping[str, Any]], names: Mapping[str, str] = SPLITS) -> str:
    """Scores, one row per split; empty without any.

    Args:
        metrics: Scores by split and metric.
        names: What splits are called.
    """
    if not metrics:
        return ""
    found = dict.fromkeys(name for row in metrics.values() for name in row)
    columns = [name for name in found if name != "explanation_auc_per_graph"]
    rows: Iterable[list[str]] = (
        [names.get(split, split), *(metric_text(row.get(name), name) for name in columns)]
        for split, row in metrics.items()
    )
    return grid(["split", *map(metric_label, columns)], rows)
