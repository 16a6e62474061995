"""A page of the most confident predictions for the graphs of a file."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gsina.errors import InputError
from gsina.explain.evidence.certify import Certificate
from gsina.explain.evidence.of_page import PageEvidence, page_evidence
from gsina.explain.evidence.removal import WAYS
from gsina.explain.report import edge_word, node_page, page
from gsina.explainers.weights import NotExplainable, Weighed
from gsina.formats.assemble import NodeGraph, Rows
from gsina.graphs.fields import take
from gsina.graphs.packed import PackedGraphs
from gsina.models.answers import NOT_FINITE, confidence, truth
from gsina.models.explanations import weigh_edges
from gsina.models.model import Model
from gsina.models.predict import OnRows, Summary, read_files
from gsina.training.evaluate import Predictions

#: The scores on the page of new data are not scores of that data.
THEN = "scores of the model when it was trained"


@dataclass
class Explained(Summary):
    """What was explained, and how far it can be believed.

    Attributes:
        names: Names of the graphs (or nodes) of the page, in its order.
        evidence: Measured on these; ``None`` without weights of edges.
    """

    names: list[str] = field(default_factory=list)
    evidence: PageEvidence | None = None


class RankedGraph(NamedTuple):
    """One graph of the page; sorted by the first two."""

    sure: float
    order: int
    name: str
    graph: PackedGraphs
    prediction: Predictions


def explain_files(
    model: Model,
    files: Sequence[Path],
    out: Path,
    *,
    top: int = 20,
    names: str | Sequence[str] | None = None,
    model_name: str = "",
    certificate: Certificate | None = None,
    on_rows: OnRows | None = None,
) -> Explained:
    """Write a page of the ``top`` graphs, or surroundings of nodes, that the model is surest of.

    Args:
        model: The model.
        files: Files as its format has them; those of graphs are read in chunks.
        out: The page.
        top: How many; of numbers those with the largest predictions.
        names: The column that names a row, such as that of the SMILES; by default as in training.
        model_name: Name of the model's folder, shown on the page.
        certificate: How much to mark, and what that promises; by default what the model keeps.
        on_rows: Called after every chunk of the file.
    """
    found = read_files(model, files, names)
    if isinstance(found, Rows):
        return _explain_rows(
            model, found, files[0].name, out, top, model_name, certificate, on_rows
        )
    return _explain_nodes(model, found, files[0].name, out, top, model_name)


def _explain_rows(
    model: Model,
    rows_of_file: Rows,
    file: str,
    out: Path,
    top: int,
    model_name: str,
    certificate: Certificate | None,
    on_rows: OnRows | None,
) -> Explained:
    summary = Explained()
    best: list[RankedGraph] = []
    for chunk in rows_of_file.chunks:
        if len(chunk.graphs):
            rows = [chunk.rows[place] for place in chunk.position.tolist()]
            graphs = replace(chunk.graphs, y=truth(model, rows))
            found = model.predict(graphs)
            sure = confidence(model, found.logits)
            lost = sure.isinf().nonzero().view(-1).tolist()
            summary.count_unreadable(dict.fromkeys(lost, NOT_FINITE))
            for graph in sure.topk(min(top, len(sure) - len(lost))).indices.tolist():
                order = -(summary.rows + int(chunk.position[graph]))
                name = rows_of_file.name_of(rows[graph])
                if len(best) < top or (float(sure[graph]), order) > best[0][:2]:
                    one = RankedGraph(float(sure[graph]), order, name, *_one(graphs, found, graph))
                    (heapq.heappushpop if len(best) >= top else heapq.heappush)(best, one)
        summary.rows += len(chunk.rows)
        summary.count_unreadable(chunk.reasons)
        if on_rows is not None:
            on_rows(summary.rows)
    if not best:
        why = f" that can be read (the first: {summary.first_reason})" if summary.rows else "s"
        raise InputError(f"{file} has no row{why}, so there is nothing to show; check the file.")
    best.sort(reverse=True)
    graphs = PackedGraphs.join([one.graph for one in best])
    own = Predictions.join([one.prediction for one in best])
    shown = _weighed(model, graphs, own)
    word = edge_word(model)
    summary.names = [one.name for one in best]
    certified = None if certificate is None else certificate.budget
    summary.evidence = page_evidence(
        model,
        graphs,
        shown.predictions,
        budget=certified,
        ways=WAYS,
        edge_word=word,
    )
    promise = [] if certificate is None else [("certified", certificate.words(word))]
    page(
        path=out,
        model=model,
        graphs=graphs,
        predictions=shown.predictions,
        explainer=shown.post_hoc,
        names=summary.names,
        name=file,
        summary=[
            ("model", _model_in_words(model, model_name)),
            ("shown", f"{len(best)} of {summary.rows} rows, {_first_ones(model)}"),
            ("could not be read", f"{summary.unreadable} of {summary.rows} rows"),
            *promise,
        ],
        evidence=summary.evidence,
        certified=certified,
        scores_caption=THEN,
        order=_order(model),
    )
    return summary


def _weighed(model: Model, graphs: PackedGraphs, found: Predictions) -> Weighed:
    """With weights of edges, if there can be any."""
    try:
        return weigh_edges(model, graphs, found)
    except NotExplainable:
        return Weighed(found, "")


def _explain_nodes(
    model: Model, graph: NodeGraph, file: str, out: Path, top: int, model_name: str
) -> Explained:
    own = model.predict(graph.graphs)
    sure = confidence(model, own.logits)
    nodes = sure.topk(min(top, int(sure.isfinite().sum()))).indices
    if not len(nodes):
        raise InputError(f"{file} has no node with a finite answer, so there is nothing to show.")
    shown = _weighed(model, graph.graphs, own)
    evidence = node_page(
        out,
        model,
        graph.graphs,
        nodes,
        graph.names,
        file,
        [
            ("model", _model_in_words(model, model_name)),
            ("shown", f"{len(nodes)} of {len(sure)} nodes, {_first_ones(model)}"),
        ],
        graph.warnings,
        found=shown.predictions,
        explainer=shown.post_hoc,
        ways=WAYS,
        scores_caption=THEN,
        order=_order(model),
    )
    names = [graph.names[node] for node in nodes.tolist()]
    return Explained(rows=len(sure), names=names, evidence=evidence)


def _model_in_words(model: Model, name: str) -> str:
    kind = model.architecture.words
    return f"{name} ({kind})" if name else kind


def _first_ones(model: Model) -> str:
    return f"the {'largest' if model.task.kind == 'regression' else 'surest'} first"


def _order(model: Model) -> str:
    """The order of :func:`confidence`, in the words of the page's own control."""
    return "Largest prediction" if model.task.kind == "regression" else "Most confident"


def _one(graphs: PackedGraphs, found: Predictions, graph: int) -> tuple[PackedGraphs, Predictions]:
    rows = graphs.rows_of(graph)
    parts = take(found, rows | {"label": rows["graph"]})
    # Copies, for a view would keep the whole chunk in memory.
    copies = {name: value.clone() for name, value in parts.items()}
    return graphs[[graph]], replace(found, **copies)
