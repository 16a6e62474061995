"""The grids of the benchmark of explanations."""

from __future__ import annotations

from gsina.paper.report.summaries import Summary
from gsina.paper.studies.evidence import STUDIES
from gsina.paper.tables import make_table
from gsina.runs.job import Job


def test_every_method_and_explainer_is_on_every_dataset() -> None:
    table = make_table("explanations")
    columns = {cell.column for cell in table.cells}
    assert {"SPMotif 0.5", "SPMotif 0.9, validation", "BA-2Motifs", "Mutagenicity"} <= columns
    assert "BA-2Motifs, validation" not in columns  # its test graphs are not shifted
    for column in columns:
        rows = [cell.row for cell in table.cells if cell.column == column]
        assert len(rows) == len(set(rows)) == 12
        assert {"GSINA, published", "GSINA, recommended", "GSAT", "DIR"} <= set(rows)
        assert "PGExplainer of the plain network, recommended" in rows
    assert all(len(cell.seeds) == 5 for cell in table.cells)


def test_one_training_serves_all_explainers_of_a_network() -> None:
    cells = make_table("explanations").cells
    assert len({job.name for cell in cells for job in cell.jobs}) == 6 * 12 * 5
    assert len({Job(cell.recipe, seed).name for cell in cells for seed in cell.seeds}) == 6 * 6 * 5


def test_no_recipe_ends_before_an_epoch_may_be_chosen() -> None:
    for cell in make_table("explanations").cells:
        assert cell.recipe.selection.first_epoch < cell.recipe.optimiser.epochs, cell.row


def test_certificates_are_measured_on_at_least_eight_datasets() -> None:
    table = make_table("certified")
    assert len({cell.column for cell in table.cells}) >= 8
    rows = {"GSINA", "GSAT", "GNNExplainer", "random"}
    assert {cell.row for cell in table.cells} == rows


def test_jobs_name_a_study() -> None:
    for name in ("explanations", "certified"):
        for cell in make_table(name).cells:
            assert cell.explainer is not None
            assert cell.explainer.partition(",")[0] in STUDIES


def test_times_are_shown_in_milliseconds() -> None:
    table = make_table("explanations")
    metrics = {"test": {"evidence_roc_auc": 0.5, "evidence_seconds": 0.0125}}
    found = Summary(table.cells[0], {0: 50.0}, ({"metrics": metrics},))
    (column,) = (one for one in table.extra if one.metric == "evidence_seconds")
    assert column.label == "milliseconds per graph"
    assert found.further(column) == (12.5, None)
