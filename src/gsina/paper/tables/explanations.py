"""The tables of explanations of Spurious-Motif."""

from __future__ import annotations

from collections.abc import Sequence

from gsina.paper.numbers import paper_number
from gsina.paper.tables.gsat import BIASES, spmotif
from gsina.paper.tables.table import FIVE, Cell, ExtraColumn, Table

BACKBONE_LABEL = {"gin": "GIN", "pna": "PNA", "spmotifnet": "SPMotifNet"}
EXPLAINER_LABEL = {
    "gnnexplainer": "GNNExplainer",
    "pgexplainer": "PGExplainer",
    "graphmask": "GraphMask",
}
#: Methods whose attention is an explanation, and explainers.
EXPLAINED = ("gsina", "gsat", "dir", *EXPLAINER_LABEL)
#: Settings of explainers beside those of their papers: row and name of the explainer.
EXPLAINER_TRIALS = {
    "GNNExplainer": "gnnexplainer",
    "GNNExplainer, 500 steps at 0.1": "gnnexplainer,steps=500,learning_rate=0.1",
    "PGExplainer": "pgexplainer",
    "PGExplainer, size 0.01": "pgexplainer,size=0.01",
    "PGExplainer, size 1": "pgexplainer,size=1.0",
    "PGExplainer, entropy 0.1": "pgexplainer,entropy=0.1",
    "PGExplainer, entropy 0.01": "pgexplainer,entropy=0.01",
}


def _interpret(name: str, rows: Sequence[tuple[str, str]], metric: str, title: str) -> Table:
    """Explanations of Spurious-Motif: attention by itself, and explainers of a plain network."""
    cells = [_explained(name, *row, bias) for bias in BIASES for row in rows]
    notes = ("The paper does not say which network its explainers explain; here it is the same.",)
    return Table(name, title, tuple(cells), metric, metric == "explanation_auc", notes)


def interpret_auc() -> Table:
    """All of the paper's, and the explainers, on GIN; its two own on PNA."""
    rows = [*(("gin", method) for method in EXPLAINED), ("pna", "gsina"), ("pna", "gsat")]
    title = "Explanation ROC-AUC, all test edges pooled"
    return _interpret("interpret-auc", [*rows, ("gin", "gib")], "explanation_auc", title)


def interpret_p5() -> Table:
    """The network that DIR has in the paper."""
    rows = [("spmotifnet", method) for method in EXPLAINED]
    return _interpret("interpret-p5", rows, "precision_at_5", "Precision@5 of explanations")


def _explained(table: str, backbone: str, method: str, bias: float) -> Cell:
    """A cell of a method, or of a post-hoc explainer of the plain network."""
    explainer = method if method in EXPLAINER_LABEL else None
    label = EXPLAINER_LABEL.get(method, method.upper())
    return Cell(
        f"{BACKBONE_LABEL[backbone]} + {label}",
        f"SPMotif {bias}",
        spmotif(backbone, "erm" if explainer else method, bias),
        FIVE,
        paper_number(table, method, backbone, f"spmotif-{bias}"),
        explainer,
    )


def interpret_long() -> Table:
    """GSINA's explanations on SPMotifNet when it is not stopped early."""
    cells = [_whole(bias, FIVE) for bias in (0.9, 0.7, 0.5)]
    cells[1:1] = [_whole(0.9, (0,), ratio=ratio) for ratio in (0.1, 0.4, 0.6)]
    note = (
        "The recipe of `interpret-p5` (r = 0.2), with all of its 200 epochs: there it ends after "
        "ten epochs without a better validation accuracy. The paper states neither for this "
        "network. Other shares r are tried, not chosen."
    )
    extra = (ExtraColumn("accuracy", "OOD test accuracy"),)
    title = "Precision@5 of GSINA without early stopping"
    return Table("interpret-long", title, tuple(cells), "precision_at_5", False, (note,), extra)


def _whole(bias: float, seeds: tuple[int, ...], **options: float) -> Cell:
    """GSINA with all of its epochs."""
    recipe = spmotif("spmotifnet", "gsina", bias, **options)
    selection = recipe.selection.model_copy(update={"patience": None})
    changed = "".join(f", {name} = {value}" for name, value in options.items())
    return Cell(
        f"SPMotifNet + GSINA{changed}",
        f"SPMotif {bias}",
        recipe.model_copy(update={"selection": selection}),
        seeds,
        paper_number("interpret-p5", "gsina", "spmotifnet", f"spmotif-{bias}"),
    )


def explainer_trials() -> Table:
    """What other settings do to post-hoc explainers; none of them was chosen."""
    cells = [
        Cell(
            f"GIN + {row}",
            f"SPMotif {bias}",
            spmotif("gin", "erm", bias),
            (0,),
            paper_number("interpret-auc", name.partition(",")[0], "gin", f"spmotif-{bias}"),
            name,
        )
        for bias in (0.5, 0.9)
        for row, name in EXPLAINER_TRIALS.items()
        if bias == 0.5 or "500" not in row
    ]
    note = (
        "The settings of `interpret-auc` and others, on one model each. They are tried, not "
        "chosen: to choose one would need the true explanations that are scored against."
    )
    title = "Post-hoc explainers with other settings: explanation ROC-AUC"
    return Table("explainer-trials", title, tuple(cells), "explanation_auc", notes=(note,))
