from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets.raw.sources import RawFile, at_hand
from gsina.datasets.registry import DATASETS, load_dataset
from gsina.datasets.text import text_graphs
from gsina.datasets.text.sentences import CORPORA, Sentence
from gsina.datasets.text.text_graphs import (
    VECTORS,
    Vectors,
    build_graphs,
    load,
    read_vectors,
    tokens,
)
from gsina.graphs.task import Task
from raw_files import no_raw_files

WORDS = Vectors(
    torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [0.0, 0.0]]), {"good": 0, "not": 1, "a": 2}
)
CLASSES = Task("multiclass", 5)


def test_words_become_nodes() -> None:
    graphs = build_graphs([Sentence(["Not", "a", "zzz"], 3)], WORDS, CLASSES)
    assert graphs.x.tolist() == [[0, 1, 0], [2, 2, 0], [0, 0, 1]]
    assert graphs.y is not None
    assert graphs.y.tolist() == [3]
    assert graphs.y.dtype == torch.long


def test_short_forms_take_the_long_forms_vector() -> None:
    graphs = build_graphs([Sentence(["is", "n't", "Good"], 1)], WORDS, Task("binary", 1))
    assert graphs.x.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert graphs.y is not None
    assert graphs.y.tolist() == [[1.0]]


def test_edges_join_words_two_places_apart() -> None:
    sentences = [Sentence(["a"] * n, 0) for n in (4, 1, 2, 7)]
    graphs = build_graphs(sentences, WORDS, CLASSES)
    for number, sentence in enumerate(sentences):
        batch = graphs.batch([number])
        count = len(sentence.words)
        expected = {
            (i, j): 1 / abs(i - j) for i in range(count) for j in range(count) if 0 < abs(i - j) < 3
        }
        assert batch.edge_attr is not None
        found = zip(batch.edge_index.T.tolist(), batch.edge_attr[:, 0].tolist(), strict=True)
        assert {(i, j): weight for (i, j), weight in found} == expected
        assert batch.num_edges == len(expected)


def test_target_is_marked() -> None:
    sentences = [Sentence(["a", "good"], 0, frozenset({1})), Sentence(["a"], 0, frozenset({0}))]
    graphs = build_graphs(sentences, WORDS, CLASSES, marked=True)
    assert graphs.x[:, -1].tolist() == [0, 1, 1]
    assert build_graphs(sentences, WORDS, CLASSES).x.size(1) == 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files in place of the real ones."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    long, short = "1\t" + "very good film " * 4, "0\tnot good film"
    middle = "1\tgood film of five words"
    lines = ["label\tsentence", *[long, f"0{long[1:]}"] * 5, short, middle, "1\ta", long]
    files = tuple(RawFile(file.path) for file in CORPORA["sst2-text"].files)
    monkeypatch.setitem(CORPORA, "sst2-text", replace(CORPORA["sst2-text"], files=files))
    monkeypatch.setattr(text_graphs, "VECTORS", RawFile(VECTORS.path))
    for file, part in zip(files, (lines, lines[:1], lines[:13]), strict=True):
        file.target.parent.mkdir(parents=True, exist_ok=True)
        file.target.write_bytes(gzip.compress("\n".join(part).encode()))
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / VECTORS.path, words=np.array(["good", "film", "not"]), vec=vectors)
    return tmp_path / "sentiment"


@pytest.mark.usefixtures("folder")
def test_load_splits_by_length() -> None:
    dataset = load_dataset("sst2-text")
    assert dataset.name == "sst2-text"
    assert [len(part) for part in dataset.splits.values()] == [19, 2, 2]
    assert dataset.train.num_features == 3
    assert dataset.notes[0].startswith("3 of 26 sentences")
    assert "% of the words have no vector" in dataset.notes[1]
    assert tokens("sst2-text", "test") == [["not", "good", "film"]] * 2
    assert tokens("sst2-text", "val") == [["very", "good", "film"] * 4] * 2
    assert dataset.test.x[:3].tolist() == [[4, 5, 0], [0, 1, 0], [2, 3, 0]]
    with pytest.raises(ValueError, match="unknown split 'valid'"):
        tokens("sst2-text", "valid")


def test_bad_vectors(folder: Path) -> None:
    path = folder / "glove100_sst_twitter.npz"
    for content in ({"words": np.array(["a"])}, {"words": np.array([None]), "vec": np.ones(1)}):
        np.savez(path, **content)
        with pytest.raises(ValueError, match=r"glove100_sst_twitter\.npz is not a complete"):
            read_vectors()
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"glove100_sst_twitter\.npz is not a complete"):
        read_vectors()
    np.savez(path, words=np.array(["a", "b"]), vec=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"2 words but vectors of shape \(3, 2\)"):
        read_vectors()


def test_names_do_not_claim_to_be_the_benchmark() -> None:
    assert set(CORPORA) == {"sst2-text", "sst5-text", "twitter-text"}
    assert set(CORPORA) <= set(DATASETS)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "features"),
    [
        ("sst2-text", [27_355, 3_039, 12_567], 101),
        ("sst5-text", [4_871, 541, 2_266], 101),
        ("twitter-text", [2_775, 308, 1_347], 102),
    ],
)
def test_real_files(name: str, sizes: list[int], features: int) -> None:
    if not at_hand(VECTORS, *CORPORA[name].files):
        pytest.skip(f"the files of {name} are not in the data folder")
    dataset = load(name)
    assert [len(part) for part in dataset.splits.values()] == sizes
    assert dataset.train.num_features == features
    words = tokens(name, "test")
    assert [len(sentence) for sentence in words] == dataset.test.node_ptr.diff().tolist()
    if name == "twitter-text":
        assert bool((dataset.test.x[:, -1] == 1).any())
    with no_raw_files():
        load(name)
