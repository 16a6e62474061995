from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets.nodes import arxiv
from gsina.datasets.nodes.arxiv import ARCHIVE, FILES, WINDOWS, load, windows
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.registry import DATASETS

YEARS = [2015, 2011, 2013, 1990, 2018, 2020, 2012, 2017]
#: Citing and cited paper.
CITATIONS = [(0, 1), (2, 1), (1, 3), (4, 0), (5, 4), (6, 2), (7, 6), (5, 1)]


def parts() -> dict[str, list[str]]:
    return {
        "edge": [f"{citing},{cited}" for citing, cited in CITATIONS],
        "node-feat": [",".join(f"{paper + c / 1000}" for c in range(128)) for paper in range(8)],
        "node-label": [str(paper % 40) for paper in range(8)],
        "node_year": [str(year) for year in YEARS],
        "num-node-list": ["8"],
        "num-edge-list": ["8"],
    }


def write(folder: Path, part: str, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    (folder / f"{part}.csv.gz").write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    folder = tmp_path / "ogb" / "ogbn_arxiv" / "raw"
    folder.mkdir(parents=True)
    for part, lines in parts().items():
        write(folder, part, lines)
    return folder


@pytest.mark.usefixtures("folder")
def test_small_files() -> None:
    dataset = load()
    assert list(dataset.splits) == list(WINDOWS)
    assert (dataset.task.kind, dataset.task.outputs, dataset.task.level) == (
        "multiclass",
        40,
        "node",
    )
    for (first, last), graphs in zip(WINDOWS.values(), dataset.splits.values(), strict=True):
        papers = [paper for paper, year in enumerate(YEARS) if year <= last]
        assert graphs.node_y is not None
        assert graphs.mask is not None
        assert graphs.node_y.tolist() == papers
        assert graphs.mask.tolist() == [YEARS[paper] > first for paper in papers]
        expected = torch.tensor(papers)[:, None] + torch.arange(128) / 1000
        torch.testing.assert_close(graphs.x, expected)
        named = torch.tensor(papers)[graphs.edge_index].T.tolist()
        inside = [[a, b] for a, b in CITATIONS if a in papers and b in papers]
        assert named == inside


@pytest.mark.usefixtures("folder")
def test_undirected() -> None:
    plain, both = load(), load(undirected=True)
    for split, graphs in plain.splits.items():
        assert both.splits[split].edge_index.size(1) == 2 * graphs.edge_index.size(1)


def test_archive_is_unpacked(folder: Path) -> None:
    with zipfile.ZipFile(ARCHIVE.target, "w") as out:
        for file in FILES.values():
            out.write(file.target, f"arxiv/raw/{file.target.name}")
            file.target.unlink()
    assert DATASETS["ogbn-arxiv"].at_hand()
    assert load().train.x.shape == (2, 128)


@pytest.mark.parametrize(
    ("part", "lines", "message"),
    [
        ("edge", ["0,1"] * 7, "edge.csv.gz has 7 lines but the files beside it ask for 8"),
        ("edge", ["0,1"] * 7 + ["2,8"], "the edge 2 -> 8 in line 8, but nodes"),
        ("edge", ["0,1"] * 7 + ["x,8"], "edge.csv.gz is truncated or altered"),
        ("node-feat", ["1,2"] * 7, "node-feat.csv.gz has 7 lines"),
        ("node-label", ["40"] * 8, "from 0 to 39"),
        ("node_year", ["2000"] * 8, "no paper for val"),
        ("num-node-list", ["9"], "ask for 9"),
        ("num-edge-list", ["8", "8"], "num-edge-list.csv.gz has 2 lines"),
    ],
)
def test_altered_files(folder: Path, part: str, lines: list[str], message: str) -> None:
    write(folder, part, lines)
    with pytest.raises(ValueError, match=message):
        load()


def test_truncated_file(folder: Path) -> None:
    path = folder / "node-feat.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"node-feat\.csv\.gz is not a complete gzip"):
        load()


@pytest.mark.data
def test_windows_of_the_real_years() -> None:
    if not at_hand(FILES["node_year"]):
        pytest.skip(f"{FILES['node_year'].path} is not in the data folder")
    years = arxiv._table("node_year", 169343)[:, 0]
    assert len(years) == 169343
    counts = [(int(kept.sum()), int(scored.sum())) for kept, scored in windows(years).values()]
    assert counts == [
        (17401, 17401),
        (41125, 23724),
        (69499, 28374),
        (120740, 51241),
        (169343, 48603),
    ]
    kept = np.stack([kept for kept, _ in windows(years).values()])
    assert (kept[1:] >= kept[:-1]).all()  # Each graph holds the one before.
