from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat
from scipy.sparse import csc_matrix

from gsina.datasets.nodes import facebook100
from gsina.datasets.nodes.facebook100 import SCHOOLS, TRAIN, VAL, file_of, load, read_school
from gsina.datasets.raw.sources import at_hand
from gsina.datasets.registry import DATASETS, load_dataset

#: Nodes, undirected edges and share of gender code 2 among all.
COUNTS = {
    "Johns Hopkins55": (5180, 186586, 0.504),
    "Caltech36": (769, 16656, 0.618),
    "Amherst41": (2235, 90954, 0.455),
    "Bingham82": (10004, 362894, 0.469),
    "Duke14": (9895, 506442, 0.473),
    "Princeton12": (6596, 293320, 0.477),
    "WashU32": (7755, 367541, 0.451),
    "Brandeis99": (3898, 137567, 0.394),
    "Carnegie49": (6637, 249967, 0.551),
    "Cornell5": (18660, 790777, 0.466),
    "Yale4": (8578, 405450, 0.463),
    "Brown11": (8600, 384526, 0.430),
    "Reed98": (962, 18812, 0.375),
    "Berkeley13": (22937, 852444, 0.433),
    "Columbia2": (11770, 444333, 0.375),
    "Virginia63": (21325, 698178, 0.527),
}


def write(folder: Path, school: str, number: int) -> None:
    """Three people on a path; the dormitory is the number of the school, the year its square."""
    matrix = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    info = [[1, gender, 0, 0, number, number**2, 5] for gender in (0, 1, 2)]
    content = {"A": csc_matrix(matrix), "local_info": np.array(info, dtype=np.uint16)}
    savemat(folder / f"{school}.mat", content)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(facebook100, "FINGERPRINTS", {})
    folder = tmp_path / "facebook100"
    folder.mkdir()
    for number, school in enumerate(SCHOOLS):
        write(folder, school, number)
    return folder


def test_there_are_the_schools_of_the_protocol() -> None:
    assert len(set(SCHOOLS)) == 18
    assert set(SCHOOLS) - set(COUNTS) == {"Penn94", "Texas80"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("train_set", [1, 2, 3])
def test_small_files(train_set: int) -> None:
    dataset = load(train_set=train_set)
    assert [len(part) for part in dataset.splits.values()] == [3, 2, 1, 1, 1]
    assert list(dataset.splits)[2:] == ["test-Penn94", "test-Brown11", "test-Texas80"]
    assert dataset.node_sizes == (1, 1, 1, 18, 18, 1)
    assert dataset.notes == ("8 people without a gender code count in no loss and no score",)
    schools = [*TRAIN[train_set], *VAL, "Penn94", "Brown11", "Texas80"]
    environments = [part.environment for part in dataset.splits.values()]
    found = torch.cat([numbers for numbers in environments if numbers is not None]).tolist()
    assert [SCHOOLS[number] for number in found] == schools
    for part in dataset.splits.values():
        assert part.x.dtype == torch.long
        assert part.environment is not None
        dormitory = part.environment.repeat_interleave(3)
        assert torch.equal(part.x[:, 3], dormitory)
        assert torch.equal(part.x[:, 4], dormitory)  # Ranks of the codes, not the codes.
        first = part.batch([0])
        assert first.y is not None
        assert first.y.isnan().flatten().tolist() == [True, False, False]
        assert first.y[1:].tolist() == [[0], [1]]
        assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.usefixtures("folder")
def test_unlabelled_as_class_0() -> None:
    dataset = load(unlabelled="class0")
    assert dataset.train.node_y is not None
    assert dataset.train.node_y.flatten().tolist() == [0, 0, 1] * 3
    assert dataset.notes == ()


@pytest.mark.usefixtures("folder")
def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="train_set must be 1, 2 or 3, got 4"):
        load(train_set=4)
    with pytest.raises(ValueError, match="unknown way with the unlabelled 'class1'"):
        load(unlabelled="class1")  # type: ignore[arg-type]


