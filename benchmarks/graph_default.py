"""Which parts the default for graphs that are no molecules is made of: chosen on training rows.

Of PROTEINS, NCI1 and Mutagenicity only those graphs are taken that are test graphs of neither split
of `gsina bench own`. They are divided by size and at random, twice each; every candidate learns
from the training graphs of a division and answers for those that are held out. Networks are trained
as `gsina train` does, once per division, and their answers are used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.held_out import Answers, Floats, kept, tables_of
from benchmarks.report import Report
from gsina.datasets.raw.sources import raw_file
from gsina.datasets.tu import read_archive, tu_file
from gsina.formats import read_tu_graphs
from gsina.formats.assemble import assemble
from gsina.formats.json_graphs import graph_reading
from gsina.graphs.dataset import Dataset, Origin
from gsina.graphs.folds import Fold
from gsina.graphs.labels import read_labels
from gsina.graphs.splits import divide
from gsina.models.boosting import described, grow_trees
from gsina.models.train import train_model
from gsina.paper.tables.own import SOURCES, Source
from gsina.runs.defaults import file_recipe

#: Divisions by each rule.
REPEATS = 2
#: Where answers are kept.
FOLDER = "graph-default"
#: Networks by name: the method and its settings, and the seed beside that of the division.
NETWORKS: dict[str, tuple[str, dict[str, Any], int]] = {
    "ERM": ("erm", {}, 0),
    "ERM again": ("erm", {}, 1000),
    "GSINA": ("gsina", {}, 0),
    "GSINA r 0.75": ("gsina", {"ratio": 0.75}, 0),
    "GSINA embedding": ("gsina", {"predict_from": "embedding"}, 0),
    "GSINA embedding r 0.75": ("gsina", {"predict_from": "embedding", "ratio": 0.75}, 0),
}
#: What was chosen.
CHOSEN = "GSINA + trees"


class Held(NamedTuple):
    """One division: where it is from, the labels of its held-out graphs, and all answers."""

    source: str
    rule: str
    number: int
    labels: NDArray[np.int64]
    answers: dict[str, Answers]


def run(quick: bool) -> Report:
    held = []
    for number in range(1 if quick else REPEATS):
        for source in SOURCES:
            if source.chosen_on and not source.targets:
                for rule in (source.shifted, "random"):
                    held.append(_answered(source, rule, number, quick))
    return report(held)


def report(held: Sequence[Held]) -> Report:
    """The scores of all candidates, by division and on average."""
    scores = {name: [_score(one, parts) for one in held] for name, parts in candidates().items()}
    return Report(tables_of(scores, held, CHOSEN, "division"))


def candidates() -> dict[str, tuple[str, ...]]:
    """The parts whose mean logit every candidate answers."""
    single = [(name,) for name in (*NETWORKS, "trees")]
    ours = [name for name in NETWORKS if name.startswith("GSINA")]
    pairs = [(name, "trees") for name in ("ERM", *ours)]
    pairs += [(name, "ERM") for name in ours] + [("ERM", "ERM again")]
    threes = [(name, "ERM", "trees") for name in ours] + [("ERM", "ERM again", "trees")]
    return {" + ".join(parts): parts for parts in (*single, *pairs, *threes)}


def _score(one: Held, parts: Sequence[str]) -> float:
    from sklearn.metrics import roc_auc_score

    summed = sum(one.answers[part]["test"] for part in parts)
    return 100 * float(roc_auc_score(one.labels, summed))


def _answered(source: Source, rule: str, number: int, quick: bool) -> Held:
    data = held_out(source, rule, number)
    name = f"{source.title}-{rule}-{number}{'-quick' if quick else ''}"
    answers = {
        network: kept(
            FOLDER, f"{name}-{network}", partial(_network, data, source, network, number, quick)
        )
        for network in NETWORKS
    }
    answers["trees"] = kept(FOLDER, f"{name}-trees", partial(_trees, data, number))
    y = data.splits["test"].y
    assert y is not None
    return Held(source.title, rule, number, y.numpy().astype(np.int64), answers)


def held_out(source: Source, rule: str, number: int) -> Dataset:
    """A division of the graphs that are test graphs of neither split.

    By size, a random fifth is left out first, so that repeats differ.
    """
    allowed: set[int] | None = None
    for each in (source.shifted, "random"):
        rows = read_tu_graphs(source.file, split=each).origin.rows
        mine = {*rows["train"], *rows["val"]}
        allowed = mine if allowed is None else allowed & mine
    assert allowed
    ids = np.array(sorted(allowed)) - 1
    if rule == "size":
        draw = np.random.default_rng(number).permutation(len(ids))
        ids = ids[np.sort(draw[len(ids) // 5 :])]
    found = read_archive(raw_file(tu_file(source.file)))
    assert found.graphs.y is not None
    every = replace(found.graphs, y=None)
    graphs = every[torch.from_numpy(ids)]
    rows_ = range(1, len(ids) + 1)
    classes = [str(found.classes[place]) for place in found.graphs.y[ids].tolist()]
    labels = read_labels({"label": classes}, rows_, kind="classification")
    fold = Fold(number, 5) if rule == "random" else None
    parts = divide(
        rule, labels, rows_, graphs=graphs, column=None, cells=(), seed=number, fold=fold
    )
    return assemble(
        source.title,
        graphs,
        labels,
        parts,
        names=[str(row) for row in rows_],
        rows=rows_,
        origin=Origin(graph_reading(graphs), file=source.file),
    )


def _network(data: Dataset, source: Source, name: str, seed: int, quick: bool) -> Answers:
    """What a network that is trained as `gsina train` does says."""
    method, options, more = NETWORKS[name]
    settings = {"epochs": 1} if quick else {}
    recipe = file_recipe(
        "tu", (source.file,), {}, method=method, options=options, trees=False, **settings
    )
    data = recipe.judge(data)
    model = train_model(data, recipe.plan(data, seed + more)).model
    return {split: _second(model.predict(one).logits) for split, one in data.splits.items()}


def _trees(data: Dataset, seed: int) -> Answers:
    """What boosted trees on descriptors of the graphs say."""
    from gsina.graphs.descriptors import describe_graphs

    read, how = described(data)
    trees = grow_trees(read, seed)
    return {split: _second(trees(describe_graphs(one, how))) for split, one in data.splits.items()}


def _second(logits: torch.Tensor) -> Floats:
    """The logit of the second class ``[G]``, from one output or two."""
    values = logits.double()
    return (values[:, -1] - values[:, 0] if values.size(1) == 2 else values[:, 0]).numpy()
