"""``gsina figure``, and reports and grids that miss something."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

import tiny_nodes
from gsina.paper import tables
from gsina.paper.figures import gallery
from gsina.paper.figures.gallery import draw_gallery
from gsina.paper.report.properties import properties_page, rows_of
from gsina.paper.tables.table import Cell, Table
from gsina.runs.published import default_recipe
from gsina.runs.run import Run
from gsina.runs.run import run as run_recipe

SMALL = ("--data-option", "num_per_class=6", "--epochs", 1)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))


def test_separability_trains_draws_measures_and_fills_the_page(gsina, tmp_path: Path) -> None:
    first = gsina("figure", "separability", *SMALL, "--seeds", "0,1")
    assert first.exit_code == 0
    assert first.output.count("validation accuracy") == 8
    runs = json.loads((tmp_path / "results/separability.json").read_text())["runs"]
    assert [(run["recipe"]["method"]["name"], run["seed"]) for run in runs] == [
        (name, seed) for seed in (0, 1) for name in ("gsat", "cigav2", "dir", "gsina")
    ]
    for run in runs:
        for split in ("val", "test"):
            assert 0 <= run["separability"][split]["overlap"] <= 1
            assert 0 <= run["separability"][split]["ks_distance"] <= 1
    assert runs[3]["recipe"]["method"]["options"]["ratio"] == 0.3
    assert runs[3]["properties"]["mean_weight"] == pytest.approx(0.3, abs=1e-4)
    assert runs[3]["properties"]["reached"] == 1
    page = (tmp_path / "docs/properties.md").read_text(encoding="utf-8")
    assert page == properties_page(rows_of(runs))
    assert "| GSINA, r = 0.3 | validation |" in page
    assert (tmp_path / "docs/img/separability.png").stat().st_size > 10_000
    again = gsina("figure", "separability", *SMALL)
    assert "validation accuracy" not in again.output  # trained already


def test_a_gallery_from_the_folder_of_a_run(gsina, tmp_path: Path) -> None:
    gsina("train", "spmotif", *SMALL, "--out", "run")
    done = gsina("figure", "gallery", "run", "--split", "val", "--columns", 2)
    assert done.exit_code == 0
    assert "6 graphs of the val split" in done.output
    assert (tmp_path / "run/gallery.png").stat().st_size > 10_000
    for arguments, words in (
        (("nowhere",), "there is no finished run in nowhere"),
        (("run", "--split", "vla"), "did you mean 'val'?"),
    ):
        wrong = gsina("figure", "gallery", *arguments)
        assert wrong.exit_code == 2
        assert words in wrong.output
    (tmp_path / "run/model/model.safetensors").unlink()
    assert "has no model.safetensors" in " ".join(gsina("figure", "gallery", "run").output.split())
    (tmp_path / "run/result.json").write_text("[]")
    assert "is not the result of a run" in gsina("figure", "gallery", "run").output


@pytest.mark.parametrize(
    ("method", "share"), [("dir", 0.25), ("cigav2", 0.25), ("gsat", None), ("igm", None)]
)
def test_a_gallery_draws_the_cut_of_a_method_that_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, share: float | None
) -> None:
    drawn = []
    monkeypatch.setattr(gallery, "draw_subgraphs", lambda *given, **options: drawn.append(given))
    data = {"num_per_class": 6}
    made = run_recipe(default_recipe("spmotif", "gin", method, data=data, epochs=1))
    draw_gallery(made, tmp_path / "a.png")
    graphs, found, _ = drawn[0]
    for weights in torch.split(found.edge, graphs.edge_ptr.diff().tolist()):
        expected = len(weights) if share is None else math.ceil(share * len(weights))
        assert int((weights > 0).sum()) == expected


def test_no_gallery_of_nodes(tmp_path: Path) -> None:
    dataset = tiny_nodes.dataset()
    with pytest.raises(ValueError, match="predicts the nodes of tiny-nodes"):
        draw_gallery(Run(None, dataset, {}), tmp_path / "a.png")  # type: ignore[arg-type]


@pytest.fixture
def half_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "data"))
    there = default_recipe("spmotif", "gin", "erm", data={"num_per_class": 4}, epochs=1)
    missing = default_recipe("graph-sst2", "gin", "erm")
    cells = (Cell("GIN", "missing", missing, (0, 1)), Cell("GIN", "there", there, (0,)))
    monkeypatch.setitem(tables.TABLES, "half", lambda: Table("half", "Half a table", cells))


@pytest.mark.usefixtures("half_a_table")
def test_cells_without_data_are_named_and_the_others_run(gsina, tmp_path: Path) -> None:
    assert "no" in gsina("bench", "half", "--dry-run").output
    done = gsina("bench", "half")
    assert done.exit_code == 0
    assert done.output.count("left out, no data of graph-sst2") == 1
    assert "available are" in done.output
    assert "spmotif" in done.output
    assert len(list((tmp_path / "results/runs").glob("*.json"))) == 1
    report = gsina("report", "half")
    assert "| GIN | missing | not run |" in report.output
    assert (tmp_path / "results/tables/half.png").is_file()
    assert (tmp_path / "results/tables/half.md").is_file()
    wrong = gsina("report", "half", "--out", "half.md")
    assert wrong.exit_code == 2
    assert "--out is a folder" in wrong.output


@pytest.mark.usefixtures("half_a_table")
def test_epochs_are_measured_where_the_data_are(gsina, tmp_path: Path) -> None:
    done = gsina("bench", "half", "--measure")
    assert done.exit_code == 0
    assert "left out, no data of graph-sst2" in done.output
    kept = json.loads((tmp_path / "results/bench/epochs.json").read_text())["epochs"]
    assert list(kept) == ["spmotif gin erm"]
    assert kept["spmotif gin erm"]["seconds"] >= 0
