"""Fingerprints and descriptors beside the graphs of SMILES: fitted, saved, loaded, refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from estimator_cases import FEW, shapes
from gsina import GraphClassifier, GraphRegressor, load_model
from gsina.formats import read_molecules
from gsina.models.embed import embed_files
from gsina.models.predict import predict_files

Chem = pytest.importorskip("rdkit.Chem")
SMILES = [f"{'C' * length}{end}" for length in range(1, 9) for end in ("O", "N", "Cl", "C=O")]
WEIGHTS = [float(3 * len(text) + ("N" in text)) for text in SMILES]
BOTH = ("morgan", "rdkit")


@pytest.fixture(scope="module")
def fitted() -> GraphRegressor:
    return GraphRegressor(**FEW, features=BOTH, trees=False).fit(SMILES, WEIGHTS)


def test_features_change_the_answers_and_are_kept(fitted: GraphRegressor) -> None:
    model = fitted.model_
    known = model.featuriser["descriptors"]
    assert known["kinds"] == list(BOTH)
    assert {"MolWt"} < set(known["names"])
    assert model.architecture.graph_channels == len(known["names"]) < 2048
    assert set(model.featuriser["scaling"]) == {"graph"}
    plain = GraphRegressor(**FEW, features=None).fit(SMILES, WEIGHTS)
    assert plain.model_.architecture.graph_channels == 0
    assert not np.allclose(plain.predict(SMILES), fitted.predict(SMILES))
    # The answers hang on the features: without their values they are others.
    packed = model.read(SMILES)
    assert packed.graph_attr is not None
    before = fitted.predict(packed)
    packed.graph_attr.zero_()
    assert not np.allclose(fitted.predict(packed), before)


def test_molecules_and_smiles_have_the_same_answers(fitted: GraphRegressor) -> None:
    molecules = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in SMILES[:5]]
    np.testing.assert_allclose(fitted.predict(molecules), fitted.predict(SMILES[:5]), rtol=1e-5)
    assert fitted.transform(SMILES[:5]).shape == (5, FEW["hidden_channels"])
    assert fitted.domain(SMILES[:5]).shape == (5,)


def test_only_what_varies_among_the_training_molecules_is_used() -> None:
    train, held = ["CCO", "CCCO", "CCN", "CCCN"], ["c1ccccc1O", "c1ccccc1N"]
    model = GraphClassifier(**FEW, features="morgan").fit(
        train, ["o", "o", "n", "n"], val=(held, ["o", "n"])
    )
    packed = model.model_.read(train)
    assert packed.graph_attr is not None
    assert bool((packed.graph_attr.amax(0) > packed.graph_attr.amin(0)).all())
    with pytest.raises(ValueError, match="are the same for all 2 training molecules"):
        GraphClassifier(**FEW, features="morgan").fit(
            ["CCO", "OCC"], ["o", "n"], val=(held, ["o", "n"])
        )


def test_a_folder_keeps_them(fitted: GraphRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again = GraphRegressor.load(tmp_path / "model")
    assert again.features == BOTH
    assert np.array_equal(again.predict(SMILES), fitted.predict(SMILES))
    table = tmp_path / "new.csv"
    table.write_text("smiles\n" + "\n".join([*SMILES[:4], "C(("]) + "\n")
    model = load_model(tmp_path / "model")
    done = predict_files(model, [table], tmp_path / "out.csv")
    assert (done.rows, done.unreadable) == (5, 1)
    with (tmp_path / "out.csv").open() as file:
        found = [row["prediction"] for row in csv.DictReader(file)]
    np.testing.assert_allclose(
        [float(text) for text in found[:4]], fitted.predict(SMILES[:4]), rtol=1e-4
    )
    embed_files(model, [table], tmp_path / "out.npy")
    states = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(states[:4], fitted.transform(SMILES[:4]), atol=1e-5)


def test_parameters_are_those_of_scikit_learn(fitted: GraphRegressor) -> None:
    assert clone(fitted).get_params()["features"] == BOTH
    assert GraphRegressor().get_params()["features"] == "auto"


@pytest.mark.parametrize(
    ("settings", "data", "message"),
    [
        ({"features": ("morgn",)}, SMILES, "unknown kind of molecule features 'morgn'; did you"),
        ({"features": "morgan,morgan"}, SMILES, "'morgan' are asked for twice"),
        ({"features": "morgan"}, shapes(len(SMILES))[0], "are made of SMILES .*, got graphs"),
        (
            {"features": "morgan", "method": "gib", "trees": False},
            SMILES,
            "cannot use features of whole graphs",
        ),
    ],
)
def test_refusals(settings: dict[str, Any], data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphRegressor(**FEW, **settings).fit(data, WEIGHTS)


def test_a_dataset_brings_its_own(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    rows = "".join(f"{text},{weight}\n" for text, weight in zip(SMILES, WEIGHTS, strict=True))
    path.write_text(f"smiles,weight\n{rows}")
    options: dict[str, Any] = {"smiles": "smiles", "targets": ["weight"], "split": "random"}
    with pytest.raises(ValueError, match="got a dataset without features of whole molecules"):
        GraphRegressor(**FEW, features="morgan").fit(read_molecules(path, **options))
    made = read_molecules(path, **options, features=["morgan"])
    model = GraphRegressor(**FEW, features="morgan").fit(made)
    assert model.predict(SMILES[:3]).shape == (3,)


def test_features_of_graphs_must_be_finite() -> None:
    graphs, labels = shapes(12)
    for graph in graphs:
        graph.graph_attr = torch.ones(1, 2)
    model = GraphClassifier(**FEW).fit(graphs, labels)
    graphs[3].graph_attr = torch.tensor([[1.0, torch.nan]])
    with pytest.raises(ValueError, match="the graph features of graph 3 hold NaN"):
        model.predict(graphs)
    with pytest.raises(ValueError, match="the graph features of graph 3 hold NaN"):
        GraphClassifier(**FEW).fit(graphs, labels)
