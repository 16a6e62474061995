from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from gsina.datasets.raw.sources import RawFile, at_hand
from gsina.datasets.text.sentences import CORPORA, Sentence, length_split, read_file, read_sentences

FILE = RawFile("sentiment/file.gz")


def parse(tmp_path: Path, name: str, text: str) -> list[Sentence]:
    (tmp_path / "sentiment").mkdir(exist_ok=True)
    (tmp_path / FILE.path).write_bytes(gzip.compress(text.encode()))
    return read_file(FILE, CORPORA[name])


@pytest.fixture(autouse=True)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.node.get_closest_marker("data"):
        monkeypatch.setenv("GSINA_DATA", str(tmp_path))


def test_sst2(tmp_path: Path) -> None:
    text = "label\tsentence\n0\thide new secretions \n1\tvery good\n"
    assert parse(tmp_path, "sst2-text", text) == [
        Sentence(["hide", "new", "secretions"], 0),
        Sentence(["very", "good"], 1),
    ]


def test_sst5_with_odd_characters(tmp_path: Path) -> None:
    text = "4 fine \u2028 film\n0 bad\x85film"
    found = parse(tmp_path, "sst5-text", text)
    assert [sentence.label for sentence in found] == [4, 0]
    assert found[0].words == ["fine", "film"]


def test_twitter_target(tmp_path: Path) -> None:
    text = "i like $T$ and$T$ .\njimmy carter\n1\nno $T$\nx\n-1\n"
    assert parse(tmp_path, "twitter-text", text) == [
        Sentence(
            ["i", "like", "jimmy", "carter", "and", "jimmy", "carter", "."],
            2,
            frozenset({2, 3, 5, 6}),
        ),
        Sentence(["no", "x"], 0, frozenset({1})),
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("sst2-text", "0\tgood\n1\tbad\n", 1),
        ("sst2-text", "label\tsentence\n0\tgood\n1\n", 3),
        ("sst2-text", "label\tsentence\n2\tgood\n", 2),
        ("sst2-text", "label\tsentence\n1\t \n", 2),
        ("sst2-text", "", 1),
        ("sst5-text", "1 a\n\n2 b\n", 2),
        ("sst5-text", "1 a\n5 b\n", 2),
        ("sst5-text", "1\n", 1),
        ("sst5-text", "", 1),
        ("twitter-text", "a $T$\nx\n1\nb $T$\n", 4),
        ("twitter-text", "a $T$\nx\n2\n", 1),
        ("twitter-text", "a $T$\nx\n1\nno target\nx\n1\n", 4),
        ("twitter-text", "a $T$\n\n1\n", 1),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"file\.gz is truncated or altered at line {line}:"):
        parse(tmp_path, name, text)


def test_broken_gzip(tmp_path: Path) -> None:
    parse(tmp_path, "sst5-text", "1 a b c\n" * 50)
    path = tmp_path / FILE.path
    for content in (path.read_bytes()[:-8], b"text", gzip.compress(b"1 \xff\xfe")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"file\.gz is not a complete gzip file of text"):
            read_file(FILE, CORPORA["sst5-text"])
    with pytest.raises(ValueError, match=r"file\.gz is truncated or altered: its SHA-256"):
        read_file(replace(FILE, sha256=("0" * 64,)), CORPORA["sst5-text"])


def test_split_by_length() -> None:
    corpus = replace(CORPORA["sst2-text"], longest_test=4, shortest_train=9)
    sentences = [Sentence(["w"] * n, 0) for n in [2, 3, 9, 8, 4, *[10] * 20, 5, 1]]
    ids = length_split(sentences, corpus)
    assert ids == {"train": list(range(6, 25)), "val": [2, 5], "test": [1, 4]}


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="did you mean 'sst2-text'"):
        read_sentences("sst2_text")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "classes"),
    [
        ("sst2-text", (67_349, 872, 1_821), [31_120, 38_922]),
        ("sst5-text", (8_544, 1_101, 2_210), [1_510, 3_140, 2_242, 3_111, 1_852]),
        ("twitter-text", (6_248, 692), [1_733, 3_473, 1_734]),
    ],
)
def test_real_files(name: str, sizes: tuple[int, ...], classes: list[int]) -> None:
    corpus = CORPORA[name]
    if not at_hand(*corpus.files):
        pytest.skip(f"the files of {name} are not in the data folder")
    parts = [read_file(file, corpus) for file in corpus.files]
    assert tuple(len(part) for part in parts) == sizes
    labels = [sentence.label for part in parts for sentence in part]
    assert [labels.count(label) for label in range(len(classes))] == classes
