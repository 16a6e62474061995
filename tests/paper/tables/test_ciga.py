"""The tables of the CIGA benchmark and the recipes behind them."""

from __future__ import annotations

import pytest

from gsina.methods import METHODS
from gsina.paper.tables import make_table
from gsina.paper.tables.ciga import MAIN, ORACLE, OTHERS
from gsina.paper.tables.knobs import KNOBS
from gsina.paper.tables.table import Table
from gsina.runs.published import default_recipe

#: Backbone, layers, width, readout, dropout, batch, ratio, scope, input, first epoch, patience.
PROTOCOL = {
    "spmotif-struc": ("ogb-gcn", 3, 32, "mean", 0.0, 32, 0.25, "graph", "embedding", 20, 10),
    "spmotif-mixed": ("ogb-gcn", 3, 32, "mean", 0.0, 32, 0.25, "graph", "embedding", 20, 10),
    "graph-sst5": ("ogb-gcn", 3, 128, "mean", 0.5, 32, 0.5, "batch", "raw", 0, 3),
    "graph-twitter": ("ogb-gcn", 3, 128, "mean", 0.5, 32, 0.6, "batch", "embedding", 5, 5),
    "drugood-ec50-assay": ("ogb-gin", 4, 128, "sum", 0.5, 128, 0.8, "batch", "raw", 20, 20),
    "drugood-ic50-scaffold": (
        *("ogb-gin", 4, 128, "sum", 0.5, 128, 0.8, "batch", "embedding", 20, 20),
    ),
    "drugood-ec50-size": ("ogb-gin", 4, 128, "sum", 0.1, 128, 0.8, "batch", "embedding", 20, 10),
    "nci1": ("ogb-gcn", 3, 32, "mean", 0.3, 32, 0.6, "batch", "embedding", 30, 10),
    "nci109": ("ogb-gcn", 3, 32, "mean", 0.3, 32, 0.7, "batch", "embedding", 30, 10),
    "proteins": ("ogb-gin", 3, 32, "max", 0.3, 32, 0.3, "graph", "raw", 30, 10),
    "dd": ("ogb-gcn", 3, 32, "mean", 0.3, 32, 0.3, "graph", "raw", 30, 10),
}


@pytest.mark.parametrize("dataset", PROTOCOL)
def test_recipes_are_the_protocol(dataset: str) -> None:
    backbone, *rest = PROTOCOL[dataset]
    layers, width, readout, dropout, batch, ratio, scope, seen, first, patience = rest
    gsina = default_recipe(dataset, str(backbone), "gsina")
    assert gsina.backbone.options == {
        "num_layers": layers,
        "hidden_channels": width,
        "readout": readout,
        "dropout": dropout,
        "head": "mlp",
    }
    options = {"ratio": ratio, "scope": scope, "predict_from": seen, "scorer": "plain"}
    assert gsina.method.options == options
    optimiser = gsina.optimiser
    assert (optimiser.batch_size, optimiser.epochs) == (batch, 100)
    assert (optimiser.learning_rate, optimiser.weight_decay) == (1e-3, 0.0)
    selection = gsina.selection
    assert (selection.first_epoch, selection.patience) == (first, patience)
    tu = dataset in ("nci1", "nci109", "proteins", "dd")
    assert selection.rule == ("first-best" if tu else "ciga-best")


@pytest.mark.parametrize("dataset", PROTOCOL)
def test_all_methods_share_network_and_budget(dataset: str) -> None:
    backbone = str(PROTOCOL[dataset][0])
    gsina = default_recipe(dataset, backbone, "gsina")
    for method in (*MAIN, *OTHERS):
        recipe = default_recipe(dataset, backbone, method)
        plain = method in ("erm", "irm", "vrex", "eiil", "ib-irm", "cnc", "asap")
        head = "linear" if plain else "mlp"
        assert recipe.backbone.options == {**gsina.backbone.options, "head": head}
        assert recipe.optimiser == gsina.optimiser
        if method != "gsat":  # its prior has to come to rest first
            assert recipe.selection == gsina.selection


