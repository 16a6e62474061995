"""Models that use features of whole molecules beside the graph."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from gsina import GraphClassifier
from gsina.errors import InputError
from gsina.formats import read_molecules
from gsina.formats.objects import read_objects
from gsina.methods import METHODS
from gsina.models.folder import load_model, save_model
from gsina.models.model import Model
from gsina.models.predict import predict_files, read_files
from gsina.models.train import train_model
from gsina.runs.defaults import file_recipe

pytest.importorskip("rdkit")

ACIDS = Path(__file__).parents[2] / "examples" / "data" / "acids.csv"
READING = {
    "smiles": "smiles",
    "targets": ["acid"],
    "split": "random",
    "features": ["morgan", "rdkit"],
}


def trained(method: str, trees: bool = False) -> Model:
    recipe = file_recipe("molecules", (ACIDS,), READING, method=method, epochs=2, trees=trees)
    dataset = recipe.data.load()
    return train_model(dataset, recipe.plan(dataset, 0)).model


@pytest.fixture(scope="module")
def model() -> Model:
    return trained("gsina")


def test_constants_are_dropped_and_the_scaling_is_of_training_molecules() -> None:
    data = read_molecules(ACIDS, **READING)
    train = data.train.graph_attr
    assert train is not None
    names = data.origin.reading["descriptors"]["names"]
    assert train.size(1) == len(names) == data.test.num_graph_features
    assert "MolWt" in names
    assert "NumRadicalElectrons" not in names
    assert (train.nan_to_num(0).amax(0) > train.nan_to_num(0).amin(0)).all()
    weight = names.index("MolWt")
    mean = data.scaling["graph"]["mean"][weight]
    assert abs(mean - float(train[:, weight].mean())) < 0.1 * float(train[:, weight].std())
    assert any("features of whole molecules (morgan, rdkit)" in note for note in data.notes)


def test_new_files_get_the_same_features(model: Model, tmp_path: Path) -> None:
    """From a file in two orders, one by one and together, saved and loaded: one answer."""
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model")
    assert again.architecture.graph_channels == model.architecture.graph_channels > 0
    with ACIDS.open(newline="") as file:
        rows = [row["smiles"] for row in csv.DictReader(file)][:12]
    answers = []
    for name, order, used in (("a", rows, model), ("b", rows[::-1], again)):
        new, out = tmp_path / f"{name}.csv", tmp_path / f"{name}-out.csv"
        new.write_text("\n".join(["smiles", *order]) + "\n")
        predict_files(used, [new], out)
        with out.open(newline="") as file:
            answers.append({row["smiles"]: row["prediction"] for row in csv.DictReader(file)})
    assert answers[0] == answers[1]
    (chunk,) = read_files(model, [tmp_path / "a.csv"]).chunks
    whole = again.predict(chunk.graphs).logits
    alone = torch.cat([model.predict(chunk.graphs[[place]]).logits for place in range(12)])
    torch.testing.assert_close(alone, whole, atol=1e-5, rtol=1e-5)


def test_the_features_count(model: Model, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCC(=O)O\nCCCCCC\n")
    (chunk,) = read_files(model, [new]).chunks
    from dataclasses import replace

    swapped = replace(chunk.graphs, graph_attr=chunk.graphs.graph_attr.flip(0))
    assert not torch.allclose(
        model.predict(chunk.graphs).logits, model.predict(swapped).logits, atol=1e-3
    )
    with pytest.raises(InputError, match="have 0 features of the whole graph"):
        model.predict(replace(chunk.graphs, graph_attr=None))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_uses_them_or_says_that_it_cannot(method: str) -> None:
    if "graph" not in METHODS[method].levels:
        return
    if METHODS[method].graph_features:
        assert any("graph_encoder" in name for name in trained(method).method.state_dict())
    else:
        with pytest.raises(InputError, match=f"method {method} .* cannot use features of whole"):
            trained(method)
    assert trained(method, trees=True).architecture.trees is not None


def test_an_estimator_takes_them_as_they_are(tmp_path: Path) -> None:
    data = read_molecules(ACIDS, **READING)
    found = GraphClassifier(epochs=1).fit(data)
    found.save(tmp_path / "model")
    again = GraphClassifier.load(tmp_path / "model")
    assert (found.predict_proba(data.test) == again.predict_proba(data.test)).all()


def test_new_molecules_get_the_descriptors_that_the_trees_look_at(tmp_path: Path) -> None:
    """What no tree looks at is not computed, and the answers are those of all."""
    found = trained("erm", trees=True)
    known = found.featuriser["descriptors"]["names"]
    used = found.reading["descriptors"]["used"]
    assert 0 < len(used) < len(known)
    texts = ["CC(=O)O", "CCCCCC", "c1ccccc1C(=O)O"]
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["smiles", *texts]) + "\n")
    (chunk,) = read_files(found, [new]).chunks
    everything = read_objects(texts, "graph", found.featuriser).graphs
    assert everything.graph_attr is not None
    missing = chunk.graphs.graph_attr.isnan()
    assert missing.any()
    assert not everything.graph_attr.isnan().any()
    assert not any(missing[:, known.index(name)].any() for name in used)
    whole = found.predict(everything).logits
    assert torch.equal(found.predict(chunk.graphs).logits, whole)
    assert torch.equal(found.predict(texts).logits, whole)
