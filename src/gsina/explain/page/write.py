"""Write the page: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor

from gsina.errors import check_name
from gsina.explain.page.carry import Carried
from gsina.explain.page.carry.store import pack
from gsina.explain.page.graph import PageGraph
from gsina.explain.page.molecule import Kind, MoleculeDrawing
from gsina.explain.page.whole_graph import WholeGraph, condense
from gsina.files import write_aside
from gsina.nn.checks import check_numbers
from gsina.nn.node_weights import NODE_ATTENTIONS
from gsina.ops.budget import Budget
from gsina.ops.soft_top_r import REGULARISERS

SCRIPTS = (
    "solver.js",
    "network.js",
    "answers.js",
    "whatif.js",
    "draw.js",
    "density.js",
    "edit.js",
    "filters.js",
    "large.js",
    "pointer.js",
    "head.js",
    "page.js",
)
#: Steps of the grid of places within the usual length of an edge.
GRID = 100
#: Kinds of lines of a drawing; the page knows them by number.
KINDS = get_args(Kind)


def write_page(
    path: Path,
    graphs: Sequence[PageGraph],
    *,
    title: str,
    budget: Budget,
    certified: Budget | None = None,
    temperature: float = 1.0,
    node: str = "max",
    regulariser: str = "entropic",
    summary: Sequence[tuple[str, str]] = (),
    scores_table: Sequence[Sequence[str]] = (),
    scores_caption: str = "",
    comparison_table: Sequence[Sequence[str]] = (),
    evidence_table: Sequence[Sequence[str]] = (),
    verdict: str = "",
    pictures: Sequence[tuple[str, str]] = (),
    explainer: str = "",
    notes: Sequence[str] = (),
    order: str = "Order in the file",
    molecules: bool = False,
    whole: WholeGraph | None = None,
    carried: Carried | None = None,
) -> None:
    """Write graphs, their predictions and the live soft top-r into one HTML file.

    The page works offline and never loads anything. All texts are escaped.

    Args:
        path: The file; replaced as a whole when all is written.
        graphs: The graphs, from :func:`page_graphs`. Without scores the page has no sliders.
        title: The headline.
        budget: What the model keeps, where its slider starts: a slider of shares, or of edges.
        certified: A share that is promised to keep the answers; a slider of shares starts there.
        temperature: The model's tau, where its slider starts.
        node: Weights of nodes from those of their edges: ``max``, ``mean`` or ``none``.
        regulariser: Of the soft top-r that the sliders solve: ``entropic`` or ``quadratic``.
        summary: Names and values to show on top.
        scores_table: A header row and the rows of a table.
        scores_caption: Caption of the table.
        comparison_table: A table like it, of the model and its baselines.
        evidence_table: A table like it, of how far the marked parts can be believed.
        verdict: What to think of the comparison.
        pictures: Pictures of scores, each an ``svg`` element that is trusted, and a caption.
        explainer: Whose weights are shown, if they are not the model's own.
        notes: Sentences to show on top.
        order: Name of the order that the graphs are given in, where sorting starts.
        molecules: Whether to speak of atoms and bonds instead of nodes and edges.
        whole: The one graph that the graphs are parts of. The budget then holds over its edges, as
            it does in the model, and not in every part.
        carried: The network, to answer what it says of changed graphs; ``None`` for a page that
            only shows.
    """
    check_numbers(temperature, 0.0, 1)
    check_name(node, NODE_ATTENTIONS, "node attention")
    check_name(regulariser, REGULARISERS, "regulariser")
    double = any(g.scores is not None and g.scores.dtype == torch.float64 for g in graphs)
    names: dict[tuple[str, ...], int] = {}
    data = {
        "title": title,
        "budget": _budget(budget),
        "certified": None if certified is None else _budget(certified),
        "temperature": temperature,
        "node": node,
        "regulariser": regulariser,
        "single": not double,
        "grid": GRID,
        "summary": [list(map(str, line)) for line in summary],
        "table": [list(map(str, row)) for row in scores_table],
        "caption": scores_caption,
        "comparison": [list(map(str, row)) for row in comparison_table],
        "evidence": [list(map(str, row)) for row in evidence_table],
        "verdict": verdict,
        "explainer": explainer,
        "notes": list(map(str, notes)),
        "order": order,
        "molecules": molecules,
        "whole": None if whole is None else _whole(whole, double),
        "graphs": [
            _graph(graph, double, names) | _input(graph, number, carried)
            for number, graph in enumerate(graphs)
        ],
        "outputNames": [list(known) for known in names],
        "network": None if carried is None else carried.network,
    }
    with write_aside(Path(path)) as file:
        file.write(_fill(title, embed(data), _pictures(pictures)).encode())


def _budget(budget: Budget) -> dict[str, float | None]:
    return {kind: value and float(value) for kind, value in asdict(budget).items()}


def embed(data: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII, so no line separators
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _pictures(pictures: Sequence[tuple[str, str]]) -> str:
    """Pictures that can be folded away; nothing without any."""
    if not pictures:
        return ""
    figures = [
        f'<figure role="img" aria-label="{html.escape(caption)}">{svg}\n'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        for svg, caption in pictures
    ]
    return "\n".join(
        [
            '<details id="pictures" open><summary>Training and answers</summary>',
            '<div class="pictures">',
            *figures,
            "</div></details>",
        ]
    )


def _fill(title: str, data: str, pictures: str) -> str:
    """Put style, scripts and data into the template in one pass, so none is searched."""
    style = _asset("page.css")
    script = "\n".join(map(_asset, SCRIPTS))
    # Only the style and the script of this file may run, and nothing may be loaded.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "TITLE": html.escape(title),
        "POLICY": html.escape(policy, quote=False),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": data,
        "PICTURES": pictures,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return files("gsina.explain.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _graph(graph: PageGraph, double: bool, names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    """One graph in short: what is empty or unknown is left out."""
    copies, frame = graph.copies.tolist(), _Frame.of(graph)
    entry: dict[str, Any] = {
        "name": graph.name,
        "places": frame.place(graph.positions.double()),
        "ends": graph.edges.T.flatten().tolist(),
        "scores": None if graph.scores is None else _numbers(graph.scores, double),
        "copies": copies[0] if len(set(copies)) == 1 else copies,
        "labels": graph.node_labels,
        "drawing": None if graph.drawing is None else _drawing(graph, graph.drawing, frame),
        "probabilities": _rounded(graph.probabilities),
        "values": _rounded(graph.values),
        "targetTruth": _rounded(graph.target_truth),
        "centre": graph.centre,
        "names": None,
        "predicted": graph.predicted,
        "truth": graph.truth,
        "right": graph.right,
        "confidence": None if graph.confidence is None else _rounded([graph.confidence])[0],
        "edgeTruth": None if graph.edge_truth is None else graph.edge_truth.int().tolist(),
        "own": None if graph.weights is None else _rounded(graph.weights.tolist()),
        "faithfulness": _line(graph.faithfulness),
        "ownNode": None if graph.node_weights is None else _rounded(graph.node_weights.tolist()),
    }
    if graph.output_names:
        entry["names"] = names.setdefault(graph.output_names, len(names))
    return {
        key: value
        for key, value in entry.items()
        if value not in (None, "", ()) and (value != [] or key in ("scores", "places", "ends"))
    }


def _line(faithfulness: Mapping[str, Any]) -> dict[str, Any] | None:
    """The line of a graph, with numbers of a few digits; names as scripts have them."""
    return {
        re.sub(r"_(\w)", lambda letter: letter[1].upper(), name): value
        if isinstance(value, str | int)
        else _rounded([value])[0]
        for name, value in faithfulness.items()
    } or None


def _whole(whole: WholeGraph, double: bool) -> dict[str, Any]:
    values, counts = condense(whole.scores)
    scores = _numbers(values, double)
    return {"scores": scores, "counts": counts.tolist(), "edges": whole.edges}


class _Frame(NamedTuple):
    """Where places lie on the grid of the page: around the middle, in lengths of an edge."""

    middle: Tensor
    unit: float

    @classmethod
    def of(cls, graph: PageGraph) -> _Frame:
        place = graph.positions.double()
        if not place.numel():
            return cls(torch.zeros(2, dtype=torch.double), 1.0)
        ends = place[graph.edges]
        lengths = (ends[0] - ends[1]).norm(dim=-1)
        lengths = lengths[lengths > 0]
        low, high = place.min(0).values, place.max(0).values
        unit = lengths.median() if lengths.numel() else (high - low).max() / 2
        return cls((low + high) / 2, float(unit) or 1.0)

    def place(self, points: Tensor) -> list[int]:
        """Points ``[M, 2]`` in hundredths of the usual length of an edge, x and y in turn."""
        return ((points - self.middle) / self.unit * GRID).round().long().flatten().tolist()


def _drawing(graph: PageGraph, drawing: MoleculeDrawing, frame: _Frame) -> dict[str, Any]:
    """Lines as ``[kind, owner, points]`` and letters as ``[atom, text, x, y, size]``.

    The owner is a pair of nodes, or for what belongs to one atom a negative number: -1 for atom 0.
    """
    pair = {tuple(sorted(ends)): number for number, ends in enumerate(graph.edges.T.tolist())}
    strokes = [
        [
            KINDS.index(kind),
            pair.get(tuple(sorted(ends)), -1 - ends[0]),
            *frame.place(torch.tensor(points, dtype=torch.double)),
        ]
        for kind, ends, points in drawing.strokes
    ]
    letters = [
        [
            letter.atom,
            letter.text,
            *frame.place(torch.tensor([[letter.x, letter.y]], dtype=torch.double)),
            round(letter.size / frame.unit * GRID),
        ]
        for letter in drawing.letters
    ]
    return {"strokes": strokes, "letters": letters}


def _input(graph: PageGraph, number: int, carried: Carried | None) -> dict[str, Any]:
    """What the network is given of a graph, and what the model said of it."""
    if carried is None or number >= carried.graphs:
        return {}
    given = {
        "x": graph.features,
        "edge": graph.edge_features,
        "back": graph.back_features,
        "extra": None if carried.extra is None else carried.extra[number],
    }
    made: dict[str, Any] = {name: pack(value) for name, value in given.items() if value is not None}
    if carried.trees is not None:
        made["trees"] = [float(f"{value:.9g}") for value in carried.trees[number].tolist()]
    return {"input": made | {"logits": [float(f"{value:.9g}") for value in graph.logits]}}


def _numbers(scores: Tensor, double: bool) -> list[float]:
    """Scores with as many digits as their type has; the page rounds single precision back."""
    if double:
        return scores.double().tolist()
    return [float(text) for text in scores.float().numpy().astype(str)]


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
