"""Collections of labelled sentences: SST-2, SST-5, and tweets about a target.

Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank", 2013
(SST-2 with phrases in its training file, as in GLUE); Dong et al., "Adaptive Recursive Neural
Network for Target-dependent Twitter Sentiment Classification", 2014.

The split is by length, in the spirit of Graph-SST2: all sentences are pooled, long ones are for
training, the first tenth of them for validation, short ones are for testing, and those between are
unused. SST-2 takes the lengths that Graph-SST2 has (at least 9 words, and 3 or 4); the others take
lengths that give about the same shares (45 % and 18 %).

The training file of SST-2 holds phrases of its sentences too. So nine of ten short test phrases are
word for word part of a long training sentence; Graph-SST2, made of the same files, has that too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from gsina.datasets.random_split import first_tenth_for_val
from gsina.datasets.raw.compressed_files import read_gzip_text
from gsina.datasets.raw.sources import RawFile, raw_file, verify
from gsina.errors import check_name
from gsina.graphs.task import Task


@dataclass(frozen=True)
class Sentence:
    """A tokenised sentence, its class, and the places of the words it is about."""

    words: list[str]
    label: int
    target: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """One collection of sentences.

    Attributes:
        task: What is predicted.
        files: The files, in the order that they are pooled.
        parse: Makes the sentences of one file from its lines.
        longest_test: Most words of a test sentence; shortest has 3.
        shortest_train: Fewest words of a sentence for training and validation.
    """

    task: Task
    files: tuple[RawFile, ...]
    parse: Callable[[list[str], Path], list[Sentence]]
    longest_test: int
    shortest_train: int


def _parse_sst2(lines: list[str], path: Path) -> list[Sentence]:
    """A header, then lines of label, tab, sentence."""
    rows = [line.split("\t") for line in lines]
    if rows[0][0] != "label":
        raise _bad_line(path, 1, "a header that starts with 'label'")
    sentences = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 2 or row[0] not in ("0", "1"):
            raise _bad_line(path, number, "0 or 1, a tab and a sentence")
        sentences.append(_sentence(row[1].split(), int(row[0]), path, number))
    return sentences


def _parse_sst5(lines: list[str], path: Path) -> list[Sentence]:
    """Lines of a label 0 .. 4, a blank and the sentence."""
    sentences = []
    for number, line in enumerate(lines, start=1):
        label, *words = line.split() or [""]
        if label not in ("0", "1", "2", "3", "4"):
            raise _bad_line(path, number, "a number from 0 to 4 and a sentence")
        sentences.append(_sentence(words, int(label), path, number))
    return sentences


def _parse_twitter(lines: list[str], path: Path) -> list[Sentence]:
    """Three lines per tweet: text with ``$T$`` for the target, the target, and -1, 0 or 1."""
    if len(lines) % 3:
        raise _bad_line(path, len(lines), "three lines per tweet")
    sentences = []
    for first in range(0, len(lines), 3):
        text, target, label = (line.strip() for line in lines[first : first + 3])
        if label not in ("-1", "0", "1") or "$T$" not in text or not target:
            raise _bad_line(path, first + 1, "a text with $T$, a target, and -1, 0 or 1")
        words: list[str] = []
        places: set[int] = set()
        for word in text.replace("$T$", " $T$ ").split():
            new = target.split() if word == "$T$" else [word]
            if word == "$T$":
                places.update(range(len(words), len(words) + len(new)))
            words.extend(new)
        sentence = _sentence(words, int(label) + 1, path, first + 1)
        sentences.append(Sentence(sentence.words, sentence.label, frozenset(places)))
    return sentences


def _sentence(words: list[str], label: int, path: Path, number: int) -> Sentence:
    if not words:
        raise _bad_line(path, number, "a sentence of at least one word")
    return Sentence(words, label)


def _bad_line(path: Path, number: int, expected: str) -> ValueError:
    return ValueError(
        f"{path} is truncated or altered at line {number}: expected {expected}; fetch it again."
    )


#: Checksums of the files by collection, in the order that they are pooled.
SHA256 = {
    "sst2": {
        "train.tsv": "66b956accc474c7c051718ca60a176dc293cb04521173dd1ef79c3bc382ce14d",
        "dev.tsv": "849cf872044dbaf7d0b30fdbcf45fa39dc5f8934f068a97722a48e67ac721d83",
        "test.tsv": "e3f938a64971859314cc9112350c3739d3e91239cdf9dfab86c7fdab87804dd5",
    },
    "sst5": {
        "train.txt": "99b49f85736fcd8d173c834477fdb346a6450e46f9a582ea82bc36a78e9b24af",
        "dev.txt": "62aa55c593d5c9807fae37e22d2aa0cfb8a8de303b37a5a5387e26757cfd5d7d",
        "test.txt": "5c0bcaef8db98a2e037d398addb9773a8e458e4d3722a1e8495ab45dd2f0ad30",
    },
    "twitter": {
        "train.raw": "cb19bb7a364dc91d65c5800db68c4030ed0f02c28ab9fad64690560a65adedae",
        "test.raw": "5f5a6c95553d17981240b7d07e5d85cf28d783885d146aac1ba4b8fb7b91dcc0",
    },
}


def _files(folder: str) -> tuple[RawFile, ...]:
    return tuple(
        RawFile(f"sentiment/{folder}/{name}.gz", sha256=(digest,))
        for name, digest in SHA256[folder].items()
    )


CORPORA = {
    "sst2-text": Corpus(
        Task("binary", 1),
        _files("sst2"),
        _parse_sst2,
        longest_test=4,
        shortest_train=9,
    ),
    "sst5-text": Corpus(
        Task("multiclass", 5),
        _files("sst5"),
        _parse_sst5,
        longest_test=10,
        shortest_train=20,
    ),
    "twitter-text": Corpus(
        Task("multiclass", 3),
        _files("twitter"),
        _parse_twitter,
        longest_test=13,
        shortest_train=23,
    ),
}


def read_sentences(name: str) -> list[Sentence]:
    """All sentences of a collection, file after file."""
    corpus = CORPORA[check_name(name, CORPORA, "text dataset")]
    return [sentence for file in corpus.files for sentence in read_file(file, corpus)]


def read_file(file: RawFile, corpus: Corpus) -> list[Sentence]:
    """The sentences of one file."""
    path = raw_file(file)
    verify(path, file)
    text = read_gzip_text(path, "gzip file of text")
    # Not splitlines(): tweets contain odd characters that it takes for line ends.
    return corpus.parse(text.removesuffix("\n").replace("\r\n", "\n").split("\n"), path)


def length_split(sentences: list[Sentence], corpus: Corpus) -> dict[str, list[int]]:
    """Numbers of the sentences in train, val and test."""
    length = torch.tensor([len(sentence.words) for sentence in sentences])
    pool = (length >= corpus.shortest_train).nonzero()[:, 0]
    short = ((length >= 3) & (length <= corpus.longest_test)).nonzero()[:, 0]
    train, val = first_tenth_for_val(pool)
    return {"train": train.tolist(), "val": val.tolist(), "test": short.tolist()}
