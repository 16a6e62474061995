from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets.catalog import DATASETS, load_dataset
from gsina.datasets.nodes.whole_graphs import (
    NodeGraph,
    check_ids,
    fingerprint,
    node_archive,
    pack,
    stamp,
)
from gsina.datasets.raw.sources import RawFile

NODE_LEVEL = ["cora", "elliptic", "facebook100", "ogbn-arxiv", "photo", "twitch"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    return tmp_path


def test_pack_keeps_each_graph() -> None:
    graphs = [
        NodeGraph(
            x=torch.full((size, 2), float(size)),
            edge_index=torch.tensor([[0], [size - 1]]),
            y=torch.arange(size),
            mask=torch.arange(size) > 0,
        )
        for size in (2, 3)
    ]
    packed = pack(graphs, [4, 7])
    assert packed.environment is not None
    assert packed.mask is not None
    assert packed.environment.tolist() == [4, 7]
    second = packed.batch([1])
    assert second.x.tolist() == [[3.0, 3.0]] * 3
    assert second.edge_index.tolist() == [[0], [2]]
    assert second.y is not None
    assert second.y.tolist() == [0, 1, 2]
    assert packed.mask.tolist() == [False, True, False, True, True]


def test_all_are_registered() -> None:
    assert {DATASETS[name].level for name in NODE_LEVEL} == {"node"}


@pytest.mark.parametrize("name", NODE_LEVEL)
def test_missing_dataset_is_one_sentence(folder: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset(name)
    message = str(caught.value)
    assert str(folder) in message  # Where to put it,
    assert "http" in message  # where to get it,
    assert "; available are " in message  # and what there is instead.
    assert message.count(". ") == 0
    assert not DATASETS[name].at_hand()


def test_archive_is_unpacked_once(folder: Path) -> None:
    archive, member = RawFile("a/all.zip", "http://nowhere.invalid"), RawFile("a/raw/one.csv")
    (folder / "a").mkdir()
    with zipfile.ZipFile(archive.target, "w") as out:
        out.writestr("top/raw/one.csv", "1\n")
    node_archive(archive, {"raw/one.csv": member})
    assert member.target.read_text() == "1\n"
    archive.target.unlink()
    node_archive(archive, {"raw/one.csv": member})


def test_edges_must_lead_to_nodes() -> None:
    check_ids(np.array([[0, 2], [1, 0]]), 3, Path("e.csv"))
    with pytest.raises(ValueError, match=r"e\.csv has the edge 1 -> 3 in line 3, .* 0 to 2"):
        check_ids(np.array([[0, 2], [1, 3]]), 3, Path("e.csv"), first=2)


def test_fingerprint_sees_values_and_shape_but_not_layout() -> None:
    a = np.arange(6).reshape(2, 3)
    assert fingerprint(a) == fingerprint(np.asfortranarray(a.astype(np.uint8)))
    assert len({fingerprint(b) for b in (a, a + 1, a.T, a.reshape(3, 2), a[:1])}) == 5


def test_stamp_changes_with_the_file(folder: Path) -> None:
    file = RawFile("a.csv")
    before = stamp([file])
    file.target.write_text("1")
    os.utime(file.target, (1, 1))
    first = stamp([file])
    os.utime(file.target, (2, 2))
    assert len({before, first, stamp([file])}) == 3
