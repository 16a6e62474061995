"""Pictures of molecules and sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.image import imread

from gsina.datasets.text.sentences import Sentence
from gsina.datasets.text.text_graphs import Vectors, build_graphs
from gsina.explain.pictures import graphs as pictures
from gsina.explain.pictures.graphs import make_picture
from gsina.explain.pictures.sentences import draw_sentences
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.training import Predictions

SENTENCES = [
    Sentence(["not", "a", "very", "good", "film"], 0),
    Sentence(["it", "costs", "$", "5"], 1),
    Sentence(["a", "film", "about", "antidisestablishmentarianism"], 1),
]


def random_attention(graphs: PackedGraphs, node: bool = True) -> Predictions:
    torch.manual_seed(0)
    edge = torch.rand(graphs.edge_index.size(1))
    return Predictions(
        torch.zeros(len(graphs), 1), edge, torch.rand(graphs.x.size(0)) if node else None, None
    )


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []

    def make(*arguments, **options) -> Figure:
        figures.append(Figure(*arguments, **options))
        return figures[-1]

    monkeypatch.setattr(pictures, "Figure", make)
    return figures


def test_sentences_show_their_words(tmp_path: Path, drawn: list[Figure]) -> None:
    graphs = build_graphs(SENTENCES, Vectors(torch.zeros(1, 4), {}), Task("binary", 1))
    words = [sentence.words for sentence in SENTENCES]
    attention = random_attention(graphs)
    path = tmp_path / "sentences.png"
    options = {"columns": 2, "class_names": ("bad", "good"), "seed": 0}
    chosen = draw_sentences(graphs, attention, words, path, **options)
    assert sorted(chosen) == [0, 1, 2]
    for axes, number in zip(drawn[0].axes, chosen, strict=True):
        shown = [text.get_text() for text in axes.texts]
        assert [text.replace("\\$", "$")[:13] for text in shown] == [w[:13] for w in words[number]]
        # One grey and one coloured arc per edge, the latter as wide as its attention.
        picture = make_picture(graphs, attention, number, lambda n, _: np.zeros((n, 2)))
        widths = sorted(line.get_linewidth() for line in axes.lines[1::2])
        assert widths == pytest.approx(sorted(3 * picture.edge))
    assert imread(path).shape[0] > 300
    with pytest.raises(ValueError, match="their numbers differ"):
        draw_sentences(graphs, attention, words[::-1], path)


def test_molecules_are_coloured_by_attention(tmp_path: Path, drawn: list[Figure]) -> None:
    pytest.importorskip("rdkit", reason="molecules need RDKit")
    from dataclasses import replace

    from gsina.explain.pictures.molecules import draw_molecules, molecule_image
    from gsina.molecules.packing import pack_smiles

    smiles = ["CCO", "c1ccccc1C(=O)N", "CC(C)Cl"]
    graphs = pack_smiles(smiles).graphs
    labels = torch.tensor([[0.0], [1.0], [float("nan")]])
    graphs = replace(graphs, y=labels)
    path = tmp_path / "molecules.png"
    assert draw_molecules(graphs, random_attention(graphs), smiles, path, columns=2) == [0, 1]
    assert len(drawn[0].axes) == 2
    assert imread(path).shape[0] > 300

    def red(weight: float) -> int:
        edge = torch.full((graphs.edge_index.size(1),), weight)
        found = Predictions(torch.zeros(3, 1), edge, None, None)
        image = molecule_image(smiles[1], make_picture(graphs, found, 1))
        return int(((image[..., 0] > 0.9) & (image[..., 1] < 0.5)).sum())

    assert red(0.0) == red(0.3) == 0  # no sharpening: little attention is a pale colour
    assert red(1.0) > 1000
    with pytest.raises(ValueError, match="are not the edges of its graph"):
        molecule_image(smiles[0], make_picture(graphs, random_attention(graphs), 1))
    with pytest.raises(ValueError, match="1 SMILES strings for 3 graphs"):
        draw_molecules(graphs, random_attention(graphs), smiles[:1], path)


def test_molecules_have_the_wedges_and_hydrogens_of_rdkit() -> None:
    pytest.importorskip("rdkit", reason="molecules need RDKit")
    from gsina.explain.pictures.molecules import molecule_image
    from gsina.molecules.packing import pack_smiles

    def ink(smiles: str) -> int:
        graphs = pack_smiles([smiles], jobs=1).graphs
        found = Predictions(torch.zeros(1, 1), torch.zeros(graphs.edge_index.size(1)))
        image = molecule_image(smiles, make_picture(graphs, found, 0))
        return int((image[..., :3].sum(-1) < 0.6).sum())

    assert ink("C[C@H](F)Cl") != ink("CC(F)Cl")  # a wedge
    assert ink("CCN") > ink("CCF")  # NH2 has more letters than F
    assert ink("CC(=O)[O-]") != ink("CC(=O)O")  # a charge, and a hydrogen
