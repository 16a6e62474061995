"""Graph-SST5 and Graph-Twitter: the split, the loaders, and the same split of plain sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets import degree_shift
from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.datasets.degree_shift import SentiGraphSource
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.text.sentences import CORPORA
from gsina.datasets.text.text_graphs import VECTORS

LENGTHS = [*range(1, 21)] * 2


def test_split_of_trees() -> None:
    nodes = torch.tensor(LENGTHS)
    edges = 2 * (nodes - 1)
    up = degree_shift.degree_shift(nodes, edges, growing=True)
    # Quantiles of 40 trees: half have up to 10 nodes, a fifth more than 16.
    assert sorted(nodes[up["train"]].tolist()) == sorted([*range(3, 11)] * 2)  # not 1 or 2 words
    assert sorted(set(nodes[up["test"]].tolist())) == [17, 18, 19, 20]
    assert nodes[up["val"]].tolist() == [11, 12, 13, 14]  # the first tenth, in order
    down = degree_shift.degree_shift(nodes, edges, growing=False)
    assert sorted(set(nodes[down["train"]].tolist())) == [*range(11, 21)]
    assert sorted(set(nodes[down["test"]].tolist())) == [3, 4]
    assert nodes[down["val"]].tolist() == [5, 6, 7, 8]


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "sentigraph/Graph-SST5/raw"
    folder.mkdir(parents=True)
    start = np.cumsum([0, *LENGTHS])
    parts = {
        "node_indicator": [i + 1 for i, count in enumerate(LENGTHS) for _ in range(count)],
        "edge_index": [
            f"{start[i] + j} {start[i] + j + 1}"
            for i, count in enumerate(LENGTHS)
            for j in range(count - 1)
        ],
        "graph_labels": [i % 5 for i in range(len(LENGTHS))],
    }
    for part, lines in parts.items():
        (folder / f"Graph-SST5_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    np.save(folder / "Graph-SST5_node_features.npy", np.ones((start[-1], 6), np.float32))
    return folder


@pytest.mark.usefixtures("dump")
def test_load(monkeypatch: pytest.MonkeyPatch) -> None:
    assert DATASETS["graph-sst5"].at_hand()
    assert not DATASETS["graph-twitter"].at_hand()
    with pytest.raises(ValueError, match=r"give \(16, 4, 8\) sentences .* expected \(6090"):
        load_dataset("graph-sst5")
    made = SentiGraphSource("Graph-SST5", 5, True, (16, 4, 8))
    monkeypatch.setitem(degree_shift.SOURCES, "graph-sst5", made)
    dataset = load_dataset("graph-sst5")
    assert [len(part) for part in dataset.splits.values()] == [16, 4, 8]
    assert dataset.train.edge_attr is None
    assert dataset.test.node_ptr.diff().tolist() == [17, 18, 19, 20] * 2
    assert dataset.test.edge_ptr.diff().tolist() == [32, 34, 36, 38] * 2  # both directions
    assert dataset.notes == ("12 sentences of middle or least length are unused",)
    oracle = load_dataset("graph-sst5", iid=True)
    assert [len(part) for part in oracle.splits.values()] == [32, 4, 4]
    assert int(oracle.train.node_ptr.diff().max()) > 16


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes"), [("sst5-text", (5905, 1186, 2235)), ("twitter-text", (3432, 694, 1574))]
)
def test_sentences_of_the_same_collections(name: str, sizes: tuple[int, int, int]) -> None:
    """As many sentences as the dumps have, but other tokens: other lengths, other sizes."""
    if not at_hand(*CORPORA[name].files, VECTORS):
        pytest.skip(f"the files of {name} are not in the data folder")
    dataset = load_dataset(name, protocol="ciga")
    assert tuple(len(part) for part in dataset.splits.values()) == sizes
    means = {split: part.x.size(0) / len(part) for split, part in dataset.splits.items()}
    ordered = sorted(means, key=lambda split: means[split])
    way = ["train", "val", "test"]
    assert ordered == (way if name == "sst5-text" else way[::-1])
    oracle = load_dataset(name, protocol="iid")
    total = sum(len(part) for part in oracle.splits.values())
    assert total == {"sst5-text": 11855, "twitter-text": 6940}[name]


@pytest.mark.data
def test_sst2_is_not_in_the_benchmark() -> None:
    if not at_hand(*CORPORA["sst2-text"].files):
        pytest.skip("the files of SST-2 are not in the data folder")
    with pytest.raises(ValueError, match="sst2-text is not in the CIGA benchmark"):
        load_dataset("sst2-text", protocol="ciga")
