"""Sentences as graphs, made from the text itself and GloVe vectors.

These are *not* Graph-SST2 and its kin, whose BERT vectors and parses cannot be made from the text
alone; they carry names of their own. How a sentence becomes a graph:

* A node is a word of the tokenised sentence. Its features are the 100 numbers of its GloVe vector
  (Pennington et al., 2014), looked up in lower case, and a flag for words without one, whose vector
  is zero. Short forms such as ``n't`` take the vector of the word they stand for.
* Edges join words at most two places apart, in both directions: neighbours, and the pairs that one
  word separates, such as *not very good*. The edge feature is 1 / distance.
* Tweets are about a target: it is put in for its placeholder, and a last feature marks its words.

The split is by length, see :mod:`gsina.datasets.text.sentences`; or by length as in the CIGA
benchmark, see :mod:`gsina.datasets.degree_shift`, whose degrees are those of trees with as many
words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gsina.datasets.degree_shift import degree_shift
from gsina.datasets.raw.compressed_files import open_npz
from gsina.datasets.raw.sources import RawFile, raw_file, verify
from gsina.datasets.text.sentences import CORPORA, Corpus, Sentence, length_split, read_sentences
from gsina.errors import InputError, check_name
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.packed import PackedGraphs, offsets
from gsina.graphs.task import Task

VERSION = 1
WINDOW = 2
VECTORS = RawFile(
    "sentiment/glove100_sst_twitter.npz",
    sha256=("e95605499196dcd3a418377f279065dc4a78f930e5894c8d40ce347865546070",),
)
#: Tokens of the treebanks and the words whose vectors they take if they have none of their own.
STANDS_FOR = {
    "n't": "not",
    "'s": "is",
    "'re": "are",
    "'m": "am",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
    "ca": "can",
    "wo": "will",
    "-lrb-": "(",
    "-rrb-": ")",
    "``": '"',
    "''": '"',
}


Protocol = Literal["gsat", "ciga", "iid"]
PROTOCOLS = ("gsat", "ciga", "iid")
#: Collections of the CIGA benchmark, and whether sentences grow from training to test.
GROWING = {"sst5-text": True, "twitter-text": False}


def load(name: str, protocol: Protocol = "gsat") -> Dataset:
    """Load ``"sst2-text"``, ``"sst5-text"`` or ``"twitter-text"``.

    Args:
        name: Name of the collection.
        protocol: The split, always the same one: ``gsat`` (long sentences for training, short ones
            for test), ``ciga`` (its degree shift; not for SST-2), or ``iid`` (random 80, 10 and
            10 %).
    """
    corpus = CORPORA[check_name(name, CORPORA, "text dataset")]
    check_name(protocol, PROTOCOLS, "protocol")

    def make() -> Dataset:
        sentences = read_sentences(name)
        ids = divide(sentences, name, corpus, protocol)
        vectors = read_vectors()
        marked = any(sentence.target for sentence in sentences)
        splits = {
            split: build_graphs([sentences[i] for i in part], vectors, corpus.task, marked=marked)
            for split, part in ids.items()
        }
        unused = len(sentences) - sum(len(part) for part in ids.values())
        nodes = torch.cat([graphs.x[:, vectors.size] for graphs in splits.values()])
        notes = (
            f"{unused} of {len(sentences)} sentences are of middle length, or shorter than 3 "
            f"words, and unused",
            f"{100 * float(nodes.mean()):.1f} % of the words have no vector",
        )
        return Dataset(name, corpus.task, splits, notes)

    return cached(f"{name}-v{VERSION}{'' if protocol == 'gsat' else f'-{protocol}'}", make)


def divide(
    sentences: list[Sentence], name: str, corpus: Corpus, protocol: Protocol
) -> dict[str, list[int]]:
    """Numbers of the sentences in train, val and test; see :func:`load`."""
    if protocol == "gsat":
        return length_split(sentences, corpus)
    if protocol == "iid":
        order = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(0))
        first, second = int(0.8 * len(order)), int(0.9 * len(order))
        parts = {"train": order[:first], "val": order[first:second], "test": order[second:]}
        return {split: part.sort().values.tolist() for split, part in parts.items()}
    if name not in GROWING:
        raise InputError(f"{name} is not in the CIGA benchmark; use {' or '.join(GROWING)}.")
    words = torch.tensor([len(sentence.words) for sentence in sentences])
    ids = degree_shift(words, 2 * (words - 1), growing=GROWING[name])
    return {split: part.tolist() for split, part in ids.items()}


def tokens(name: str, split: str, protocol: Protocol = "gsat") -> list[list[str]]:
    """The words of the sentences of a split, in order of the graphs; for drawing."""
    corpus = CORPORA[check_name(name, CORPORA, "text dataset")]
    sentences = read_sentences(name)
    ids = divide(sentences, name, corpus, protocol)
    return [sentences[number].words for number in ids[check_name(split, ids, "split")]]


@dataclass(frozen=True)
class Vectors:
    """Word vectors ``[W + 1, size]``, the last row zero, and the row of every word."""

    table: Tensor
    row: dict[str, int]

    @property
    def size(self) -> int:
        """Numbers per word."""
        return self.table.size(1)

    def rows(self, words: list[str]) -> list[int]:
        """Row of each word; the last for words without a vector."""
        unknown = self.table.size(0) - 1
        known = (
            word if word in self.row else STANDS_FOR.get(word, "") for word in map(str.lower, words)
        )
        return [self.row.get(word, unknown) for word in known]


def read_vectors() -> Vectors:
    """The GloVe vectors of the words that occur in the collections."""
    path = raw_file(VECTORS)
    verify(path, VECTORS)
    with open_npz(path, "plain arrays words and vec") as arrays:
        words, vectors = arrays["words"].tolist(), arrays["vec"]
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(
            f"{path} has {len(words)} words but vectors of shape {vectors.shape}; expected one row "
            f"a word: fetch it again."
        )
    table = torch.zeros(len(words) + 1, vectors.shape[1])
    table[:-1] = torch.from_numpy(vectors)
    return Vectors(table, {word: row for row, word in enumerate(words)})


def build_graphs(
    sentences: list[Sentence], vectors: Vectors, task: Task, *, marked: bool = False
) -> PackedGraphs:
    """Turn sentences into graphs.

    Args:
        sentences: The sentences.
        vectors: Word vectors.
        task: Says the form of the labels.
        marked: Add a feature that is 1 for the words of the target.
    """
    counts = torch.tensor([len(sentence.words) for sentence in sentences])
    rows = torch.tensor(vectors.rows([word for sentence in sentences for word in sentence.words]))
    node_ptr = offsets(counts)
    graph = torch.repeat_interleave(counts)
    columns = [vectors.table[rows], (rows == vectors.table.size(0) - 1).float()[:, None]]
    if marked:
        target = torch.zeros(len(rows), 1)
        starts = zip(node_ptr.tolist(), sentences, strict=False)
        target[[start + place for start, sentence in starts for place in sentence.target]] = 1
        columns.append(target)

    place = torch.arange(len(rows)) - node_ptr[graph]
    pairs = []
    for distance in range(1, WINDOW + 1):
        first = (place + distance < counts[graph]).nonzero()[:, 0]
        pairs += [(first, first + distance), (first + distance, first)]
    edges = torch.stack([torch.cat(ends) for ends in zip(*pairs, strict=True)])
    # In order of source and target, which is also in order of the sentences.
    edges = edges[:, (edges[0] * len(rows) + edges[1]).argsort()]
    label = torch.tensor([sentence.label for sentence in sentences])
    return PackedGraphs(
        x=torch.cat(columns, dim=1),
        edge_index=place[edges],
        node_ptr=node_ptr,
        edge_ptr=offsets(torch.bincount(graph[edges[0]], minlength=len(sentences))),
        y=label.float()[:, None] if task.kind == "binary" else label,
        edge_attr=1.0 / (edges[0] - edges[1]).abs()[:, None].float(),
    )
