"""MNIST-75sp: digits as graphs of at most 75 superpixels.

Knyazev et al., "Understanding Attention and Generalization in Graph Neural Networks", 2019, in the
form of the GSAT benchmark: made here from the original images. The true explanation is the digit
itself, that is superpixels that are not black.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.datasets.images.superpixels import OnProgress, Superpixels, superpixels
from gsina.datasets.raw.compressed_files import read_gzip
from gsina.datasets.raw.sources import OnProgress as OnDownload
from gsina.datasets.raw.sources import RawFile, raw_file, verify
from gsina.errors import InputError
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

VERSION = 1
URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"


def _file(name: str, *sha256: str) -> RawFile:
    return RawFile(f"mnist/{name}-ubyte.gz", f"{URL}{name}-ubyte.gz", sha256)


#: Images and labels; the first checksum is the official archive's, the second that of the same
#: content compressed again.
FILES = {
    "train": (
        _file(
            "train-images-idx3",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971",
        ),
        _file(
            "train-labels-idx1",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203",
        ),
    ),
    "test": (
        _file(
            "t10k-images-idx3",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be",
        ),
        _file(
            "t10k-labels-idx1",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b",
        ),
    ),
}
#: Share of the training images that the benchmark trains on (20,000) and validates on (5,000).
TRAIN_SHARE, VAL_SHARE = 3, 12
SIZE = 28
SIGMA = 0.1
WEAKEST = 0.1
#: Images whose distance matrices are in memory at once.
CHUNK = 256


def load(
    *,
    seed: int = 0,
    limit: int | None = None,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    download: OnDownload | None = None,
) -> Dataset:
    """Load MNIST-75sp.

    ``x`` is ``[N, 5]``: the mean intensity three times, then row and column in 0 .. 1.
    ``edge_attr`` is ``[E, 1]``: exp(-distance / (0.1 pi)^2), and an edge exists, in both
    directions, where that is above 0.1.

    Args:
        seed: The training images are permuted with a generator of this seed, the run index in the
            benchmark; the first 20,000 are for training and the last 5,000 for validation.
        limit: Use only the first images of each file, divided in the same shares.
        jobs: Processes that make superpixels; one per core by default.
        progress: Called with the number of images done and the total while superpixels are made.
        download: Called with bytes done and the total during a download.
    """
    if limit is not None and limit < VAL_SHARE:
        raise InputError(f"limit is {limit}; expected at least {VAL_SHARE} images, or None.")

    def make() -> Dataset:
        pixels, y = {}, {}
        raw = {split: read_split(split, limit, download) for split in FILES}
        total = sum(len(labels) for _, labels in raw.values())
        before = 0
        for split, (images, labels) in raw.items():
            report = _shifted(progress, before, total)
            pixels[split] = superpixels(images, jobs=jobs, progress=report)
            y[split] = torch.from_numpy(labels.astype(np.int64))
            before += len(labels)
        count = len(y["train"])
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
        train, val = order[: count // TRAIN_SHARE], order[count - count // VAL_SHARE :]
        splits = {
            "train": build_graphs(pixels["train"], y["train"], train),
            "val": build_graphs(pixels["train"], y["train"], val),
            "test": build_graphs(pixels["test"], y["test"]),
        }
        return Dataset("mnist-75sp", Task("multiclass", 10), splits)

    limited = "" if limit is None else f"-limit{limit}"
    return cached(f"mnist-75sp-v{VERSION}-seed{seed}{limited}", make)


def read_split(
    split: str, limit: int | None = None, download: OnDownload | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images ``[I, 28, 28]`` and labels ``[I]`` of ``"train"`` or ``"test"``."""
    arrays = []
    for file, dimensions in zip(FILES[split], (3, 1), strict=True):
        path = raw_file(file, progress=download)
        verify(path, file)
        arrays.append(read_idx(path, dimensions))
    images, labels = arrays
    if images.shape != (len(labels), SIZE, SIZE):
        raise InputError(
            f"{FILES[split][0].path} holds images of shape {images.shape} but "
            f"{FILES[split][1].path} {len(labels)} labels; expected ({len(labels)}, {SIZE}, "
            f"{SIZE}): fetch both again."
        )
    return images[:limit], labels[:limit]


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """Read a gzipped idx file of bytes with the given number of dimensions.

    Raises:
        InputError: If it is not such a file, or truncated, or longer than it says.
    """
    content = read_gzip(path)
    magic = bytes([0, 0, 8, dimensions])  # 8 stands for unsigned bytes.
    header = 4 + 4 * dimensions
    if content[:4] != magic or len(content) < header:
        raise InputError(
            f"{path} starts with {content[:4].hex() or 'nothing'}, expected {magic.hex()} (an idx "
            f"file of bytes with {dimensions} dimensions); delete it and fetch it again."
        )
    shape = tuple(np.frombuffer(content, ">u4", dimensions, offset=4).tolist())
    if len(content) - header != math.prod(shape):
        raise InputError(
            f"{path} is truncated or altered: it says it holds {shape} bytes but has "
            f"{len(content) - header}; delete it and fetch it again."
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def build_graphs(pixels: Superpixels, y: Tensor, ids: Tensor | None = None) -> PackedGraphs:
    """Join near superpixels of the images ``ids`` (all by default) into graphs.

    Args:
        pixels: Superpixels of all images.
        y: Labels of all images ``[I]``.
        ids: Numbers of the images to take, in order.
    """
    ids = torch.arange(len(pixels)) if ids is None else ids
    return PackedGraphs.join([_build_chunk(pixels, y, chunk) for chunk in torch.split(ids, CHUNK)])


def _build_chunk(pixels: Superpixels, y: Tensor, ids: Tensor) -> PackedGraphs:
    """Graphs of a few images, by distance matrices padded to the largest of them."""
    counts = pixels.ptr[ids + 1] - pixels.ptr[ids]
    slot = torch.arange(int(counts.max()))
    present = slot < counts[:, None]
    rows = (pixels.ptr[ids][:, None] + slot).clamp(max=pixels.ptr[-1] - 1)
    intensity = pixels.intensity[rows]
    coords = pixels.coords[rows] / SIZE
    # Padding is put at infinity, far from everything and (by NaN) from other padding too.
    place = coords.double().masked_fill(~present[:, :, None], math.inf).movedim(2, 0)
    down, right = place[:, :, :, None] - place[:, :, None, :]
    square = down.square_().add_(right.square_())
    # The exponential is taken of the near pairs only; the margin leaves the decision to it.
    near = square < 1.001 * (SIGMA * math.pi) ** 4 * math.log(WEAKEST) ** 2
    graph, source, target = near.nonzero(as_tuple=True)
    distance = square[near].sqrt_()
    weight = torch.exp(-distance / (SIGMA * math.pi) ** 2)
    kept = (weight > WEAKEST) & (source != target)
    graph, source, target, weight = graph[kept], source[kept], target[kept], weight[kept]
    bright = intensity > 0
    grey = intensity[present][:, None]
    return PackedGraphs(
        x=torch.cat([grey, grey, grey, coords[present]], dim=1),
        edge_index=torch.stack([source, target]),
        node_ptr=offsets(counts),
        edge_ptr=offsets(torch.bincount(graph, minlength=len(ids))),
        y=y[ids],
        edge_attr=weight.float()[:, None],
        edge_truth=bright[graph, source] & bright[graph, target],
        node_truth=bright[present],
    )


def _shifted(progress: OnProgress | None, before: int, total: int) -> OnProgress | None:
    """Report one part of the work as part of the whole."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)
