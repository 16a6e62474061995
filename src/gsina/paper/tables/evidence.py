"""The benchmark of explanations: how far those of each method can be believed."""

from __future__ import annotations

from typing import Any

from gsina.paper.studies.evidence import is_shifted
from gsina.paper.tables.explanations import EXPLAINER_LABEL
from gsina.paper.tables.gsat import BIASES
from gsina.paper.tables.table import FIVE, Cell, ExtraColumn, Table
from gsina.runs.published import PUBLISHED, RECOMMENDED, default_recipe
from gsina.runs.recipe import Recipe

#: Columns with true explanations: the dataset and its options.
DATA: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"SPMotif {bias}": ("spmotif", {"bias": bias}) for bias in BIASES},
    "BA-2Motifs": ("ba2motifs", {}),
    "Mutagenicity": ("mutagenicity", {"subset": "gsat"}),
    "MNIST-75sp, a sample": ("mnist-75sp", {"limit": 3000}),
}
#: Columns of the certificates beside these.
MORE = {
    "molbace": "ogbg-molbace",
    "molbbbp": "ogbg-molbbbp",
    "molclintox": "ogbg-molclintox",
    "NCI1": "nci1",
    "DD": "dd",
    "DrugOOD size (EC50)": "drugood-ec50-size",
}
#: Methods with weights of their own: label, method and recipe.
OWN = (
    ("GSINA, recommended", "gsina", RECOMMENDED),
    ("GSINA, published", "gsina", PUBLISHED),
    ("GSAT", "gsat", PUBLISHED),
    ("DIR", "dir", PUBLISHED),
)
#: Networks that explainers explain.
PLAIN = (("plain network", PUBLISHED), ("plain network, recommended", RECOMMENDED))
EXPLAINERS = EXPLAINER_LABEL | {"random": "random"}
#: Epochs of the models that are certified; GSAT may choose one from its 21st on.
EPOCHS = 30
#: Epochs on the sample of MNIST-75sp, whose published recipes have up to 200 on all images.
SAMPLE_EPOCHS = 60
#: Columns of the table beside the area under the ROC curve: measure, label, whether it is a share.
MEASURES = (
    ("accuracy", "accuracy", True),
    ("evidence_average_precision", "average precision", True),
    ("evidence_precision_at_5", "precision@5", True),
    ("evidence_pieces", "pieces", False),
    ("evidence_fidelity_plus", "fidelity+", True),
    ("evidence_fidelity_minus", "fidelity-", True),
    ("evidence_characterisation", "characterisation", False),
    ("evidence_unfaithfulness", "unfaithfulness", False),
    ("evidence_curve_area_delete", "area of the fidelity curve", False),
    *(
        (f"evidence_{measure}_{way}", f"{measure}, {label}", False)
        for way, label in (("delete", "deleted"), ("zero", "weight 0"), ("replace", "replaced"))
        for measure in ("sufficiency", "necessity")
    ),
    ("random_sufficiency_delete", "sufficiency of random, deleted", False),
    ("random_necessity_delete", "necessity of random, deleted", False),
    ("evidence_stable_relabelling", "stable when renumbered", True),
    ("evidence_stable_noise", "stable under noise", True),
    ("evidence_seconds", "seconds per graph", False),
)


def explanations() -> Table:
    """Every method and explainer on data with true explanations, on shifted and usual graphs."""
    cells = []
    for column, (dataset, options) in DATA.items():
        for split, where in (("test", column), ("val", f"{column}, validation")):
            if split == "val" and not is_shifted(dataset):
                continue
            cells += [
                Cell(row, where, recipe, FIVE, explainer=explainer, split=split)
                for row, recipe, explainer in _rows(dataset, options)
            ]
    notes = (
        "Up to 300 graphs of the split. Marked are 20 % of the edges, for all alike; random is the "
        "same weights dealt out anew. The ROC-AUC is over all edges pooled.",
        "Explainers are near chance where they explain a network that is wrong: the rows of the "
        "recommended network, and those of validation graphs, are of networks that are right.",
    )
    return Table(
        "explanations",
        "Explanations: ROC-AUC against the truth, and how far they can be believed",
        tuple(cells),
        "evidence_roc_auc",
        notes=notes,
        extra=tuple(ExtraColumn(*one) for one in MEASURES),
    )


def _rows(dataset: str, options: dict[str, Any]) -> list[tuple[str, Recipe, str]]:
    """Label, recipe and explainer of every row."""
    rows = [
        (label, _sampled(dataset, options, method, which), "evidence")
        for label, method, which in OWN
    ]
    rows += [
        (f"{label} of the {network}", _sampled(dataset, options, "erm", which), f"evidence,{name}")
        for network, which in PLAIN
        for name, label in EXPLAINERS.items()
    ]
    return rows


def _sampled(dataset: str, options: dict[str, Any], method: str, which: str) -> Recipe:
    """The recipe, but for published ones of a sample of MNIST-75sp with fewer epochs."""
    short = {"epochs": SAMPLE_EPOCHS} if dataset == "mnist-75sp" and which == PUBLISHED else {}
    return _recipe(dataset, options, method, which, **short)


def certified() -> Table:
    """What a certificate of 90 % promises, and what is seen, in distribution and under shift."""
    columns = {label: data for label, data in DATA.items() if data[0] != "mnist-75sp"}
    columns |= {label: (dataset, {}) for label, dataset in MORE.items()}
    cells = [
        Cell(
            row,
            column,
            _recipe(dataset, options, method, epochs=EPOCHS),
            (0,),
            explainer=explainer,
        )
        for column, (dataset, options) in columns.items()
        for row, method, explainer in (
            ("GSINA", "gsina", "certified"),
            ("GSAT", "gsat", "certified"),
            ("GNNExplainer", "erm", "certified,gnnexplainer"),
            ("random", "erm", "certified,random"),
        )
    ]
    notes = (
        "Promised: of 100 new graphs, the marked part alone keeps the answer to 90, at this share "
        "of the edges and at every larger one. Mean over 200 random halves, one of which "
        "calibrates. Under the shift nothing is promised.",
        f"All trained for {EPOCHS} epochs: the promise does not ask how good a model is.",
    )
    extra = (
        ExtraColumn("certified_seen", "at this share alone"),
        ExtraColumn("certified_shifted", "at this share, under the shift"),
        ExtraColumn("certified_share", "share of the edges"),
        ExtraColumn("certified_edges", "median number of edges", percent=False),
    )
    return Table(
        "certified",
        "Certified parts: share of new graphs that keep their answer, claimed 90 %",
        tuple(cells),
        "certified_ever",
        notes=notes,
        extra=extra,
    )


def _recipe(
    dataset: str, options: dict[str, Any], method: str, which: str = PUBLISHED, **settings: Any
) -> Recipe:
    """On GIN, but for datasets whose recipes have a network of their own."""
    network = None if dataset in ("nci1", "dd", "drugood-ec50-size") else "gin"
    return default_recipe(dataset, network, method, data=options, which=which, **settings)
