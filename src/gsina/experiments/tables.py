"""The paper's tables as grids of recipes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gsina.experiments.paper import Published, published
from gsina.experiments.published import default_recipe
from gsina.experiments.recipe import Recipe
from gsina.experiments.results import Job
from gsina.names import check_name


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        row: Label of the row, such as ``GIN + GSINA``.
        column: Label of the column, such as ``SPMotif b = 0.5``.
        recipe: What is run for it.
        seeds: The seeds it is run with by default.
        paper: What the paper prints, if anything.
        explainer: Name of a post-hoc explainer of the recipe's model.
    """

    row: str
    column: str
    recipe: Recipe
    seeds: tuple[int, ...]
    paper: Published | None = None
    explainer: str | None = None

    @property
    def jobs(self) -> list[Job]:
        """One job a seed."""
        return [Job(self.recipe, seed, self.explainer) for seed in self.seeds]


@dataclass(frozen=True)
class Table:
    """A named table: its cells and the test metric they show.

    Attributes:
        name: The name on the command line.
        title: One line.
        metric: Key in the ``test`` metrics of a result; ``None`` for the main metric of the task.
        percent: Whether values are shown times 100.
        cells: In the order they are run, the most valuable first.
        notes: Things a reader must know.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    metric: str | None = None
    percent: bool = True
    notes: tuple[str, ...] = field(default=())

    def select(self, only: Sequence[str], seeds: Sequence[int] | None) -> Table:
        """The cells whose row, column or method contain every word of ``only``."""
        cells = [cell for cell in self.cells if all(_matches(cell, word) for word in only)]
        if not cells:
            known = sorted({cell.row for cell in self.cells} | {cell.column for cell in self.cells})
            raise ValueError(
                f"no cell of table {self.name} matches {' '.join(only)!r}; rows and columns: "
                f"{', '.join(known)}."
            )
        if seeds is not None:
            cells = [replace(cell, seeds=tuple(seeds)) for cell in cells]
        return replace(self, cells=tuple(cells))


def _matches(cell: Cell, word: str) -> bool:
    return word.lower() in f"{cell.row} {cell.column} {cell.recipe.method.name}".lower()


BIASES = (0.5, 0.7, 0.9)
FIVE = (0, 1, 2, 3, 4)
THREE = (0, 1, 2)
OGBG = ("molbace", "molbbbp", "molclintox", "molsider", "moltox21")
METHOD_LABEL = {"erm": "", "gsat": " + GSAT", "gsina": " + GSINA"}
BACKBONE_LABEL = {"gin": "GIN", "pna": "PNA", "spmotifnet": "SPMotifNet"}
EXPLAINER_LABEL = {
    "gnnexplainer": "GNNExplainer",
    "pgexplainer": "PGExplainer",
    "graphmask": "GraphMask",
}
ABLATIONS: dict[str, dict[str, Any]] = {
    "gsina": {},
    "gsina w/o gumbel": {"noise": 0.0},
    "gsina w/o nodeattn": {"node": "none"},
    "gsina w/o gumbel and nodeattn": {"noise": 0.0, "node": "none"},
}


def spmotif(backbone: str, method: str, bias: float, **options: Any) -> Recipe:
    """The published Spurious-Motif recipe, with changed options of the method."""
    return default_recipe("spmotif", backbone, method, data={"bias": bias}, options=options)


def _gsat() -> Table:
    cells = [
        Cell(
            backbone.upper() + METHOD_LABEL[method],
            f"SPMotif {bias}",
            spmotif(backbone, method, bias),
            FIVE if backbone == "gin" else THREE,
            published("gsat", method, backbone, f"spmotif-{bias}"),
        )
        for backbone in ("gin", "pna")
        for bias in BIASES
        for method in ("gsina", "erm", "gsat")
    ]
    return Table("gsat", "OOD test accuracy on Spurious-Motif (GSAT benchmark)", tuple(cells))


def _ogbg() -> Table:
    cells = [
        Cell(
            "PNA" + METHOD_LABEL[method],
            name,
            default_recipe(f"ogbg-{name}", "pna", method),
            THREE,
            published("gsat-ogbg", method, "pna", f"ogbg-{name}"),
        )
        for name in OGBG
        for method in ("gsina", "erm", "gsat")
    ]
    return Table("gsat-ogbg", "Test ROC-AUC on OGB molecules, scaffold split", tuple(cells))


def _ablation() -> Table:
    cells = [
        Cell(
            f"GIN + {label}",
            f"SPMotif {bias}",
            spmotif("gin", "gsina", bias, **options),
            FIVE if bias == 0.5 else THREE,
            published("ablation", label, "gin", f"spmotif-{bias}"),
        )
        for bias in BIASES
        for label, options in ABLATIONS.items()
    ]
    return Table("ablation", "Ablation of GSINA: OOD test accuracy", tuple(cells))


def _sensitivity(name: str, option: str, values: Sequence[float], title: str) -> Table:
    cells = [
        Cell(
            f"{option} = {value}",
            "SPMotif 0.5",
            spmotif("gin", "gsina", 0.5, **{option: value}),
            THREE,
        )
        for value in values
    ]
    return Table(name, title, tuple(cells), notes=("The paper shows this as a figure only.",))


def _interpret(
    name: str, backbone: str, metric: str, title: str, explainers: Sequence[str]
) -> Table:
    """Explanations of Spurious-Motif: attention by itself, and explainers of a plain network."""
    cells = []
    for bias in BIASES:
        for method in ("gsina", "gsat", "dir", *explainers):
            explainer = method if method in explainers else None
            recipe = spmotif(backbone, "erm" if explainer else method, bias)
            label = EXPLAINER_LABEL[method] if explainer else method.upper()
            paper = published(name, label.lower(), backbone, f"spmotif-{bias}")
            row = f"{BACKBONE_LABEL[backbone]} + {label}"
            cells.append(Cell(row, f"SPMotif {bias}", recipe, THREE, paper, explainer))
    notes = ("The paper does not say which network its explainers explain; here it is the same.",)
    return Table(name, title, tuple(cells), metric, metric == "explanation_auc", notes)


def _draws() -> Table:
    """Other draws of the generator: the paper, and the other tables, have one fixed draw."""
    cells = [
        Cell(
            f"GIN{METHOD_LABEL[method]}",
            f"SPMotif 0.5, draw {draw}",
            default_recipe("spmotif", "gin", method, data={"bias": 0.5, "seed": draw}),
            (0, 1),
        )
        for draw in (1, 2)
        for method in ("gsina", "erm", "gsat")
    ]
    title = "OOD test accuracy on other draws of Spurious-Motif"
    note = "Not in the paper: how much its one fixed draw of the data may matter."
    return Table("draws", title, tuple(cells), notes=(note,))


TABLES: dict[str, Callable[[], Table]] = {
    "gsat": _gsat,
    "draws": _draws,
    "gsat-ogbg": _ogbg,
    "ablation": _ablation,
    "sensitivity-r": lambda: _sensitivity(
        "sensitivity-r", "ratio", [round(0.1 * k, 1) for k in range(1, 11)], "Sensitivity to r"
    ),
    "sensitivity-tau": lambda: _sensitivity(
        "sensitivity-tau", "temperature", (0.2, 0.5, 1.0, 2.0, 5.0), "Sensitivity to tau"
    ),
    "interpret-auc": lambda: _interpret(
        "interpret-auc",
        "gin",
        "explanation_auc",
        "Explanation ROC-AUC, all test edges pooled",
        ("gnnexplainer", "pgexplainer", "graphmask"),
    ),
    "interpret-p5": lambda: _interpret(
        "interpret-p5",
        "spmotifnet",
        "precision_at_5",
        "Precision@5 of explanations",
        ("gnnexplainer",),
    ),
}


def make_table(name: str) -> Table:
    """A table by name."""
    return TABLES[check_name(name, TABLES, "table")]()
