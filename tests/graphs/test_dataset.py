"""Tests of `Dataset` and its cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import safetensors.torch
import torch

from gsina.datasets.registry import DatasetEntry, load_dataset, register
from gsina.errors import Note
from gsina.files import cache_dir, load_tensors, save_tensors
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task


def graphs(count: int, **more: torch.Tensor) -> PackedGraphs:
    """``count`` graphs of two nodes and one edge."""
    return PackedGraphs(
        x=torch.rand(2 * count, 3),
        edge_index=torch.tensor([[0], [1]]).repeat(1, count),
        node_ptr=torch.arange(count + 1) * 2,
        edge_ptr=torch.arange(count + 1),
        **more,
    )


def dataset() -> Dataset:
    train = graphs(4, y=torch.tensor([0, 1, -1, 2]), environment=torch.arange(4))
    val = graphs(1, edge_truth=torch.tensor([True]), y=torch.tensor([1]))
    return Dataset(
        name="made.up",
        task=Task("multiclass", 3, "accuracy"),
        splits={"train": train, "val": val, "test": graphs(0), "id_test": graphs(2)},
        notes=("1 row could not be read: ü",),
    )


def assert_same(found: Dataset, expected: Dataset) -> None:
    assert (found.name, found.task, found.notes) == (expected.name, expected.task, expected.notes)
    assert list(found.splits) == list(expected.splits)
    for split, part in expected.splits.items():
        tensors = found.splits[split].tensors()
        assert tensors.keys() == part.tensors().keys()
        for name, value in part.tensors().items():
            assert tensors[name].dtype == value.dtype
            assert torch.equal(tensors[name], value), (split, name)


def test_save_and_load(tmp_path: Path) -> None:
    whole = dataset()
    whole.save(tmp_path / "d.safetensors")
    found = Dataset.load(tmp_path / "d.safetensors")
    assert_same(found, whole)
    assert [len(part) for part in (found.train, found.val, found.test)] == [4, 1, 0]


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        (Task("multiclass", 3), {"val": graphs(0)}, "the val split of d has no graphs"),
        (Task("multiclass", 3), {"train": graphs(0)}, "the train split of d has no graphs"),
        (
            Task("multiclass", 3),
            {"train": graphs(3, y=torch.tensor([1, -1, 1]))},
            "all training labels of d are 1, expected at least two classes",
        ),
        (
            Task("binary", 2, "roc_auc"),
            {"train": graphs(2, y=torch.tensor([[0.0, torch.nan], [0.0, 0.0]]))},
            "all training labels of d are 0, expected at least two classes",
        ),
        (
            Task("binary", 2, "roc_auc"),
            {"train": graphs(2, y=torch.tensor([[0.0, 1.0], [0.0, 1.0]]))},
            "all training labels of d of a column are the same, expected at least two classes",
        ),
        (
            Task("multiclass", 3),
            {"test": graphs(2, y=torch.tensor([0, 5]))},
            "labels of the test split of d must be int64 .* got values from 0 to 5",
        ),
        (
            Task("binary", 1),
            {"id_test": graphs(2, y=torch.tensor([[1.0], [2.0]]))},
            r"labels of the id_test split of d must be 0, 1 or NaN \(missing\), got 2",
        ),
        (
            Task("multiclass", 3),
            {"train": graphs(2, y=torch.tensor([[0], [1]]))},
            r"labels of the train split of d must be int64 \[G\] .* of shape \[2, 1\]",
        ),
        (
            Task("binary", 1),
            {"val": graphs(2, y=torch.tensor([0.0, 1.0]))},
            r"labels of the val split of d must be floating point \[G, 1\] .* shape \[2\]",
        ),
    ],
)
def test_bad_splits_get_one_sentence(
    task: Task, changes: dict[str, PackedGraphs], message: str
) -> None:
    splits = {"train": graphs(2), "val": graphs(2), **changes}
    with pytest.raises(ValueError, match=message):
        Dataset("d", task, splits)


def test_a_single_class_is_no_fault_where_it_does_no_harm() -> None:
    """In validation, in one of several outputs, in regression, and where nothing is labelled."""
    some, one = graphs(2), graphs(2, y=torch.tensor([1, 1]))
    two = graphs(2, y=torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    same, nothing = graphs(2, y=torch.ones(2, 1)), graphs(2, y=torch.tensor([-1, -1]))
    for task, train, val in (
        (Task("multiclass", 3), some, one),
        (Task("binary", 2, "roc_auc"), two, two),
        (Task("regression", 1, "rmse"), same, same),
        (Task("multiclass", 3), nothing, nothing),
    ):
        assert Dataset("d", task, {"train": train, "val": val}).train is train


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Maker:
    """Makes a dataset and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Dataset:
        self.calls += 1
        return dataset()


