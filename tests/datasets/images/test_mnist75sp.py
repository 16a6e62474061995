from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gsina.datasets.images import mnist75sp
from gsina.datasets.images.mnist75sp import FILES, build_graphs, load, read_idx, read_split
from gsina.datasets.images.superpixels import Superpixels, superpixels
from gsina.datasets.raw.sources import RawFile, at_hand
from gsina.files import cache_dir
from gsina.graphs.packed import offsets
from raw_files import no_raw_files


def idx(array: NDArray[np.uint8]) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(
        size.to_bytes(4, "big") for size in array.shape
    )
    return header + array.tobytes()


def write_idx(path: Path, array: NDArray[np.uint8]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(idx(array)))
    return path


def digits(count: int) -> NDArray[np.uint8]:
    """Bars of random places on black."""
    images = np.zeros((count, 28, 28), np.uint8)
    generator = np.random.default_rng(count)
    for image, (row, column) in zip(images, generator.integers(4, 18, (count, 2)), strict=True):
        image[row : row + 6, column : column + 3] = generator.integers(60, 255, (6, 3))
    return images


def reference(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    """The adjacency of one image, by the formula."""
    distance = np.linalg.norm(coords[:, None] - coords[None], axis=2)
    weight = np.exp(-distance / (0.1 * np.pi) ** 2)
    np.fill_diagonal(weight, 0)
    return np.where(weight > 0.1, weight, 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path))
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    for split, count in (("train", 24), ("test", 10)):
        images, labels = (RawFile(file.path) for file in FILES[split])
        monkeypatch.setitem(FILES, split, (images, labels))
        write_idx(images.target, digits(count))
        write_idx(labels.target, (np.arange(count) % 10).astype(np.uint8))
    return tmp_path / "mnist"


@pytest.mark.parametrize("chunk", [2, 100])
def test_graphs_follow_the_formula(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist75sp, "CHUNK", chunk)
    generator = torch.Generator().manual_seed(0)
    counts = torch.tensor([7, 75, 1, 40, 75])
    total = int(counts.sum())
    pixels = Superpixels(
        intensity=(torch.rand(total, generator=generator) - 0.5).clamp(min=0),
        coords=torch.rand(total, 2, generator=generator) * 28,
        ptr=offsets(counts),
    )
    y = torch.arange(5)
    ids = torch.tensor([4, 0, 2, 3, 1])
    graphs = build_graphs(pixels, y, ids)
    assert graphs.y is not None
    assert graphs.y.tolist() == ids.tolist()
    for number, image in enumerate(ids.tolist()):
        rows = slice(int(pixels.ptr[image]), int(pixels.ptr[image + 1]))
        coords = (pixels.coords[rows] / 28).double().numpy()
        expected = reference(coords)
        batch = graphs.batch([number])
        assert batch.edge_attr is not None
        assert batch.edge_truth is not None
        assert batch.node_truth is not None
        dense = np.zeros_like(expected)
        source, target = batch.edge_index.numpy()
        dense[source, target] = batch.edge_attr[:, 0].numpy()
        assert batch.num_edges == np.count_nonzero(expected)
        np.testing.assert_allclose(dense, expected, rtol=1e-6)
        grey = pixels.intensity[rows].numpy()
        np.testing.assert_array_equal(batch.x[:, :3].numpy(), np.stack([grey] * 3, axis=1))
        np.testing.assert_allclose(batch.x[:, 3:].numpy(), coords, rtol=1e-6)
        np.testing.assert_array_equal(batch.node_truth.numpy(), grey > 0)
        both = (grey > 0)[source] & (grey > 0)[target]
        np.testing.assert_array_equal(batch.edge_truth.numpy(), both)


