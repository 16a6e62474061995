"""The paper's tables as grids of recipes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, NamedTuple

from gsina.experiments.paper import Published, published
from gsina.experiments.published import default_recipe
from gsina.experiments.recipe import Recipe
from gsina.experiments.results import Job
from gsina.names import check_name

#: The seed of trials.
TRIAL_SEED = 0


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        row: Label of the row, such as ``GIN + GSINA``.
        column: Label of the column, such as ``SPMotif b = 0.5``.
        recipe: What is run for it.
        seeds: The seeds it is run with by default.
        paper: What the paper prints, if anything.
        explainer: Name of a post-hoc explainer of the recipe's model, or ``pieces``.
        trials: Recipes to try before one is chosen (:mod:`gsina.experiments.tuning_budget`).
        choices: The recipe of the cell for each of the trials.
        split: The split that is scored; a dataset may have several test splits.
    """

    row: str
    column: str
    recipe: Recipe
    seeds: tuple[int, ...]
    paper: Published | None = None
    explainer: str | None = None
    trials: tuple[Recipe, ...] = ()
    choices: tuple[Recipe, ...] = ()
    split: str = "test"

    @property
    def jobs(self) -> list[Job]:
        """One job a seed; while the recipe is not chosen yet, one a trial."""
        if self.trials:
            return [Job(trial, TRIAL_SEED) for trial in self.trials]
        return [Job(self.recipe, seed, self.explainer) for seed in self.seeds]


class Also(NamedTuple):
    """A further test metric of the same runs, as one more column."""

    metric: str
    label: str
    percent: bool = True


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
        also: Further metrics of the same runs.
        sample_std: Whether the standard deviation is the unbiased one of a sample, as this paper's
            benchmark has it, instead of the population's.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    metric: str | None = None
    percent: bool = True
    notes: tuple[str, ...] = field(default=())
    also: tuple[Also, ...] = ()
    sample_std: bool = False

    def select(self, only: Sequence[str], seeds: Sequence[int] | None) -> Table:
        """The cells whose row, column or method contain every word of ``only``.

        What fits best counts alone: a whole word of names of rows and columns (``NCI1``, ``IRM``),
        else a whole word of names of methods, else a part of a word.
        """
        cells = list(self.cells)
        names = sorted({cell.row for cell in cells} | {cell.column for cell in cells})
        for word in only:
            if not word.strip() or not any(_inside(cell, word.lower()) for cell in self.cells):
                check_name(word, names, f"row or column of the table {self.name}")
            fits = next(
                (one for one in FITS if any(one(cell, word.lower()) for cell in self.cells)),
                _inside,
            )
            cells = [cell for cell in cells if fits(cell, word.lower())]
        if not cells:
            raise ValueError(
                f"no cell of the table {self.name} has all of {', '.join(only)} in its row and "
                "column; for one or the other, run the command for each."
            )
        if seeds is not None:
            cells = [replace(cell, seeds=tuple(seeds)) for cell in cells]
        return replace(self, cells=tuple(cells))


def _in_names(cell: Cell, word: str) -> bool:
    return _whole_in(f"{cell.row} {cell.column}", word)


def _is_method(cell: Cell, word: str) -> bool:
    return _whole_in(cell.recipe.method.name, word)


def _inside(cell: Cell, word: str) -> bool:
    return word in f"{cell.row} {cell.column} {cell.recipe.method.name}".lower()


def _whole_in(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text.lower()) is not None


#: How a word may fit a cell, the closest first; if none does for any cell, as a part of a word.
FITS = (_in_names, _is_method)


BIASES = (0.5, 0.7, 0.9)
FIVE = (0, 1, 2, 3, 4)
THREE = (0, 1, 2)
OGBG = ("molbace", "molbbbp", "molclintox", "molsider", "moltox21")
#: The order of worth: what the tables are about first.
BASIC = ("gsina", "erm", "gsat")
#: Columns of the GSAT benchmark beside Spurious-Motif.
OTHERS = {"ogbg-molhiv": "molhiv", "mnist-75sp": "MNIST-75sp", "graph-sst2": "Graph-SST2"}
METHOD_LABEL = {"erm": "", "gsat": " + GSAT", "gsina": " + GSINA"}
ABLATIONS: dict[str, dict[str, Any]] = {
    "": {},
    " w/o gumbel": {"noise": 0.0},
    " w/o nodeattn": {"node": "none"},
    " w/o gumbel and nodeattn": {"noise": 0.0, "node": "none"},
}


def spmotif(backbone: str, method: str, bias: float, **options: Any) -> Recipe:
    """The published Spurious-Motif recipe, with changed options of the method."""
    return default_recipe("spmotif", backbone, method, data={"bias": bias}, options=options)


def _gsat() -> Table:
    """Spurious-Motif with GIN first, then what takes longer, then what needs other files."""
    rows = (("gin", BASIC), ("pna", BASIC), ("own", ("dir", "gib")))
    cells = [
        _gsat_cell(backbone, method, "spmotif", bias)
        for backbone, methods in rows
        for bias in BIASES
        for method in methods
    ]
    cells += [
        _gsat_cell(backbone, method, dataset)
        for dataset in OTHERS
        for backbone, methods in rows
        for method in methods
    ]
    title = "GSAT benchmark: OOD test accuracy, for molhiv ROC-AUC"
    notes = (
        "GIB and DIR have their own networks in the paper; here they are on GIN, DIR on "
        "Spurious-Motif on its SPMotifNet, at a width of 32, with batches of 128, 100 epochs and "
        "the best of them (published: a predictor of width 64, batches of 32, up to 400 epochs, "
        "the last of them). MNIST-75sp has one split for all seeds.",
        "Cells are not run for want of time (an epoch's is given where it was measured) or, as of "
        "Graph-SST2, of files.",
    )
    return Table("gsat", title, tuple(cells), notes=notes)