def test_cached_is_made_once(cache: Path) -> None:
    make = Maker()
    first = cached("key-v1", make)
    assert os.listdir(cache) == ["key-v1.safetensors"]
    assert_same(cached("key-v1", make), first)
    assert make.calls == 1
    cached("key-v2", make)
    assert make.calls == 2


def test_a_broken_cache_file_is_made_again(cache: Path) -> None:
    make = Maker()
    cached("key", make)
    path = cache / "key.safetensors"
    whole = path.read_bytes()
    changed = whole[:-10] + bytes(255 - byte for byte in whole[-10:])
    breakages = [b"", b"not a tensor file", whole[:50], whole[:-1], changed]
    for calls, broken in enumerate(breakages, start=2):
        path.write_bytes(broken)
        with pytest.warns(Note, match="prepared data are made again, as .*key.safetensors"):
            cached("key", make)
        assert make.calls == calls
        Dataset.load(path)


def test_a_cache_file_without_a_digest_is_made_again(cache: Path) -> None:
    make = Maker()
    cached("key", make)
    path = cache / "key.safetensors"
    with safetensors.safe_open(str(path), framework="pt") as file:
        about = {"gsina": file.metadata()["gsina"]}
    safetensors.torch.save_file(load_tensors(path)[0], path, about)
    assert_same(cached("key", make), Dataset.load(path))
    assert make.calls == 2


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"splits": ["train"], "name": "a", "task": {"kind": "unheard of"}, "notes": []},
        {"splits": ["other"], "name": "a", "task": {"kind": "binary", "outputs": 1}, "notes": []},
    ],
    ids=["no meta", "other task", "other splits"],
)
def test_a_cache_file_of_another_kind_is_made_again(cache: Path, meta: dict[str, object]) -> None:
    save_tensors(cache / "key.safetensors", {"train.x": torch.ones(1)}, meta)
    make = Maker()
    assert cached("key", make).name == "made.up"
    assert make.calls == 1


def test_a_cache_folder_that_cannot_be_made_is_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "file" / "cache"))
    make = Maker()
    for _ in range(2):
        assert len(cached("key", make).train) == 4
    assert make.calls == 2


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_read_only_cache_folder_is_harmless(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o500)
    try:
        assert len(cached("key", Maker()).train) == 4
        assert os.listdir(cache) == []
    finally:
        cache.chmod(0o700)


def test_a_full_disk_is_harmless(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert len(cached("key", Maker()).train) == 4
    assert os.listdir(cache) == []


def test_an_error_of_the_maker_is_not_hidden(cache: Path) -> None:
    def make() -> Dataset:
        raise FileNotFoundError("no raw files")

    with pytest.raises(FileNotFoundError, match="no raw files"):
        cached("key", make)


def test_the_tests_have_a_cache_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert tmp_path_factory.getbasetemp() in cache_dir().parents


def test_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsina.datasets.registry.DATASETS", {})
    sizes = []

    def load(size: int = 1) -> Dataset:
        sizes.append(size)
        return dataset()

    entry = DatasetEntry("made.up", load, "3 classes", "4", "accuracy", "none")
    assert register(entry) is entry
    assert entry.at_hand()
    assert load_dataset("made.up", size=2).name == "made.up"
    assert sizes == [2]
    with pytest.raises(ValueError, match=r"unknown dataset 'made.pu'; did you mean 'made.up'"):
        load_dataset("made.pu")