@pytest.mark.usefixtures("folder")
def test_splits_depend_on_the_seed_only() -> None:
    pytest.importorskip("skimage")
    calls: list[tuple[int, int]] = []
    dataset = load(seed=3, jobs=1, progress=lambda *done: calls.append(done))
    assert calls[-1] == (34, 34)
    assert [len(part) for part in dataset.splits.values()] == [8, 2, 10]
    assert (dataset.task.kind, dataset.task.outputs) == ("multiclass", 10)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(3))
    assert dataset.train.y is not None
    assert dataset.val.y is not None
    assert dataset.test.y is not None
    assert dataset.train.y.tolist() == (order[:8] % 10).tolist()
    assert dataset.val.y.tolist() == (order[-2:] % 10).tolist()
    assert dataset.test.y.tolist() == list(range(10))
    assert dataset.train.num_features == 5
    assert dataset.train.num_edge_features == 1
    assert dataset.train.reverse is not None

    made = len(list(cache_dir().glob("superpixels-*")))
    assert made == 2
    load(seed=4)  # Another split of the same superpixels.
    assert len(list(cache_dir().glob("superpixels-*"))) == made
    again = load(seed=3)
    assert torch.equal(again.train.x, dataset.train.x)


@pytest.mark.usefixtures("folder")
def test_limit() -> None:
    pytest.importorskip("skimage")
    assert [len(part) for part in load(limit=12, jobs=1).splits.values()] == [4, 1, 10]
    with pytest.raises(ValueError, match="limit is 5; expected at least 12"):
        load(limit=5)


def test_read_idx(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    path = write_idx(tmp_path / "a.gz", array)
    np.testing.assert_array_equal(read_idx(path, 3), array)
    with pytest.raises(ValueError, match=r"a\.gz starts with 00000803, expected 00000801"):
        read_idx(path, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(np.zeros((2, 3, 4), np.uint8))[:-1], "truncated or altered.* but has 23"),
        (idx(np.zeros((2, 3, 4), np.uint8)) + b"x", "truncated or altered.* but has 25"),
        (bytes([0, 0, 8, 3, 0]), "starts with 00000803"),
        (b"", "starts with nothing"),
        (b"PNG and more of it", "starts with 504e4720"),
    ],
)
def test_bad_idx(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path, 3)
    assert str(path) in str(caught.value)


def test_broken_gzip(tmp_path: Path) -> None:
    path = write_idx(tmp_path / "a.gz", digits(50))
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for content in (whole[:-20], whole[: len(whole) // 2], bytes(flipped), b"not gzip"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.gz is not a complete gzip file"):
            read_idx(path, 3)


def test_labels_must_fit_images(folder: Path) -> None:
    write_idx(folder / "t10k-labels-idx1-ubyte.gz", np.zeros(9, np.uint8))
    with pytest.raises(ValueError, match=r"t10k-images.* \(10, 28, 28\) .*t10k-labels.* 9 labels"):
        read_split("test")


def test_altered_file_is_named_with_its_checksum(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = FILES["test"]
    monkeypatch.setitem(FILES, "test", (RawFile(images.path, sha256=("ab" * 32,)), labels))
    with pytest.raises(ValueError, match=f"t10k-images-idx3-ubyte.gz is .*altered.*{'ab' * 32}"):
        read_split("test")
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    monkeypatch.setitem(FILES, "test", (images, labels))
    with pytest.raises(FileNotFoundError, match=r"t10k-labels-idx1-ubyte\.gz is missing"):
        read_split("test")


def need_mnist() -> None:
    if not at_hand(*(file for pair in FILES.values() for file in pair)):
        pytest.skip("MNIST is not in the data folder")


@pytest.mark.data
def test_real_images() -> None:
    need_mnist()
    for split, count, first in (("train", 60_000, [5, 0, 4]), ("test", 10_000, [7, 2, 1])):
        images, labels = read_split(split)
        assert images.shape == (count, 28, 28)
        assert labels[:3].tolist() == first
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.data
def test_real_averages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 2.1 of the protocol: 66.8 nodes and 539 edges per training graph, within 2 %."""
    pytest.importorskip("skimage")
    need_mnist()
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    images, labels = read_split("train", 1000)
    graphs = build_graphs(superpixels(images), torch.from_numpy(labels.astype(np.int64)))
    assert math.isclose(graphs.x.size(0) / len(graphs), 66.8, rel_tol=0.02)
    assert math.isclose(graphs.edge_index.size(1) / len(graphs), 539, rel_tol=0.02)


@pytest.mark.data
@pytest.mark.slow
def test_real_dataset() -> None:
    """Prepares all 70,000 images: minutes."""
    pytest.importorskip("skimage")
    need_mnist()
    dataset = load()
    assert [len(part) for part in dataset.splits.values()] == [20_000, 5_000, 10_000]
    with no_raw_files():
        load()
