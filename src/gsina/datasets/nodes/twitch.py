"""Twitch-explicit: streamers of seven countries; who uses explicit language?

Rozemberczki et al., "Multi-Scale Attributed Node Embedding", 2021. Features say which games are
liked, where a streamer lives and how they stream; edges are mutual friendships, each of which the
files have once, in one direction.
"""

from __future__ import annotations

import csv
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gsina.datasets.nodes.whole_graphs import NodeGraph, check_ids, fingerprint, pack
from gsina.datasets.raw.compressed_files import read_gzip
from gsina.datasets.raw.number_files import read_table
from gsina.datasets.raw.sources import OnProgress, RawFile, at_hand, raw_file
from gsina.errors import InputError
from gsina.files import parse_json
from gsina.graphs.dataset import Dataset, cached
from gsina.graphs.task import Task

VERSION = 1
URL = "https://github.com/benedekrozemberczki/datasets/raw/master/twitch"
FEATURES = 3170
SPLITS = {
    "train": "DE",
    "val": "ENGB",
    **{f"test-{country}": country for country in ("ES", "FR", "PTBR", "RU", "TW")},
}
#: Fingerprints of the content of the files of each country.
FINGERPRINTS = {
    "DE": "4b0a532eabc1f5b5",
    "ENGB": "c3eeda998fc6c374",
    "ES": "38ddf1721d7f662b",
    "FR": "08e1a8ec831954af",
    "PTBR": "09f935bcbeed12f0",
    "RU": "7d90114ccfe0d89d",
    "TW": "03cb9a63f941b1b4",
}


class Country(NamedTuple):
    """The files of one country."""

    edges: RawFile
    target: RawFile
    features: RawFile

    @classmethod
    def of(cls, name: str) -> Country:
        """The files of a country; features under any name that copies have for them."""
        base, url = f"twitch/{name}/musae_{name}", f"{URL}/{name}/{name}"
        forms = [
            RawFile(f"{base}{end}") for end in ("_features.json", "_features.json.gz", ".json")
        ]
        features = next(
            (form for form in forms if at_hand(form)), RawFile(forms[0].path, f"{url}.json")
        )
        return cls(
            RawFile(f"{base}_edges.csv", f"{url}_edges.csv"),
            RawFile(f"{base}_target.csv", f"{url}_target.csv"),
            features,
        )


def load(*, undirected: bool = False, progress: OnProgress | None = None) -> Dataset:
    """Load Twitch: DE for training, ENGB for validation, five countries to test.

    Args:
        undirected: Add the opposite of every edge; the benchmark has each friendship in the one
            direction that the file happens to have.
        progress: Called during a download.

    Returns:
        Splits ``train``, ``val``, ``test-ES``, ``-FR``, ``-PTBR``, ``-RU``, ``-TW``; one graph
        each, ``x`` 0/1 as uint8 ``[N, 3170]``, ``node_y`` float ``[N, 1]``, 1 for explicit
        language.
    """

    def make() -> Dataset:
        splits, notes = {}, []
        for number, (split, country) in enumerate(SPLITS.items()):
            graph, country_notes = read_country(country, progress)
            splits[split] = pack([graph], [number])
            notes += country_notes
        return Dataset("twitch", Task("binary", 1, "roc_auc", "node"), splits, tuple(notes))

    dataset = cached(f"twitch-v{VERSION}", make)
    return dataset.to_undirected() if undirected else dataset


def read_country(name: str, progress: OnProgress | None = None) -> tuple[NodeGraph, list[str]]:
    """The graph of one country, and notes about its files."""
    edges, target, features = (raw_file(file, progress=progress) for file in Country.of(name))
    y, repeated = _labels(target)
    x = _features(features, len(y))
    links = read_table(edges.read_bytes().partition(b"\n")[2], str(edges))
    check_ids(links, len(y), edges, first=2)
    found = fingerprint(y, np.argwhere(x), links[np.lexsort(links.T)])
    if found != FINGERPRINTS[name]:
        raise InputError(
            f"the files of {name} in {edges.parent} are truncated or altered: {len(y)} nodes and "
            f"{len(links)} edges have the fingerprint {found}, expected {FINGERPRINTS[name]}; "
            f"delete them and fetch them again from {URL}/{name}."
        )
    notes = [f"{name}: ignored {repeated} repeated rows of {target.name}"] if repeated else []
    graph = NodeGraph(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(links.T),
        y=torch.from_numpy(y).float()[:, None],
    )
    return graph, notes


def _labels(path: Path) -> tuple[NDArray[np.int64], int]:
    """Label of every node ``[N]``, and the number of rows that repeat a node (the first counts)."""
    labels: dict[int, int] = {}
    repeated = 0
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                node, label = int(row["new_id"]), {"True": 1, "False": 0}[row["mature"]]
            except (KeyError, TypeError, ValueError):
                raise InputError(
                    f"{path} has the row {row}; expected a number as `new_id` and True or False as "
                    f"`mature`: delete it and fetch it again."
                ) from None
            repeated += node in labels
            labels.setdefault(node, label)
    if sorted(labels) != list(range(len(labels))):
        raise InputError(
            f"{path} is truncated or altered: its {len(labels)} nodes are not numbered without "
            f"gaps; delete it and fetch it again."
        )
    return np.array([labels[node] for node in range(len(labels))], dtype=np.int64), repeated


def _features(path: Path, nodes: int) -> NDArray[np.uint8]:
    """0/1 features ``[N, 3170]`` from the lists of their numbers."""
    content = read_gzip(path) if path.suffix == ".gz" else path.read_bytes()
    try:
        lists = {int(node): numbers for node, numbers in parse_json(content).items()}
        columns = np.fromiter(chain.from_iterable(lists.values()), dtype=np.int64)
        rows = np.repeat(list(lists), [len(numbers) for numbers in lists.values()])
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is not a complete JSON file of lists of feature numbers ({error}); delete it "
            f"and fetch it again."
        ) from error
    if sorted(lists) != list(range(nodes)) or (columns < 0).any() or (columns >= FEATURES).any():
        raise InputError(
            f"{path} is truncated or altered: expected features from 0 to {FEATURES - 1} for each "
            f"of {nodes} nodes; delete it and fetch it again."
        )
    x = np.zeros((nodes, FEATURES), dtype=np.uint8)
    x[rows, columns] = 1
    return x
