from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets.nodes import twitch
from gsina.datasets.nodes.twitch import SPLITS, Country, load
from gsina.datasets.nodes.whole_graphs import fingerprint
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.registry import DATASETS
from raw_files import no_raw_files

#: Nodes, edges and share of explicit language of each country.
COUNTS = {
    "DE": (9498, 153138, 0.605),
    "ENGB": (7126, 35324, 0.546),
    "ES": (4648, 59382, 0.293),
    "FR": (6549, 112666, 0.369),
    "PTBR": (1912, 31299, 0.346),
    "RU": (4385, 37304, 0.245),
    "TW": (2772, 63462, 0.392),
}
#: Labels, features and edges (in order of their targets) of the small files.
CONTENT = fingerprint(
    np.array([0, 1, 1]), np.array([[1, 7], [2, 0], [2, 3169]]), np.array([[2, 1], [0, 2]])
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three streamers in every country; one row of France is there twice."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setattr(twitch, "FINGERPRINTS", dict.fromkeys(COUNTS, CONTENT))
    features = json.dumps({"2": [3169, 0, 0], "0": [], "1": [7]}).encode()
    forms = ("_features.json", "_features.json.gz", ".json")
    for number, name in enumerate(COUNTS):
        base = tmp_path / "twitch" / name
        base.mkdir(parents=True)
        rows = ["id,days,mature,views,partner,new_id", "8,1,True,5,False,1", "9,1,False,5,False,0"]
        rows += ["7,1,True,5,True,2"] + ["7,1,False,6,True,2"] * (name == "FR")
        (base / f"musae_{name}_target.csv").write_text("\n".join(rows) + "\n")
        (base / f"musae_{name}_edges.csv").write_text("from,to\n0,2\n2,1\n")
        form = forms[number % 3]
        content = gzip.compress(features) if form.endswith("gz") else features
        (base / f"musae_{name}{form}").write_bytes(content)
    return tmp_path / "twitch"


@pytest.mark.usefixtures("folder")
def test_small_files() -> None:
    assert DATASETS["twitch"].at_hand()
    dataset = load()
    assert list(dataset.splits) == list(SPLITS)
    assert list(SPLITS) == ["train", "val", "test-ES", "test-FR", "test-PTBR", "test-RU", "test-TW"]
    assert (dataset.task.kind, dataset.task.metric, dataset.task.level) == (
        "binary",
        "roc_auc",
        "node",
    )
    for number, graphs in enumerate(dataset.splits.values()):
        assert graphs.node_y is not None
        assert graphs.environment is not None
        assert graphs.node_y.tolist() == [[0], [1], [1]]
        assert graphs.edge_index.tolist() == [[0, 2], [2, 1]]
        assert graphs.x.dtype == torch.uint8
        assert graphs.x.nonzero().tolist() == [[1, 7], [2, 0], [2, 3169]]
        assert int(graphs.x.max()) == 1
        assert graphs.environment.tolist() == [number]
    assert dataset.notes == ("FR: ignored 1 repeated rows of musae_FR_target.csv",)


@pytest.mark.usefixtures("folder")
def test_undirected() -> None:
    graphs = load(undirected=True).train
    assert sorted(graphs.edge_index.T.tolist()) == [[0, 2], [1, 2], [2, 0], [2, 1]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("edges.csv", "from,to\n0,2\n", "3 nodes and 1 edges have the fingerprint"),
        ("edges.csv", "from,to\n0,2\n2,0\n", f"expected {CONTENT}"),
        ("edges.csv", "from,to\n0,2\n2,3\n", "the edge 2 -> 3 in line 3"),
        ("edges.csv", "from,to\n0,2\n2\n", "edges.csv is truncated or altered"),
        ("edges.csv", "", "edges.csv is empty"),
        ("target.csv", "id,mature,new_id\n1,maybe,0\n", "True or False as `mature`"),
        ("target.csv", "id,mature,new_id\n1,True\n", "a number as `new_id`"),
        ("target.csv", "id,mature,new_id\n1,True,5\n", "not numbered without gaps"),
        ("features.json", '{"0": [1', "not a complete JSON file"),
        ("features.json", '["a"]', "not a complete JSON file"),
        ("features.json", '{"0": [], "1": []}', "for each of 3 nodes"),
        ("features.json", '{"0": [], "1": [3170], "2": []}', "features from 0 to 3169"),
    ],
)
def test_altered_files(folder: Path, name: str, content: str, message: str) -> None:
    (folder / "DE" / f"musae_DE_{name}").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        load()
    assert "DE" in str(caught.value)


def test_truncated_gzip(folder: Path) -> None:
    path = folder / "ENGB" / "musae_ENGB_features.json.gz"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"ENGB_features\.json\.gz is not a complete gzip"):
        load()


@pytest.mark.data
def test_real_files() -> None:
    if not all(at_hand(*Country.of(name)) for name in COUNTS):
        pytest.skip("twitch is not in the data folder")
    dataset = load()
    for split, name in SPLITS.items():
        graphs = dataset.splits[split]
        assert graphs.node_y is not None
        nodes, edges, share = COUNTS[name]
        assert graphs.x.shape == (nodes, 3170)
        assert graphs.edge_index.shape == (2, edges)
        assert graphs.reverse is None  # Every friendship is there in one direction only.
        assert (graphs.edge_index[0] != graphs.edge_index[1]).all()
        assert float(graphs.node_y.mean()) == pytest.approx(share, abs=5e-4)
    assert dataset.notes == ("FR: ignored 2 repeated rows of musae_FR_target.csv",)
    with no_raw_files():
        load()