def _gsat_cell(backbone: str, method: str, dataset: str, bias: float | None = None) -> Cell:
    """A cell; the backbone ``own`` stands for the method's own network, or the nearest to it."""
    own = "spmotifnet" if method == "dir" and dataset == "spmotif" else "gin"
    data = {} if bias is None else {"bias": bias}
    return Cell(
        method.upper() if backbone == "own" else backbone.upper() + METHOD_LABEL[method],
        OTHERS.get(dataset, f"SPMotif {bias}"),
        default_recipe(dataset, own if backbone == "own" else backbone, method, data=data),
        FIVE if (dataset, backbone) == ("spmotif", "gin") else THREE,
        published("gsat", method, backbone, dataset if bias is None else f"{dataset}-{bias}"),
    )


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
        for method in BASIC
    ]
    return Table("gsat-ogbg", "Test ROC-AUC on OGB molecules, scaffold split", tuple(cells))


def _ablation() -> Table:
    cells = [
        Cell(
            f"{backbone.upper()} + GSINA{without}",
            f"SPMotif {bias}",
            spmotif(backbone, "gsina", bias, **options),
            FIVE if (backbone, bias) == ("gin", 0.5) else THREE,
            published("ablation", f"gsina{without}", backbone, f"spmotif-{bias}"),
        )
        for backbone in ("gin", "pna")
        for bias in BIASES
        for without, options in ABLATIONS.items()
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
        for method in BASIC
    ]
    title = "OOD test accuracy on other draws of Spurious-Motif"
    note = "Not in the paper: how much its one fixed draw of the data may matter."
    return Table("draws", title, tuple(cells), notes=(note,))


def _plain() -> Table:
    """The methods with the optimiser and the selection rule that DIR has here."""
    plain = spmotif("gin", "dir", 0.5)
    rows = {
        "GIN + GSINA": spmotif("gin", "gsina", 0.5),
        "GIN + GSINA, ratio = 0.25": spmotif("gin", "gsina", 0.5, ratio=0.25),
        "GIN + GSAT": spmotif("gin", "gsat", 0.5),
        "GIN": spmotif("gin", "erm", 0.5),
        "GIN + DIR": plain,
    }
    cells = []
    for row, recipe in rows.items():
        first = recipe.selection.first_epoch  # GSAT's schedule
        selection = plain.selection.model_copy(update={"first_epoch": first})
        same = {"optimiser": plain.optimiser, "selection": selection}
        cells.append(Cell(row, "SPMotif 0.5", recipe.model_copy(update=same), THREE))
    note = (
        "Not in the paper: learning rate 0.001, 100 epochs and the latest best one for all (GSAT "
        "from epoch 21), to tell methods from their published recipes. GSINA has r = 0.6, DIR "
        "keeps a quarter of the edges."
    )
    also = (Also("explanation_auc", "explanation ROC-AUC"),)
    title = "One plain recipe for all methods: OOD test accuracy"
    return Table("plain", title, tuple(cells), notes=(note,), also=also)


def _connectivity() -> Table:
    """What the connectivity loss does to accuracy, to explanations, and to what it asks for."""
    cells = [
        Cell(
            f"GIN + GSINA, connectivity {strength:g}",
            "SPMotif 0.5",
            spmotif("gin", "gsina", 0.5, connectivity=strength),
            THREE,
            explainer="pieces",
        )
        for strength in (0.0, 1.0)
    ]
    note = (
        "Not in the paper, which only suggests such a loss. Pieces: connected components of the "
        "r N edges with the most attention, mean over test graphs; 1 is a connected subgraph."
    )
    also = (
        Also("explanation_auc", "explanation ROC-AUC"),
        Also("pieces", "pieces", percent=False),
    )
    title = "GSINA with and without the connectivity loss: OOD test accuracy"
    return Table("connectivity", title, tuple(cells), notes=(note,), also=also)


def _made_by(module: str, name: str) -> Callable[[], Table]:
    """A table of a module that builds on this one, so that it cannot be imported above."""

    def make() -> Table:
        table: Table = getattr(import_module(f"gsina.experiments.{module}"), name)()
        return table

    return make


TABLES: dict[str, Callable[[], Table]] = {
    "gsat": _gsat,
    "draws": _draws,
    "plain": _plain,
    "gsat-ogbg": _ogbg,
    "ablation": _ablation,
    "connectivity": _connectivity,
    "sensitivity-r": lambda: _sensitivity(
        "sensitivity-r", "ratio", [round(0.1 * k, 1) for k in range(1, 11)], "Sensitivity to r"
    ),
    "sensitivity-tau": lambda: _sensitivity(
        "sensitivity-tau", "temperature", (0.2, 0.5, 1.0, 2.0, 5.0), "Sensitivity to tau"
    ),
    "interpret-auc": _made_by("explanation_tables", "interpret_auc"),
    "interpret-p5": _made_by("explanation_tables", "interpret_p5"),
    "interpret-long": _made_by("explanation_tables", "interpret_long"),
    "explainer-trials": _made_by("explanation_tables", "explainer_trials"),
    "ciga-spm": _made_by("ciga_tables", "ciga_spm"),
    "ciga-real": _made_by("ciga_tables", "ciga_real"),
    "ciga-more": _made_by("ciga_tables", "ciga_more"),
    "node": _made_by("node_table", "node_table"),
}


def make_table(name: str) -> Table:
    """A table by name."""
    return TABLES[check_name(name, TABLES, "table")]()