def test_schools_that_are_missing(folder: Path) -> None:
    whole = load()
    for school in ("Penn94", "Reed98", "Duke14"):
        (folder / f"{school}.mat").unlink()
    dataset = load()
    assert list(dataset.splits) == ["train", "val", "test-Brown11", "test-Texas80"]
    assert "schools not at hand: Duke14, Penn94, Reed98; " in dataset.notes[0]
    assert "those of the other 15" in dataset.notes[0]
    assert dataset.notes[1] == "splits not at hand: test-Penn94"
    assert dataset.node_sizes[3] == whole.node_sizes[3] - 3
    assert DATASETS["facebook100"].at_hand()
    with pytest.raises(FileNotFoundError, match=r"Duke14\.mat is missing, which train_set=2") as e:
        load_dataset("facebook100", train_set=2)
    assert str(e.value).endswith("; available are facebook100, good-cbas.")
    (folder / "Yale4.mat").unlink()
    assert not DATASETS["facebook100"].at_hand()
    with pytest.raises(FileNotFoundError, match=r"Yale4\.mat is missing.*archive\.org"):
        load()


def test_altered_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "Caltech36.mat"
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:100], b""):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"Caltech36\.mat is not a complete \.mat file"):
            load()
    savemat(path, {"A": np.eye(3)})
    with pytest.raises(ValueError, match=r"Caltech36\.mat is not a complete .*local_info"):
        load()
    savemat(path, {"A": csc_matrix(np.eye(3)), "local_info": np.ones((2, 7))})
    with pytest.raises(ValueError, match=r"shape \(3, 3\) and `local_info` \(2, 7\)"):
        load()
    directed = csc_matrix(np.triu(np.ones((3, 3)), 1))
    savemat(path, {"A": directed, "local_info": np.ones((3, 7))})
    with pytest.raises(ValueError, match="expected a symmetric matrix"):
        load()
    write(folder, "Caltech36", 1)
    monkeypatch.setattr(facebook100, "FINGERPRINTS", {"Caltech36": "0123"})
    with pytest.raises(ValueError, match=r"3 people with 2 friendships .* expected 0123"):
        load()


@pytest.mark.data
@pytest.mark.parametrize("school", COUNTS)
def test_real_school(school: str) -> None:
    if not at_hand(file_of(school)):
        pytest.skip(f"{file_of(school).path} is not in the data folder")
    people, friendships, share = COUNTS[school]
    edges, info = read_school(file_of(school).target)
    assert info.shape == (people, 7)
    assert edges.shape == (2, 2 * friendships)
    assert (info[:, 1] == 2).mean() == pytest.approx(share, abs=6e-4)
    assert set(np.unique(info[:, 1])) == {0, 1, 2}
    assert 0.06 < (info[:, 1] == 0).mean() < 0.12


@pytest.mark.data
def test_real_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    if not at_hand(*map(file_of, COUNTS)):
        pytest.skip("facebook100 is not in the data folder")
    dataset = load(unlabelled="class0")
    if not at_hand(file_of("Penn94")) and not at_hand(file_of("Texas80")):
        assert sum(dataset.node_sizes) == 11971
        assert dataset.notes[1] == "splits not at hand: test-Penn94, test-Texas80"
    assert dataset.train.node_ptr.diff().tolist() == [COUNTS[name][0] for name in TRAIN[1]]
    assert dataset.val.edge_ptr.diff().tolist() == [2 * COUNTS[name][1] for name in VAL]
    labels = dataset.splits["test-Brown11"].node_y
    assert labels is not None
    assert float(labels.mean()) == pytest.approx(0.430, abs=6e-4)
    for column, size in enumerate(dataset.node_sizes):
        assert max(int(part.x[:, column].max()) for part in dataset.splits.values()) < size
    monkeypatch.setattr(facebook100, "_prepare", None)  # from now on it comes from the cache
    load(unlabelled="class0")
