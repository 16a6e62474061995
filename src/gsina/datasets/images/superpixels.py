"""Superpixels of grey images, made in parallel and kept in the cache folder.

An image becomes at most 75 regions of similar intensity by SLIC (Achanta et al., 2012), as in
Knyazev et al., "Understanding Attention and Generalization in Graph Neural Networks", 2019.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save as to_bytes
from torch import Tensor

from gsina.errors import InputError, MissingPackageError
from gsina.files import cache_dir, load_prepared, save_tensors, write_aside
from gsina.graphs.packed import offsets
from gsina.parallel import parallel_map

VERSION = 1
LARGEST = 75
FIRST_REQUEST = 95
COMPACTNESS = 0.25
ORDER_SEED = 111
#: Images that one task handles and one file of finished work holds.
CHUNK = 500

#: Images done, total of images.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Superpixels:
    """Superpixels of several images, end to end.

    Attributes:
        intensity: Mean intensity in 0 .. 1 ``[N]``.
        coords: Centre, row and column in pixels ``[N, 2]``.
        ptr: Offsets of the images ``[I + 1]``.
    """

    intensity: Tensor
    coords: Tensor
    ptr: Tensor

    def __len__(self) -> int:
        return self.ptr.numel() - 1

    def tensors(self) -> dict[str, Tensor]:
        """The inverse of ``Superpixels(**tensors)``."""
        return {"intensity": self.intensity, "coords": self.coords, "ptr": self.ptr}


def segment(image: NDArray[Any]) -> NDArray[np.intp]:
    """Divide a grey image ``[H, W]`` (uint8) into at most 75 regions, labelled from 0 ``[H, W]``.

    SLIC is asked for 95 regions, then for one less, until at most 75 come out. It depends on the
    request only through the grid that it starts from, so requests for the same grid are skipped.
    """
    slic, regular_grid = _scikit_image()
    scaled = (image / 255.0).astype(np.float32)
    grid = None
    for request in range(FIRST_REQUEST, 0, -1):
        if (new := regular_grid((1, *image.shape), request)) == grid:
            continue
        grid = new
        labels: NDArray[np.intp] = slic(
            scaled, n_segments=request, compactness=COMPACTNESS, start_label=0, channel_axis=None
        )
        if labels.max() < LARGEST:
            return labels
    raise InputError(f"an image of {image.shape} pixels gave more than {LARGEST} superpixels.")


def describe(
    image: NDArray[Any], labels: NDArray[np.intp], order: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean intensity ``[R]`` and centre ``[R, 2]`` of the regions of one image, in ``order``."""
    flat = labels.ravel()
    area = np.bincount(flat)
    rows, columns = (part.ravel() for part in np.indices(image.shape))
    sums = [np.bincount(flat, weight) for weight in (image.ravel() / 255.0, rows, columns)]
    table = (np.stack(sums, axis=1) / area[:, None])[order].astype(np.float32)
    return table[:, 0], table[:, 1:]


class Chunk(NamedTuple):
    """Some of the images ``[I, H, W]``, the number of the first, and where the result goes."""

    images: NDArray[Any]
    first: int
    path: Path


def extract(chunk: Chunk) -> dict[str, NDArray[Any]]:
    """The fields of :class:`Superpixels` for a chunk, stored at once if the folder lets us.

    The order of the superpixels of an image is random, but depends only on the image's number.
    """
    intensity, coords = [], []
    for number, image in enumerate(chunk.images, start=chunk.first):
        labels = segment(image)
        order = np.random.default_rng([ORDER_SEED, number]).permutation(int(labels.max()) + 1)
        grey, centre = describe(image, labels, order)
        intensity.append(grey)
        coords.append(centre)
    arrays = {
        "intensity": np.concatenate(intensity),
        "coords": np.concatenate(coords),
        "ptr": np.cumsum([0, *map(len, intensity)]),
    }
    with contextlib.suppress(OSError), write_aside(chunk.path) as file:
        file.write(to_bytes(arrays))
    return arrays


def superpixels(
    images: NDArray[Any], *, jobs: int | None = None, progress: OnProgress | None = None
) -> Superpixels:
    """Superpixels of all images ``[I, H, W]`` (uint8), from the cache where they are in it.

    Finished chunks are stored at once: a killed run resumes where it stopped.

    Args:
        images: Grey images.
        jobs: Number of processes; one per core by default.
        progress: Called with the number of images done and the total.

    Raises:
        MissingPackageError: If superpixels must be made and scikit-image is not installed.
    """
    key = f"{hashlib.sha256(images.tobytes()).hexdigest()[:16]}-{len(images)}"
    path = cache_dir() / f"superpixels-v{VERSION}-{key}.safetensors"
    if (found := _read(path)) is not None and len(found) == len(images):
        return found
    _scikit_image()
    folder = cache_dir() / f"superpixels-v{VERSION}-{key}-skimage-{_version()}"
    finished, missing = _stored_and_missing(images, folder)
    stored = sum(map(len, finished.values()))

    def report(done: int, _: int | None) -> None:
        if progress:
            progress(min(stored + done * CHUNK, len(images)), len(images))

    report(0, None)
    try:
        results = parallel_map(extract, missing, jobs=jobs, progress=report)
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process that makes superpixels was killed, perhaps for lack of memory; start "
            "again, the finished part is kept."
        ) from error
    for chunk, arrays in zip(missing, results, strict=True):
        finished[chunk.first] = Superpixels(**{k: torch.from_numpy(v) for k, v in arrays.items()})
    result = _join([finished[first] for first in sorted(finished)])
    with contextlib.suppress(OSError):  # Without a cache it only takes longer the next time.
        save_tensors(path, result.tensors(), {"scikit-image": _version()})
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    return result


def _stored_and_missing(
    images: NDArray[Any], folder: Path
) -> tuple[dict[int, Superpixels], list[Chunk]]:
    """Chunks that an earlier run finished, by their first image, and those still to do."""
    stored: dict[int, Superpixels] = {}
    missing = []
    for first in range(0, len(images), CHUNK):
        chunk = Chunk(images[first : first + CHUNK], first, folder / f"{first}.safetensors")
        found = _read(chunk.path)
        if found is not None and len(found) == len(chunk.images):
            stored[first] = found
        else:
            missing.append(chunk)
    return stored, missing


def _join(parts: list[Superpixels]) -> Superpixels:
    return Superpixels(
        intensity=torch.cat([part.intensity for part in parts]),
        coords=torch.cat([part.coords for part in parts]),
        ptr=offsets(torch.cat([part.ptr.diff() for part in parts])),
    )


def _read(path: Path) -> Superpixels | None:
    """A stored result, or ``None`` if there is none that can be used."""
    if path.exists():
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Superpixels(**load_prepared(path, old=True)[0])
    return None


def _scikit_image() -> tuple[Any, Any]:
    try:
        from skimage.segmentation import slic
        from skimage.util import regular_grid
    except ImportError as error:
        raise MissingPackageError(
            "making superpixels needs scikit-image, which is not installed: pip install "
            "gsina[images]"
        ) from error
    return slic, regular_grid


def _version() -> str:
    return importlib.metadata.version("scikit-image")
