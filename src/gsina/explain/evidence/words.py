"""Faithfulness in words: one line per graph, and a table per run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gsina.explain.evidence.measure import Faithfulness
from gsina.explain.evidence.removal import Way
from gsina.explainers.marked import edge_groups
from gsina.graphs.packed import PackedGraphs

#: Targets that a line names; of the others only the number is given.
NAMED = 3
#: How a way of removing is called.
WAY_LABEL = {"zero": "weights put to 0", "delete": "edges deleted", "replace": "edges replaced"}
#: Measures of a table: what they say, and whether they are shares.
MEASURES = (
    ("kept_alone", "the marked part alone keeps the answer", True),
    ("changed_without", "without it the answer changes", True),
    ("sufficiency", "sufficiency, 1 if the part alone is as sure as the whole", False),
    ("necessity", "necessity, how far the probability falls without it", False),
    ("curve_area", "area of the fidelity curve", False),
)
OF_NUMBERS = (
    ("moved_alone", "with the marked part alone the number moves by", False),
    ("moved_without", "without it the number moves by", False),
)
ALL_WAYS = (
    ("fidelity_plus", "fidelity+ (weights as masks)", True),
    ("fidelity_minus", "fidelity- (smaller is better)", True),
    ("characterisation", "characterisation score", False),
    ("unfaithfulness", "unfaithfulness (smaller is better)", False),
    ("roc_auc", "ROC-AUC against the truth", True),
    ("average_precision", "average precision", True),
    ("precision_at_5", "precision@5", True),
    ("pieces", "pieces of the marked part", False),
    ("stable_relabelling", "marked again if nodes are renumbered", True),
    ("stable_noise", "marked again if features are a little off", True),
)


def graph_lines(
    found: Faithfulness,
    graphs: PackedGraphs,
    *,
    way: Way = "delete",
    edge_word: str = "edge",
    rows: Tensor | None = None,
    of_network: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """One line per graph, or at node level per node, with the numbers that it says.

    Args:
        found: The measured explanations.
        graphs: The graphs.
        way: The way of removing that the line is about.
        edge_word: ``bond`` for molecules.
        rows: Rows to give lines of; by default all.
        of_network: Of a network beside trees, what it answers to every row by itself: the lines are
            about that, and say so. Empty where that is no class.

    Returns:
        Per row ``words``, and where there is a choice of edges ``before``, ``without``, ``only``,
        ``random_without``, ``random_only``, ``marked`` and ``edges`` (edges of the whole graph
        and of its marked part, both directions of one counted once).
    """
    own, dealt = found.explained.removed[way], found.random.removed[way]
    numbers = torch.stack([found.sure, own.without, own.only, dealt.without, dealt.only]).double()
    of_row = torch.arange(len(graphs))
    if numbers.size(1) != len(graphs):  # the nodes of graphs
        of_row = torch.repeat_interleave(graphs.node_ptr.diff())
    groups, reverse = edge_groups(graphs)
    once = torch.ones(groups.size, dtype=torch.bool)
    if reverse is not None:
        once = reverse >= torch.arange(groups.size)
    owner = torch.repeat_interleave(graphs.edge_ptr.diff())
    edges, marked = (
        owner[part].bincount(minlength=len(graphs)) for part in (once, once & found.marked)
    )
    lines = []
    for row in (torch.arange(len(of_row)) if rows is None else rows).tolist():
        graph = int(of_row[row])
        total, kept = int(edges[graph]), int(marked[graph])
        values = numbers[:, row].tolist()
        answer = None if of_network is None else of_network[row]
        what = _subject(found.numbers, found.targets, answer)
        words = _line(values, total, kept, edge_word, what, _number if found.numbers else _share)
        line: dict[str, Any] = {"words": words}
        if total > kept:
            names = ("before", "without", "only", "random_without", "random_only")
            line |= dict(zip(names, values, strict=True)) | {"marked": kept, "edges": total}
        lines.append(line)
    return lines


def _line(
    values: Sequence[float],
    edges: int,
    marked: int,
    word: str,
    what: str,
    text: Callable[[float], str],
) -> str:
    """What the marked part is worth, in words that need no paper."""
    if edges == 0:
        return f"There are no {word}s, so nothing is marked."
    if edges == 1:
        return f"There is a single {word}, so there is nothing to choose."
    if marked == edges:
        return f"All {edges} {word}s are marked, so there is nothing to compare with."
    before, without, only, random_without, random_only = values
    change = f"stays {text(before)}"
    if text(without) != text(before):
        verb = "falls" if without < before else "rises"
        change = f"{verb} from {text(before)} to {text(without)}"
    named, them = (word, "that one") if marked == 1 else (f"{word}s", "them")
    return (
        f"Without the marked {named} ({marked} of {edges}) the {what} {change}; with only {them} "
        f"it is {text(only)}. A random choice of as many: {text(random_without)}, "
        f"{text(random_only)}."
    )


def _subject(numbers: bool, targets: Sequence[str], of_network: str | None = None) -> str:
    """What a line is about; of several targets their mean, with the names of the first."""
    whose = "" if of_network is None else "network's "
    what = "prediction" if numbers else "probability"
    if not targets:
        return f"{whose}{what}{f' of {of_network}' if of_network else ''}"
    more = f" and {len(targets) - NAMED} more" if len(targets) > NAMED else ""
    given = "" if numbers else " of the answers"
    return f"{whose}mean {what}{given} over {', '.join(targets[:NAMED])}{more}"


def table(found: Faithfulness, short: bool = False) -> list[list[str]]:
    """A header and rows of text: every measure, of the explanations and of random ones.

    Args:
        found: The measured explanations.
        short: Only the first way of removing, and what is measured in no way of removing.
    """
    own, dealt = found.summary(), found.summary(random=True)
    rows = [["", "explanation", "random"]]
    for way in list(found.explained.removed)[: 1 if short else None]:
        for name, label, share in OF_NUMBERS if found.numbers else MEASURES:
            rows.append(_row(f"{WAY_LABEL[way]}: {label}", f"{name}_{way}", own, dealt, share))
    rows += [_row(label, name, own, dealt, share) for name, label, share in ALL_WAYS]
    return [row for row in rows if row[1:] != ["-", "-"]]


def run_line(found: Faithfulness, *, way: Way = "delete", edge_word: str = "edge") -> str:
    """All graphs in one sentence; empty if no graph has edges to choose from."""
    own, dealt = found.summary(), found.summary(random=True)
    if not bool(found.counted.any()):
        return ""
    if found.numbers:
        without, alone = f"moved_without_{way}", f"moved_alone_{way}"
        return (
            f"without the marked {edge_word}s the prediction moves by {_number(own[without])} "
            f"(random ones: {_number(dealt[without])}), with only them by {_number(own[alone])} "
            f"({_number(dealt[alone])})"
        )
    without, alone = f"changed_without_{way}", f"kept_alone_{way}"
    return (
        f"without the marked {edge_word}s {_percent(own[without])} of the answers change (random "
        f"ones: {_percent(dealt[without])}); with only them {_percent(own[alone])} stay "
        f"({_percent(dealt[alone])})"
    )


def _row(
    label: str, name: str, own: dict[str, float], dealt: dict[str, float], share: bool
) -> list[str]:
    values = (one.get(name, math.nan) for one in (own, dealt))
    return [label, *(_cell(value, share) for value in values)]


def _cell(value: float, share: bool) -> str:
    if math.isnan(value):
        return "-"
    return _percent(value) if share else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{value:.2f}"


def _number(value: float) -> str:
    return f"{value:.4g}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"
