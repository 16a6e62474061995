"""A dataset in words and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsina.display import facts, grid, text
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.split_names import SPLITS
from gsina.graphs.task import Level
from gsina.metrics import metric_label

if TYPE_CHECKING:
    from gsina.graphs.dataset import Dataset

#: Classes and targets that are named one by one, notes that are shown.
NAMED, NOTES = 8, 5


def dataset_text(dataset: Dataset) -> str:
    """One line: name, task, and the sizes of the splits."""
    task = dataset.task
    counts = {split: _judged(one, task.level) for split, one in dataset.splits.items()}
    sizes = ", ".join(f"{split}: {count}" for split, count in counts.items())
    return f"Dataset({dataset.name!r}, {task.kind} of {task.level}s, {sizes})"


def dataset_html(dataset: Dataset) -> str:
    """What is predicted, the splits, and what is worth knowing, as a small piece of HTML."""
    task = dataset.task
    rows = [("predicts", text(_predicts(dataset))), ("judged by", text(metric_label(task.metric)))]
    if dataset.origin.file:
        rows.append(("file", text(dataset.origin.file)))
    if dataset.origin.unreadable:
        rows.append(("unreadable rows", f"{len(dataset.origin.unreadable):,}"))
    rows += [("note", text(note)) for note in dataset.notes[:NOTES]]
    heads = ("split", "graphs", "nodes", "edges", *["nodes that count"] * (task.level == "node"))
    sizes = [
        (
            SPLITS.get(split, split),
            f"{len(one):,}",
            f"{one.x.size(0):,}",
            f"{one.edge_index.size(1):,}",
            *[f"{_judged(one, task.level):,}"] * (task.level == "node"),
        )
        for split, one in sorted(dataset.splits.items(), key=lambda item: _order(item[0]))
    ]
    return f"<div><b>{text(dataset.name)}</b>{facts(rows)}{grid(heads, sizes)}</div>"


def _judged(graphs: PackedGraphs, level: Level) -> int:
    """Graphs of a split, or the nodes that count in it."""
    if level == "graph":
        return len(graphs)
    return graphs.x.size(0) if graphs.mask is None else int(graphs.mask.sum())


def _order(split: str) -> int:
    return [*SPLITS, split].index(split)


def _predicts(dataset: Dataset) -> str:
    task = dataset.task
    what = {
        "binary": "yes or no",
        "multiclass": f"one of {task.outputs} classes",
        "regression": "a number" if task.outputs == 1 else f"{task.outputs} numbers",
    }[task.kind]
    names = [str(one) for one in dataset.class_names or dataset.target_names]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = f" ({', '.join(names[:NAMED])}{more})" if names else ""
    return f"{what}{listed} per {task.level}"
