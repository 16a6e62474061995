from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina.datasets.nodes import elliptic
from gsina.datasets.nodes.elliptic import ARCHIVES, FILES, PARTS, STEPS, load
from gsina.datasets.registry import DATASETS

#: Three transactions per step, in an order that mixes the steps: illicit, licit, unknown.
STEP_COUNT, PER_STEP = 49, 3
CLASSES = ("1", "2", "unknown")


def name_of(step: int, number: int) -> int:
    return 1_000_000_007 + 10 * (STEP_COUNT - step) + number


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setattr(elliptic, "COUNTS", (147, 100, 49, 49))
    folder = tmp_path / "elliptic"
    folder.mkdir()
    features, classes, edges = [], ["txId,class"], ["txId1,txId2"]
    for number in range(PER_STEP):
        for step in range(STEP_COUNT):
            values = [f"{step + number / 10 + column / 1000:.4f}" for column in range(165)]
            features.append(f"{name_of(step, number)},{step + 1},{','.join(values)}")
            classes.append(f"{name_of(step, number)},{CLASSES[number]}")
    for step in range(STEP_COUNT):
        edges.append(f"{name_of(step, 0)},{name_of(step, 2)}")
        edges.append(f"{name_of(step, 2)},{name_of(step, 1)}")
    edges.append(edges[-1])  # Twice.
    edges.append(f"{name_of(0, 0)},{name_of(1, 0)}")  # Between steps.
    (folder / "elliptic_txs_features.csv").write_text("\n".join(features) + "\n")
    (folder / "elliptic_txs_classes.csv").write_text("\n".join(classes[:1] + classes[:0:-1]) + "\n")
    (folder / "elliptic_txs_edgelist.csv").write_text("\n".join(edges) + "\n")
    return folder


def test_steps_are_those_of_the_protocol() -> None:
    groups = [list(steps) for name, steps in STEPS.items() if name.startswith("test")]
    assert [len(group) for group in groups] == [1] + [4] * 8
    assert [step for group in groups for step in group] == list(range(16, 49))
    assert groups[1] == [17, 18, 19, 20]
    assert list(STEPS["train"]) == [6, 7, 8, 9, 10]
    assert list(STEPS["val"]) == [11, 12, 13, 14, 15]


@pytest.mark.usefixtures("folder")
def test_small_files() -> None:
    dataset = load()
    assert list(dataset.splits) == ["train", "val", *(f"test-{number}" for number in range(1, 10))]
    assert (dataset.task.kind, dataset.task.metric, dataset.task.level) == ("binary", "f1", "node")
    for split, graphs in dataset.splits.items():
        assert graphs.environment is not None
        assert graphs.environment.tolist() == list(STEPS[split])
        for number, step in enumerate(STEPS[split]):
            batch = graphs.batch([number])
            assert batch.edge_index.T.tolist() in ([[0, 2], [2, 1]], [[2, 1], [0, 2]])
            assert batch.y is not None
            assert batch.mask is not None
            assert batch.y[:2].tolist() == [[1], [0]]
            assert bool(batch.y[2].isnan())
            assert batch.mask.tolist() == [True, True, False]
            expected = step + torch.arange(3)[:, None] / 10 + torch.arange(165) / 1000
            torch.testing.assert_close(batch.x, expected, atol=1e-3, rtol=0)
    assert dataset.notes == (
        "left out 1 payments between two steps",
        "left out 1 payments that are there twice",
    )


def test_archives_are_unpacked(folder: Path) -> None:
    for part in PARTS:
        file = FILES[part].target
        with zipfile.ZipFile(ARCHIVES[part].target, "w") as out:
            out.write(file, file.name)
        file.unlink()
    assert DATASETS["elliptic"].at_hand()
    assert len(load().train) == 5


def change(folder: Path, part: str, line: int, text: str | None) -> None:
    path = folder / f"elliptic_txs_{part}.csv"
    lines = path.read_text().splitlines()
    lines[line : line + 1] = [] if text is None else [text]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("part", "line", "text", "message"),
    [
        ("edgelist", 2, None, "147 transactions, 99 payments, 49 licit and 49 illicit ones"),
        ("edgelist", 2, "5,6", "names transaction 5 in line 3, which has no features"),
        ("edgelist", 2, "5", "edgelist.csv is truncated or altered"),
        ("classes", 2, "5,3", "'5,3' in line 3; expected an id and 1, 2 or unknown"),
        ("classes", 2, "5", "'5' in line 3"),
        ("classes", 2, None, "has 146 labels of 146 transactions, expected one for each of 147"),
        ("features", 2, "1,2,3", "features.csv is truncated or altered"),
        ("features", 2, None, "which has no features"),
    ],
)
def test_altered_files(folder: Path, part: str, line: int, text: str | None, message: str) -> None:
    change(folder, part, line, text)
    with pytest.raises(ValueError, match=message):
        load()


def test_wrong_number_of_columns(folder: Path) -> None:
    table = np.loadtxt(folder / "elliptic_txs_features.csv", delimiter=",")
    np.savetxt(folder / "elliptic_txs_features.csv", table[:, :10], delimiter=",", fmt="%d")
    with pytest.raises(ValueError, match="10 columns, expected 167: id, step and 165 features"):
        load()


def test_a_changed_file_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load()
    change(folder, "classes", 1, f"{name_of(48, 2)},1")
    monkeypatch.setattr(elliptic, "COUNTS", (147, 100, 49, 50))
    last = [data.splits["test-9"].batch([3]).mask for data in (before, load())]
    assert [int(mask.sum()) for mask in last if mask is not None] == [2, 3]


#: Transactions of single steps, counted from 0.
TEST_SIZES = (
    "3385 1976 3506 4291 3537 5894 4165 4592 2314 2523 1089 1653 4275 2483 2816 4525 3151 "
    "2486 5507 6393 3306 2891 2760 4481 5342 7140 5063 4975 5598 3519 5121 2954 2454"
)
SIZES = {6: 6048, 11: 2047} | dict(enumerate(map(int, TEST_SIZES.split()), start=16))


@pytest.mark.data
def test_real_files() -> None:
    if not DATASETS["elliptic"].at_hand():
        pytest.skip("elliptic is not in the data folder")
    dataset = load()
    found = {}
    for split, steps in STEPS.items():
        found |= dict(zip(steps, dataset.splits[split].node_ptr.diff().tolist(), strict=True))
    assert list(found) == list(range(6, 49))
    assert {step: found[step] for step in SIZES} == SIZES
