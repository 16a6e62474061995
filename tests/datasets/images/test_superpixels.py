from __future__ import annotations

import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gsina.datasets.images import superpixels as module
from gsina.datasets.images.superpixels import Chunk, describe, extract, segment, superpixels

skimage = pytest.importorskip("skimage")


def drawings(count: int) -> NDArray[np.uint8]:
    """Discs of random size and place with soft edges, about as bright as digits."""
    generator = np.random.default_rng(0)
    rows, columns = np.indices((28, 28))
    centre = generator.uniform(8, 20, (count, 2, 1, 1))
    radius = generator.uniform(2, 9, (count, 1, 1))
    distance = np.hypot(rows - centre[:, 0], columns - centre[:, 1])
    return (255 * np.clip(radius - distance, 0, 1)).astype(np.uint8)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "CHUNK", 4)
    return tmp_path


def test_segments_as_if_every_request_were_tried() -> None:
    from skimage.segmentation import slic

    tried = set()
    for image in drawings(40):
        scaled = (image / 255.0).astype(np.float32)
        request = 95
        while True:
            expected = slic(
                scaled, n_segments=request, compactness=0.25, start_label=0, channel_axis=None
            )
            if expected.max() < 75:
                break
            request -= 1
        tried.add(request)
        np.testing.assert_array_equal(segment(image), expected)
    assert len(tried) > 1  # Some images needed more than the first request.


def test_describe_is_mean_and_centre_of_mass() -> None:
    image = np.array([[0, 51], [102, 255]], np.uint8)
    labels = np.array([[0, 0], [1, 1]])
    grey, centre = describe(image, labels, np.array([1, 0]))
    np.testing.assert_allclose(grey, [0.7, 0.1], rtol=1e-6)
    np.testing.assert_allclose(centre, [[1, 0.5], [0, 0.5]])
    assert grey.dtype == centre.dtype == np.float32


def test_result_does_not_depend_on_jobs_or_chunks(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = drawings(11)
    calls: list[tuple[int, int]] = []
    one = superpixels(images, jobs=1, progress=lambda *done: calls.append(done))
    assert calls == [(0, 11), (4, 11), (8, 11), (11, 11)]
    assert len(one) == 11
    assert int(one.ptr.diff().max()) <= 75
    for chunk in (3, 100):
        monkeypatch.setattr(module, "CHUNK", chunk)
        monkeypatch.setenv("GSINA_CACHE", str(cache / str(chunk)))
        other = superpixels(images, jobs=2)
        for name, value in one.tensors().items():
            assert torch.equal(value, other.tensors()[name])


def test_stored_once_and_used_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = drawings(6)
    first = superpixels(images, jobs=1)
    assert [path.suffix for path in cache.iterdir()] == [".safetensors"]  # No chunks are left.
    monkeypatch.setattr(module, "_scikit_image", lambda: pytest.fail("was made again"))
    again = superpixels(images, jobs=1)
    assert torch.equal(first.coords, again.coords)


def test_goes_on_after_a_kill(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = drawings(14)
    whole = superpixels(images, jobs=1)
    next(cache.iterdir()).unlink()
    done: list[int] = []

    def dies_at_third(chunk: Chunk) -> dict[str, NDArray[Any]]:
        if len(done) == 2:
            raise BrokenProcessPool("killed")
        done.append(chunk.first)
        return extract(chunk)

    monkeypatch.setattr(module, "extract", dies_at_third)
    with pytest.raises(RuntimeError, match="the finished part is kept"):
        superpixels(images, jobs=1)
    assert done == [0, 4]
    # A chunk that was cut off while it was written is made again.
    folder = next(cache.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == ["0.safetensors", "4.safetensors"]
    (folder / "0.safetensors").write_bytes((folder / "0.safetensors").read_bytes()[:-9])

    def counts(chunk: Chunk) -> dict[str, NDArray[Any]]:
        done.append(chunk.first)
        return extract(chunk)

    monkeypatch.setattr(module, "extract", counts)
    calls: list[tuple[int, int]] = []
    resumed = superpixels(images, jobs=1, progress=lambda *done: calls.append(done))
    assert done[2:] == [0, 8, 12]
    assert (calls[0], calls[-1]) == ((4, 14), (14, 14))
    for name, value in whole.tensors().items():
        assert torch.equal(value, resumed.tensors()[name])


def test_without_a_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "file"))
    assert len(superpixels(drawings(3), jobs=1)) == 3


@pytest.mark.usefixtures("cache")
def test_without_scikit_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r"pip install gsina\[images\]"):
        superpixels(drawings(2))
