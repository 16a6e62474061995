"""Sentences as graphs in the SentiGraph format: Graph-SST2, Graph-SST5, Graph-Twitter.

Yuan et al., "Explainability in Graph Neural Networks: A Taxonomic Survey", 2022 (DIG library). A
node is a word with its BERT vector, an edge a relation of the dependency tree. A folder
``<Name>/raw`` holds ``<Name>_node_features.pkl`` (a pickled array; ``.npy`` does as well),
``_node_indicator.txt`` (sentence of each word, from 1), ``_edge_index.txt`` (pairs of words,
counted from 0 through all sentences), ``_graph_labels.txt``, ``_split_indices.txt`` (0 train, 1
val, 2 test) and ``_sentence_tokens.json``. The pickle is read without running anything in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.datasets.random_split import first_tenth_for_val
from gsina.datasets.raw.compressed_files import read_npy
from gsina.datasets.raw.number_files import check_rows, read_column, read_table
from gsina.datasets.raw.pickles import read_arrays
from gsina.datasets.raw.sources import RawFile, at_hand, raw_file
from gsina.errors import InputError
from gsina.files import parse_json
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

VERSION = 1
#: Sentences of Graph-SST2 in train, val and test.
SST2_SIZES = (28_327, 3_147, 12_305)
SST2_TRAIN_DEGREE = 1.76785714
SST2_TEST_DEGREE = 1.57142857


@dataclass(frozen=True)
class Sentences:
    """The sentences of a dump without their word vectors.

    Attributes:
        edge_index: Edges as stored, one way, local to their sentence ``[2, E]``.
        node_ptr: Offsets of the words ``[G + 1]``.
        edge_ptr: Offsets of the edges ``[G + 1]``.
        y: Labels of the file ``[G]``, int64.
        split: Official split, 0 train, 1 val, 2 test ``[G]``; ``None`` if the file is missing.
    """

    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    y: Tensor
    split: Tensor | None = None

    def __len__(self) -> int:
        return self.y.numel()


def raw(name: str, part: str) -> RawFile:
    """One file of a dump, such as ``raw("Graph-SST2", "edge_index.txt")``.

    The dumps are on a drive that asks questions, so they have to be put in place by hand.
    """
    origin = "the SentiGraph dumps are linked from github.com/divelab/DIG"
    return RawFile(f"sentigraph/{name}/raw/{name}_{part}", origin=origin)


def read_sentences(name: str) -> Sentences:
    """Read the text files of a dump.

    Raises:
        MissingFileError: If a file is missing.
        InputError: If files contradict each other.
    """
    indicator, edge_file, labels = (
        raw_file(raw(name, f"{part}.txt"))
        for part in ("node_indicator", "edge_index", "graph_labels")
    )
    node_graph = read_column(indicator.read_bytes(), str(indicator)) - 1
    if node_graph[0] != 0 or not np.isin(np.diff(node_graph), (0, 1)).all():
        raise InputError(
            f"{indicator} does not count the sentences 1, 2, 3, ... in order; it is truncated or "
            f"altered: fetch it again."
        )
    count = int(node_graph[-1]) + 1
    y = read_column(labels.read_bytes(), str(labels), rows=count)
    node_ptr = offsets(torch.from_numpy(np.bincount(node_graph)))
    edges = _read_edges(edge_file, node_graph)
    edge_graph = node_graph[edges[:, 0]]
    order = np.argsort(edge_graph, kind="stable")
    local = (edges - node_ptr.numpy()[edge_graph][:, None])[order]
    split = None
    if at_hand(official := raw(name, "split_indices.txt")):
        path = raw_file(official)
        split = torch.from_numpy(read_column(path.read_bytes(), str(path), rows=count))
    return Sentences(
        edge_index=torch.from_numpy(local.T.copy()),
        node_ptr=node_ptr,
        edge_ptr=offsets(torch.from_numpy(np.bincount(edge_graph, minlength=count))),
        y=torch.from_numpy(y),
        split=split,
    )


def _read_edges(path: Path, node_graph: NDArray[Any]) -> NDArray[Any]:
    """Edges ``[E, 2]`` with ids through all sentences, checked."""
    edges = read_table(path.read_bytes(), str(path), delimiter=None)
    nodes = len(node_graph)
    if edges.shape[1] != 2 or edges.min() < 0 or edges.max() >= nodes:
        raise InputError(
            f"{path} points to words outside 0 .. {nodes - 1}, or has not two numbers per line; it "
            f"is truncated or altered: fetch it again."
        )
    if (node_graph[edges[:, 0]] != node_graph[edges[:, 1]]).any():
        raise InputError(f"{path} has an edge between two sentences: fetch it again.")
    return edges


def read_features(name: str, nodes: int) -> Tensor:
    """Word vectors ``[nodes, F]``, float32, from the pickle or from an ``.npy`` file."""
    if at_hand(plain := raw(name, "node_features.npy")):
        path = raw_file(plain)
        array = read_npy(path)
    else:
        path = raw_file(raw(name, "node_features.pkl"))
        array = read_arrays(path)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind != "f":
        raise InputError(
            f"{path} does not hold a table of real numbers, one row per word: fetch it again."
        )
    check_rows(array, nodes, str(path))
    return torch.tensor(array, dtype=torch.float32)


def read_tokens(name: str, sentences: Sentences) -> list[list[str]]:
    """The words of every sentence, for drawing.

    Raises:
        InputError: If a sentence does not have one token per node.
    """
    path = raw_file(raw(name, "sentence_tokens.json"))
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        tokens = [list(words) for words in content.values()]
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"{path} is not a JSON object of token lists ({error}): fetch it again."
        ) from error
    if [len(words) for words in tokens] != sentences.node_ptr.diff().tolist():
        raise InputError(f"{path} does not have one token per node; it is altered: fetch it again.")
    return tokens


def read_graphs(name: str, sentences: Sentences) -> PackedGraphs:
    """The graphs of a dump: edges as stored, one constant edge feature, ``y`` as in the file."""
    return PackedGraphs(
        x=read_features(name, int(sentences.node_ptr[-1])),
        edge_index=sentences.edge_index,
        node_ptr=sentences.node_ptr,
        edge_ptr=sentences.edge_ptr,
        y=sentences.y,
        edge_attr=torch.ones(sentences.edge_index.size(1), 1),
    )


def both_ways(graphs: PackedGraphs) -> PackedGraphs:
    """Add the reversed copy of every edge; in each graph the copies stand before the originals."""
    assert graphs.edge_attr is not None
    edge_graph = torch.repeat_interleave(graphs.edge_ptr.diff())
    order = torch.cat([edge_graph, edge_graph]).argsort(stable=True)
    edge_index = torch.cat([graphs.edge_index.flip(0), graphs.edge_index], dim=1)
    return replace(
        graphs,
        edge_index=edge_index[:, order],
        edge_ptr=graphs.edge_ptr * 2,
        edge_attr=graphs.edge_attr.repeat(2, 1)[order],
    )


def degree_split(sentences: Sentences) -> dict[str, Tensor]:
    """Sentences of Graph-SST2 by mean degree d = 2 edges / nodes: long ones train, short ones test.

    Sentences with one edge or none are left out; d >= 1.768 is the training pool, whose first
    tenth (in order of the file) is for validation; d <= 1.571 is for testing; the rest is unused.
    For trees that is at least 9 words, and 3 or 4 words.
    """
    edges = 2 * sentences.edge_ptr.diff()
    degree = edges.double() / sentences.node_ptr.diff()
    enough = edges > 2
    train, val = first_tenth_for_val((enough & (degree >= SST2_TRAIN_DEGREE)).nonzero()[:, 0])
    test = (enough & (degree <= SST2_TEST_DEGREE)).nonzero()[:, 0]
    ids = {"train": train, "val": val, "test": test}
    check_sizes("Graph-SST2", ids, SST2_SIZES)
    return ids


def check_sizes(name: str, ids: Mapping[str, Tensor], expected: tuple[int, int, int]) -> None:
    """Raise if the splits of a dump have not as many sentences as published."""
    sizes = tuple(len(part) for part in ids.values())
    if sizes != expected:
        raise InputError(
            f"{raw(name, 'edge_index.txt').target} and the files beside it give {sizes} sentences "
            f"for train, val and test, expected {expected}; they are truncated or altered: fetch "
            f"them again."
        )


def load_sst2() -> Dataset:
    """Load Graph-SST2 as in the GSAT benchmark: both directions, split by mean degree."""

    def make() -> Dataset:
        sentences = read_sentences("Graph-SST2")
        ids = degree_split(sentences)
        graphs = read_graphs("Graph-SST2", sentences)
        graphs = replace(graphs, y=sentences.y.float()[:, None])
        splits = {split: both_ways(graphs[part]) for split, part in ids.items()}
        unused = len(sentences) - sum(len(part) for part in ids.values())
        note = f"{unused} sentences of middle length, or of one or two words, are unused"
        return Dataset("graph-sst2", Task("binary", 1), splits, (note,))

    return cached(f"graph-sst2-v{VERSION}", make)


def sst2_tokens(split: str) -> list[list[str]]:
    """The words of the sentences of a split of Graph-SST2, in order of the graphs."""
    sentences = read_sentences("Graph-SST2")
    tokens = read_tokens("Graph-SST2", sentences)
    return [tokens[number] for number in degree_split(sentences)[split].tolist()]