@pytest.mark.parametrize(
    ("dataset", "data", "v1", "v2"),
    [
        ("spmotif-struc", {"bias": 0.33}, 8, (8, 1)),
        ("spmotif-struc", {"bias": 0.6}, 0.5, (4, 2)),
        ("spmotif-mixed", {"bias": 0.33}, 16, (32, 1)),
        ("spmotif-mixed", {"bias": 0.9}, 1, (4, 2)),
        ("nci109", {}, 2, (2, 1)),
        ("proteins", {}, 0.5, (0.5, 1)),
        ("drugood-ec50-scaffold", {}, 32, (16, 1)),
    ],
)
def test_contrast_of_ciga(
    dataset: str, data: dict[str, float], v1: float, v2: tuple[float, float]
) -> None:
    backbone = "ogb-gin" if dataset in ("proteins", "drugood-ec50-scaffold") else "ogb-gcn"
    one, two = (
        default_recipe(dataset, backbone, method, data=data).method.options
        for method in ("cigav1", "cigav2")
    )
    assert one["contrast"] == v1
    assert (two["contrast"], two["spurious"]) == v2
    assert two["contrast_on"] == ("graph" if dataset == "proteins" else "nodes")


@pytest.fixture(scope="module", params=["ciga-spm", "ciga-real", "ciga-more"])
def table(request: pytest.FixtureRequest) -> Table:
    return make_table(request.param)


def test_every_method_in_every_column(table: Table) -> None:
    rows = {METHODS[method].label for method in (*MAIN, *OTHERS)} | {ORACLE}
    for column in {cell.column for cell in table.cells}:
        found = [cell.row for cell in table.cells if cell.column == column]
        assert set(found) == rows
        assert len(found) == len(rows)


def test_every_cell_but_the_oracle_is_tuned_alike(table: Table) -> None:
    for cell in table.cells:
        assert len(cell.trials) == len(cell.choices) == (0 if cell.row == ORACLE else 3)
        if cell.trials:
            assert cell.recipe == cell.choices[0]
    assert set(KNOBS) >= {*MAIN, *OTHERS}


def test_spmotif_is_tuned_at_one_bias() -> None:
    for cell in make_table("ciga-spm").cells:
        for trial, choice in zip(cell.trials, cell.choices, strict=True):
            assert trial.data.options == {"bias": 0.6}
            assert trial.data.name == choice.data.name
            assert f"b = {choice.data.options['bias']:.2f}" in cell.column


def test_seeds_and_the_papers_numbers() -> None:
    spm = {(cell.row, cell.column): cell for cell in make_table("ciga-spm").cells}
    gsina = spm["GSINA", "Mixed b = 0.33"]
    assert gsina.seeds == (0, 1, 2, 3, 4)
    assert gsina.paper == (82.7, 6.28)
    assert spm["V-REx", "Struc b = 0.60"].paper == (53.6, 3.74)
    assert spm["V-REx", "Struc b = 0.60"].seeds == gsina.seeds
    oracles = {
        job.name for (row, column), cell in spm.items() if row == ORACLE for job in cell.jobs
    }
    assert len(oracles) == 6  # three seeds of Struc and of Mixed: no bias
    real = {(cell.row, cell.column): cell for cell in make_table("ciga-real").cells}
    assert real["GSINA", "NCI1"].paper == (28.0, 7.0)
    assert real["CIGAv2", "DD"].seeds == (0, 1, 2, 3, 4)
    assert real["IRM", "EC50 assay"].seeds == (0, 1, 2, 3, 4)
    assert real["GSINA", "EC50 size"].paper is None  # the paper's is IC50
    more = {(cell.row, cell.column): cell for cell in make_table("ciga-more").cells}
    assert more["GSINA", "IC50 size"].paper == (67.48, 0.33)
    assert more["GSINA", "Graph-Twitter"].paper == (64.64, 1.71)
    assert more["GSINA", "Twitter text"].paper is None


def test_the_reconstruction_says_so(table: Table) -> None:
    assert "reconstruction" in " ".join(table.notes)


def test_whole_words_select_before_parts_of_words() -> None:
    """NCI1 is not NCI109, and IRM is not IB-IRM."""
    (one,) = make_table("ciga-real").select(["nci1", "IRM"], None).cells
    assert (one.row, one.column) == ("IRM", "NCI1")
    columns = {cell.column for cell in make_table("ciga-real").select(["nci"], None).cells}
    assert columns == {"NCI1", "NCI109"}


def test_names_of_rows_select_before_names_of_methods() -> None:
    """ERM is not the oracle, which is trained by ERM."""
    (one,) = make_table("ciga-real").select(["dd", "erm"], None).cells
    assert one.row == "ERM"
    rows = {cell.row for cell in make_table("ciga-real").select(["oracle"], None).cells}
    assert rows == {"Oracle (IID)"}
