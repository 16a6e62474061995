"""Facebook-100: who is friends with whom at American schools in 2005; what is their gender?

Traud, Mucha and Porter, "Social Structure of Facebook Networks", 2012; as a benchmark of shifts in
EERM (Wu et al. 2022). Features are six numbers out of long lists (dormitory, year, high school and
the like); 0 stands for *not said* and is a category like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.nodes.planetoid import edges_of
from gsina.datasets.nodes.whole_graphs import NodeGraph, fingerprint, pack, stamp
from gsina.datasets.raw.compressed_files import check_mat
from gsina.datasets.raw.sources import RawFile, at_hand
from gsina.errors import InputError, MissingFileError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

VERSION = 1
URL = "https://archive.org/download/oxford-2005-facebook-matrix/facebook100.zip"
TRAIN = {
    1: ("Johns Hopkins55", "Caltech36", "Amherst41"),
    2: ("Bingham82", "Duke14", "Princeton12"),
    3: ("WashU32", "Brandeis99", "Carnegie49"),
}
VAL = ("Cornell5", "Yale4")
TEST = ("Penn94", "Brown11", "Texas80")
#: Schools that only add to the lists of categories.
OTHERS = ("Reed98", "Berkeley13", "Columbia2", "Virginia63")
SCHOOLS = tuple(school for schools in TRAIN.values() for school in schools) + VAL + TEST + OTHERS
#: Fingerprints of the content of the files; those of Penn94 and Texas80 are not known.
FINGERPRINTS = {
    "Johns Hopkins55": "1e346fb1af5d4740",
    "Caltech36": "a920dbdc8e1735a7",
    "Amherst41": "1ef6eac6ebeeaa71",
    "Bingham82": "dab34e5aca79daf8",
    "Duke14": "005f93329c2cb3ac",
    "Princeton12": "8e8336e4f014843f",
    "WashU32": "7c64e0f242e1b7fb",
    "Brandeis99": "b76b1cac09544847",
    "Carnegie49": "17d508ec80c5c4b5",
    "Cornell5": "9063b6360a5cef5b",
    "Yale4": "3b2a33754f5026fc",
    "Brown11": "ce69b7cacae897a0",
    "Reed98": "6bfb2bcc7dc0b143",
    "Berkeley13": "7ae39b389509912d",
    "Columbia2": "faab52eef9f2e32d",
    "Virginia63": "77a633eef1fbf992",
}
#: Columns of ``local_info``: all but gender are features.
GENDER, COLUMNS = 1, 7
FEATURES = [column for column in range(COLUMNS) if column != GENDER]

Unlabelled = Literal["missing", "class0"]


class School(NamedTuple):
    """One file: edges ``[2, E]`` in both directions, and seven codes per person ``[N, 7]``."""

    edges: NDArray[np.int64]
    info: NDArray[np.int64]


def load(*, train_set: int = 1, unlabelled: Unlabelled = "missing") -> Dataset:
    """Load Facebook-100 with one of its three sets of training schools.

    Args:
        train_set: 1, 2 or 3.
        unlabelled: What to do with those who do not say their gender, 6 to 11 % of a school:
            ``"missing"`` leaves them out of loss and score, ``"class0"`` counts them as class 0, as
            the benchmark does.

    Returns:
        ``train`` (three graphs), ``val`` (two), and ``test-Penn94``, ``test-Brown11``,
        ``test-Texas80`` as far as available; ``x`` int64 categories ``[N, 6]``, ``node_y``
        float ``[N, 1]``, 1 for gender code 2. The notes name the missing schools.
    """
    if train_set not in TRAIN:
        raise InputError(f"train_set must be 1, 2 or 3, got {train_set!r}.")
    check_name(unlabelled, ("missing", "class0"), "way with the unlabelled")
    here = [school for school in SCHOOLS if at_hand(file_of(school))]
    for school in (*TRAIN[train_set], *VAL):
        if school not in here:
            raise MissingFileError(
                f"{file_of(school).path} is missing, which train_set={train_set} of facebook100 "
                f"needs; unpack {URL} and put it at {file_of(school).target}, or point GSINA_DATA "
                f"to a folder that has it."
            )
    state = stamp([file_of(school) for school in here])
    key = f"facebook100-v{VERSION}-set{train_set}-{unlabelled}-{state}"
    return cached(key, lambda: _prepare(here, train_set, unlabelled))


def file_of(school: str) -> RawFile:
    """The file of one school."""
    return RawFile(f"facebook100/{school}.mat")


def _prepare(here: Sequence[str], train_set: int, unlabelled: Unlabelled) -> Dataset:
    schools = {name: read_school(file_of(name).target) for name in here}
    codes = np.concatenate([school.info for school in schools.values()])
    categories = [np.unique(codes[:, column]) for column in FEATURES]

    def packed(*names: str) -> PackedGraphs:
        graphs = [_graph(schools[name], categories, unlabelled) for name in names]
        return pack(graphs, [SCHOOLS.index(name) for name in names])

    splits = {"train": packed(*TRAIN[train_set]), "val": packed(*VAL)}
    splits |= {f"test-{name}": packed(name) for name in TEST if name in here}
    notes = []
    if missing := [name for name in SCHOOLS if name not in here]:
        notes.append(
            f"schools not at hand: {', '.join(missing)}; categories are those of the other "
            f"{len(here)}"
        )
    if skipped := [f"test-{name}" for name in TEST if name not in here]:
        notes.append(f"splits not at hand: {', '.join(skipped)}")
    if unlabelled == "missing":
        labels = [part.node_y for part in splits.values() if part.node_y is not None]
        count = int(torch.cat(labels).isnan().sum())
        notes.append(f"{count} people without a gender code count in no loss and no score")
    return Dataset(
        name="facebook100",
        task=Task("binary", 1, level="node", per_graph=True),
        splits=splits,
        notes=tuple(notes),
        node_sizes=tuple(len(values) for values in categories),
    )


def _graph(
    school: School, categories: Sequence[NDArray[np.int64]], unlabelled: Unlabelled
) -> NodeGraph:
    columns = [
        np.searchsorted(values, school.info[:, column])
        for values, column in zip(categories, FEATURES, strict=True)
    ]
    gender = school.info[:, GENDER]
    y = (gender == 2).astype(np.float32)
    if unlabelled == "missing":
        y[gender == 0] = np.nan
    return NodeGraph(
        x=torch.from_numpy(np.stack(columns, axis=1)),
        edge_index=torch.from_numpy(school.edges),
        y=torch.from_numpy(y)[:, None],
    )


def read_school(path: Path) -> School:
    """Read the ``.mat`` file of one school.

    Raises:
        InputError: If it is truncated, or its content is not that of the school.
    """
    from scipy.io import loadmat
    from scipy.sparse import issparse

    again = f"delete it and take it again from {URL}"
    try:
        check_mat(path)
        content: dict[str, Any] = loadmat(path, variable_names=["A", "local_info"])
        adjacency, info = content["A"], content["local_info"].astype(np.int64)
    except Exception as error:  # A broken file raises whatever its garbage leads to.
        raise InputError(
            f"{path} is not a complete .mat file with `A` and `local_info` ({error}); {again}."
        ) from error
    if (
        not issparse(adjacency)
        or adjacency.shape != (len(info),) * 2
        or info.shape[1:] != (COLUMNS,)
    ):
        raise InputError(
            f"{path} is altered: `A` has the shape {adjacency.shape} and `local_info` "
            f"{info.shape}, expected a sparse [N, N] and [N, {COLUMNS}]; {again}."
        )
    edges = edges_of(adjacency)
    found, expected = fingerprint(edges, info), FINGERPRINTS.get(path.stem)
    if (abs(adjacency - adjacency.T) > 0).nnz or (expected and found != expected):
        raise InputError(
            f"{path} is altered: {len(info)} people with {edges.shape[1] // 2} friendships have "
            f"the fingerprint {found}, expected {expected or 'a symmetric matrix'}; {again}."
        )
    return School(edges, info)
