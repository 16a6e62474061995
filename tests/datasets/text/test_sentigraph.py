from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gsina.datasets.registry import DATASETS
from gsina.datasets.text import sentigraph
from gsina.datasets.text.sentigraph import (
    both_ways,
    load_sst2,
    read_graphs,
    read_sentences,
    read_tokens,
    sst2_tokens,
)

NAME = "Graph-SST2"
#: Words of each sentence; edges form a path. 9 or more: train and val; 3 or 4: test.
LENGTHS = [*[9, 12] * 10, 3, 8, 4, 2, 1, 5, 3, 30]


def stem(tmp_path: Path) -> Path:
    return tmp_path / "sentigraph" / NAME / "raw"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dump of a few sentences; the vector of a word is (sentence, place, 0)."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentigraph, "SST2_SIZES", (19, 2, 3))
    folder = stem(tmp_path)
    folder.mkdir(parents=True)
    start = np.cumsum([0, *LENGTHS])
    words = [(number, place) for number, length in enumerate(LENGTHS) for place in range(length)]
    parts: dict[str, list[Any]] = {
        "node_indicator": [number + 1 for number, _ in words],
        "edge_index": [
            f"{start[number] + place} {start[number] + place + 1}"
            for number, place in words
            if place + 1 < LENGTHS[number]
        ],
        "graph_labels": [number % 2 for number in range(len(LENGTHS))],
        "split_indices": [number % 3 for number in range(len(LENGTHS))],
    }
    for part, lines in parts.items():
        (folder / f"{NAME}_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    tokens = {str(i): [f"w{i}.{j}" for j in range(length)] for i, length in enumerate(LENGTHS)}
    (folder / f"{NAME}_sentence_tokens.json").write_text(json.dumps(tokens))
    vectors = np.array([(*word, 0) for word in words], np.float32)
    (folder / f"{NAME}_node_features.pkl").write_bytes(pickle.dumps(vectors))
    return folder


@pytest.mark.usefixtures("folder")
def test_reader_keeps_what_is_stored() -> None:
    sentences = read_sentences(NAME)
    graphs = read_graphs(NAME, sentences)
    assert graphs.node_ptr.diff().tolist() == LENGTHS
    assert graphs.edge_ptr.diff().tolist() == [length - 1 for length in LENGTHS]
    assert graphs.batch([22]).edge_index.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert graphs.x.dtype == torch.float32
    assert graphs.batch([22]).x.tolist() == [[22, place, 0] for place in range(4)]
    assert graphs.y is not None
    assert graphs.y.tolist() == [number % 2 for number in range(len(LENGTHS))]
    assert sentences.split is not None
    assert sentences.split[:4].tolist() == [0, 1, 2, 0]
    assert read_tokens(NAME, sentences)[22] == ["w22.0", "w22.1", "w22.2", "w22.3"]


@pytest.mark.usefixtures("folder")
def test_sst2_is_split_by_degree() -> None:
    dataset = load_sst2()
    numbers = {
        split: part.x[part.node_ptr[:-1], 0].tolist() for split, part in dataset.splits.items()
    }
    assert numbers == {"train": [*range(2, 20), 27], "val": [0, 1], "test": [20, 22, 26]}
    assert "4 sentences" in dataset.notes[0]
    assert (dataset.task.kind, dataset.task.outputs) == ("binary", 1)
    test = dataset.test
    assert test.y is not None
    assert test.y.tolist() == [[0.0], [0.0], [0.0]]
    assert test.edge_attr is not None
    assert test.edge_attr.tolist() == [[1.0]] * 14
    # Reversed copies first, then the edges as stored.
    assert test.batch([0]).edge_index.tolist() == [[1, 2, 0, 1], [0, 1, 1, 2]]
    assert sst2_tokens("test")[1] == ["w22.0", "w22.1", "w22.2", "w22.3"]
    assert len(sst2_tokens("train")) == 19
    assert torch.equal(load_sst2().train.x, dataset.train.x)


@pytest.mark.usefixtures("folder")
def test_both_ways_keeps_graphs_apart() -> None:
    graphs = both_ways(read_graphs(NAME, read_sentences(NAME)))
    assert graphs.edge_ptr.diff().tolist() == [2 * (length - 1) for length in LENGTHS]
    batch = graphs.batch(range(len(graphs)))
    assert batch.reverse is not None
    assert bool((batch.reverse != torch.arange(batch.num_edges)).all())


def test_npy_in_place_of_the_pickle(folder: Path) -> None:
    path = folder / f"{NAME}_node_features.pkl"
    np.save(folder / f"{NAME}_node_features.npy", pickle.loads(path.read_bytes()))
    path.unlink()
    assert DATASETS["graph-sst2"].at_hand()
    assert load_sst2().train.num_features == 3
    np.save(folder / f"{NAME}_node_features.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"node_features\.npy is not a complete"):
        read_graphs(NAME, read_sentences(NAME))


def test_malicious_features_are_not_run(folder: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "mark"),)

    (folder / f"{NAME}_node_features.pkl").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ValueError, match=r"node_features\.pkl is not a complete pickle"):
        load_sst2()
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("node_indicator.txt", lambda text: text[:-3], r"_edge_index\.txt points to words outside"),
        ("node_indicator.txt", lambda text: text.replace("2\n", "7\n", 1), "in order"),
        ("graph_labels.txt", lambda text: text[:-2], r"_graph_labels\.txt has 27 lines"),
        ("split_indices.txt", lambda text: text + "0\n", r"_split_indices\.txt has 29 lines"),
        ("edge_index.txt", lambda text: text + "5 9999\n", r"_edge_index\.txt points to words"),
        ("edge_index.txt", lambda text: text + "0 9\n", "edge between two sentences"),
        ("edge_index.txt", lambda text: text + "7", r"_edge_index\.txt is truncated"),
        # Whole lines are missing: only the sizes of the splits can tell.
        (
            "edge_index.txt",
            lambda text: text[: text.index("\n", 900) + 1],
            r"expected \(19, 2, 3\)",
        ),
    ],
)
def test_altered_text(folder: Path, part: str, change: Any, message: str) -> None:
    path = folder / f"{NAME}_{part}"
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=message):
        load_sst2()


def test_altered_features(folder: Path) -> None:
    path = folder / f"{NAME}_node_features.pkl"
    for value in (np.zeros((3, 3)), np.zeros(len(LENGTHS)), np.zeros((10, 2), int), "text"):
        path.write_bytes(pickle.dumps(value))
        with pytest.raises(ValueError, match=r"node_features\.pkl"):
            load_sst2()


def test_altered_tokens(folder: Path) -> None:
    path = folder / f"{NAME}_sentence_tokens.json"
    for text in ("{", "[]", '{"0": ["a"]}', '{"0": 3}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"sentence_tokens\.json"):
            sst2_tokens("train")


def test_missing_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    assert not DATASETS["graph-sst2"].at_hand()
    with pytest.raises(FileNotFoundError, match=r"Graph-SST2_node_indicator\.txt is missing"):
        load_sst2()


@pytest.mark.data
def test_real_dump() -> None:
    if not DATASETS["graph-sst2"].at_hand():
        pytest.skip("the Graph-SST2 dump is not in the data folder")
    dataset = load_sst2()
    assert [len(part) for part in dataset.splits.values()] == [28_327, 3_147, 12_305]
    assert dataset.train.num_features == 768
