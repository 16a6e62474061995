"""States of files: one row per row, in arrays and tables, in flat memory."""

from __future__ import annotations

import csv
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from estimator_cases import FEW, nodes, shapes
from gsina import GraphClassifier, NodeClassifier
from gsina.formats import json_graphs, read_graphs
from gsina.models.embed import embed_files, index_file
from gsina.models.model import Model

WIDTH = FEW["hidden_channels"]


def write(path: Path, bad: tuple[int, ...] = ()) -> Path:
    """Rings and stars as JSON lines, of which some are broken."""
    graphs, labels = shapes(20)
    lines = []
    for place, (graph, label) in enumerate(zip(graphs, labels, strict=True)):
        edges = graph.edge_index.T.tolist()
        value = {"id": f"g{place}", "nodes": graph.x.tolist(), "edges": edges, "label": label}
        lines.append("{" if place in bad else json.dumps(value))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = write(tmp_path_factory.mktemp("data") / "a.jsonl")
    found: Model = GraphClassifier(**FEW).fit(read_graphs(path)).model_
    return found


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three rows, so that a file has several."""
    monkeypatch.setattr(json_graphs, "stream_graphs", partial(json_graphs.stream_graphs, chunk=3))


def test_an_array_has_a_row_for_every_row(model: Model, tmp_path: Path) -> None:
    path, out = write(tmp_path / "new.jsonl", bad=(0, 1, 2, 7)), tmp_path / "out.npy"
    done = embed_files(model, [path], out)
    found = np.load(out)
    assert found.dtype == np.float32
    assert found.shape == (20, WIDTH)
    assert (done.rows, done.unreadable) == (20, 4)
    assert done.first_reason.startswith("it is not JSON")
    good = [place for place in range(20) if place not in (0, 1, 2, 7)]
    expected = model.embed(shapes(20)[0])
    np.testing.assert_allclose(found[good], expected[good], atol=1e-6)
    assert np.isnan(found[[0, 1, 2, 7]]).all()


def test_a_table_names_its_rows(model: Model, tmp_path: Path) -> None:
    path, out = write(tmp_path / "new.jsonl", bad=(4,)), tmp_path / "out.csv"
    embed_files(model, [path], out)
    head, *rows = csv.reader(out.open())
    assert head == ["id", *(f"state_{place}" for place in range(WIDTH))]
    assert [row[0] for row in rows] == [f"g{i}" if i != 4 else "5" for i in range(20)]
    assert rows[4][1:] == ["nan"] * WIDTH
    found = np.array([row[1:] for row in rows], dtype=float)
    good = np.arange(20) != 4
    np.testing.assert_allclose(found[good], model.embed(shapes(20)[0])[good], rtol=1e-5, atol=1e-6)


def test_node_states_and_where_they_are_from(model: Model, tmp_path: Path) -> None:
    path, out = write(tmp_path / "new.jsonl", bad=(2, 3)), tmp_path / "out.npy"
    embed_files(model, [path], out, nodes=True)
    found, index = np.load(out), np.load(index_file(out))
    graphs = shapes(20)[0]
    expected = [
        (place, node)
        for place, graph in enumerate(graphs)
        for node in ([-1] if place in (2, 3) else range(graph.num_nodes))
    ]
    assert index.tolist() == [list(pair) for pair in expected]
    assert found.shape == (len(index), WIDTH)
    assert (np.isnan(found).all(1) == (index[:, 1] == -1)).all()
    some = found[index[:, 0] == 5]
    np.testing.assert_allclose(some, model.embed(graphs[5], nodes=True), atol=1e-6)
    embed_files(model, [path], tmp_path / "out.csv", nodes=True)
    rows = list(csv.reader((tmp_path / "out.csv").open()))
    assert rows[0][:3] == ["row", "node", "state_0"]
    assert [tuple(map(int, row[:2])) for row in rows[1:]] == expected


def test_parquet(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, out = write(tmp_path / "new.jsonl", bad=(4,)), tmp_path / "out.parquet"
    embed_files(model, [path], out)
    table = parquet.read_table(out)
    assert table.column_names == ["id", *(f"state_{place}" for place in range(WIDTH))]
    found = np.stack([table[f"state_{place}"].to_numpy() for place in range(WIDTH)], 1)
    embed_files(model, [path], tmp_path / "out.npy")
    np.testing.assert_array_equal(found, np.load(tmp_path / "out.npy"))


def test_parquet_without_pyarrow_is_one_sentence(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r"needs pyarrow, which is not installed; pip install"):
        embed_files(model, [write(tmp_path / "a.jsonl")], tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_that_cannot_be_read_leaves_nothing(model: Model, tmp_path: Path) -> None:
    path, out = write(tmp_path / "new.jsonl"), tmp_path / "out.npy"
    path.write_bytes(path.read_bytes() + b"\n\xff")
    with pytest.raises(ValueError, match="is not UTF-8"):
        embed_files(model, [path], out, nodes=True)
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_readable_gives_rows_of_nan(model: Model, tmp_path: Path) -> None:
    path, out = tmp_path / "new.jsonl", tmp_path / "out.npy"
    path.write_text("{\n[\n3")
    done = embed_files(model, [path], out)
    assert done.rows == done.unreadable == 3
    assert np.isnan(np.load(out)).all()
    assert np.load(out).shape == (3, WIDTH)


def test_estimators_are_steps_of_pipelines() -> None:
    graphs, labels = shapes(24)
    pipeline = make_pipeline(GraphClassifier(**FEW), LogisticRegression())
    assert pipeline.fit(graphs, labels).predict(graphs).shape == (24,)
    model = GraphClassifier(**FEW).fit(graphs, labels)
    assert model.transform(graphs).shape == (24, WIDTH)
    every = sum(graph.num_nodes for graph in graphs)
    assert model.transform(graphs, nodes=True).shape == (every, WIDTH)
    of_nodes = NodeClassifier(**FEW).fit(nodes())
    assert of_nodes.transform(nodes()).shape == (60, WIDTH)
