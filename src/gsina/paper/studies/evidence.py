"""Runs of the benchmark of explanations: train, explain, and measure what that is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from gsina.datasets.catalog import DATASETS
from gsina.explain.evidence.certify import GRID, lost_answers, smallest_share
from gsina.explain.evidence.measure import Faithfulness, faithfulness
from gsina.explain.evidence.stability import make_variants, stability
from gsina.explainers.marked import edge_groups
from gsina.explainers.registry import sample_graphs
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.listeners import Listener
from gsina.models.explanations import weigh_edges
from gsina.models.model import Model
from gsina.ops.budget import Budget
from gsina.ops.edges import count_edges, symmetrise
from gsina.paper.clock import work_clock
from gsina.runs.provenance import provenance
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run
from gsina.runs.trained import trained

#: Weights that know nothing.
RANDOM = "random"
#: Graphs of a split that are explained and measured.
LIMIT = 100
#: Training graphs that explainers learn from.
LEARNED_FROM = 2000
#: What counts as marked, for all methods alike.
MARKED = Budget(share=0.2)
#: The promise that is measured, graphs it is measured on, and ways to part them in two.
CONFIDENCE, CERTIFIED_GRAPHS, HALVES = 0.9, 600, 200
#: Shifted graphs on which it is seen what is left of the promise.
SHIFTED_GRAPHS = 300


class Study(Protocol):
    """A run of the benchmark: recipe, seed and explainer in, content of a result file out."""

    def __call__(
        self,
        recipe: Recipe,
        seed: int,
        who: str,
        *,
        folder: Path | None = None,
        dataset: Dataset | None = None,
        listeners: Sequence[Listener] = (),
    ) -> dict[str, Any]:
        """Train or load the model, explain, measure."""


def is_shifted(dataset: str) -> bool:
    """Whether the test graphs of a named dataset are of another kind than the training graphs."""
    return not DATASETS[dataset].shift.startswith("none")


def run_evidence(
    recipe: Recipe,
    seed: int,
    who: str,
    *,
    folder: Path | None = None,
    dataset: Dataset | None = None,
    listeners: Sequence[Listener] = (),
) -> dict[str, Any]:
    """The result of a run with all measures of its explanations.

    They are among the metrics of the split as ``evidence_<measure>``, and those of random
    explanations of the same size as ``random_<measure>``: of the test split and, where that is
    shifted, of the validation split. ``evidence_seconds`` are those of explaining one graph, what
    the explainer has learned before included; on one thread of the processor's time.

    Args:
        recipe: What is trained.
        seed: Of the training, the sample and the explainer.
        who: A post-hoc explainer, ``random``, or empty for the method's own weights.
        folder: Folder of the trained model, which is used if it exists.
        dataset: The recipe's dataset, if it is loaded already.
        listeners: Notified of the training.
    """
    known = trained(recipe, seed, folder, dataset, listeners)
    started = work_clock()
    splits = ["test", "val"] if is_shifted(recipe.data.name) else ["test"]
    sets, variants = [], []
    for split in splits:
        graphs = sample_graphs(known.dataset.splits[split], LIMIT, seed)
        variants.append(make_variants(graphs, seed=seed))
        sets += [graphs, variants[-1].relabelled, variants[-1].noisy]
    # All at once: an explainer that learns does so once.
    began = work_clock()
    weights = _weigh(known, PackedGraphs.join(sets), who, seed)
    seconds = work_clock() - began
    each = torch.split(weights, [one.edge_index.size(1) for one in sets])
    total = sum(map(len, sets))
    metrics = {split: dict(scores) for split, scores in known.result["metrics"].items()}
    for number, split in enumerate(splits):
        own, again, noisy = each[3 * number : 3 * number + 3]
        graphs = sets[3 * number]
        found = faithfulness(
            known.model, graphs, own, budget=MARKED, train=known.dataset.train, seed=seed
        )
        stable = stability(graphs, own, variants[number], again, noisy, MARKED)
        metrics[split] |= _measures(found, stable) | {"evidence_seconds": seconds / total}
    whole = work_clock() - started
    return _result(known, metrics, "evidence", who, seconds, measuring=whole - seconds)


def run_certified(
    recipe: Recipe,
    seed: int,
    who: str,
    *,
    folder: Path | None = None,
    dataset: Dataset | None = None,
    listeners: Sequence[Listener] = (),
) -> dict[str, Any]:
    """The result of a run with what a certificate promises, and what is seen of it.

    In distribution, validation graphs (and test graphs, where these are not shifted) are parted in
    two at random :data:`HALVES` times: one half calibrates, on the other it is seen how many
    answers the marked part alone keeps. ``certified_seen`` is the mean, ``certified_ever`` that of
    graphs that keep it at this share and every larger one, which is what is promised;
    ``certified_share`` and ``certified_edges`` are the mean share and the median number of marked
    edges. ``certified_shifted`` is what is seen on shifted test graphs.

    The arguments are those of :func:`run_evidence`.
    """
    known = trained(recipe, seed, folder, dataset, listeners)
    shifted = is_shifted(recipe.data.name)
    parts = [known.dataset.val] if shifted else [known.dataset.val, known.dataset.test]
    pool = sample_graphs(_alike(parts), CERTIFIED_GRAPHS, seed)
    began = work_clock()
    test = sample_graphs(known.dataset.test, SHIFTED_GRAPHS, seed) if shifted else pool[[]]
    sets = [pool, test] if shifted else [pool]
    weights = _weigh(known, _alike(sets), who, seed)
    lost = lost_answers(known.model, pool, weights[: pool.edge_index.size(1)])
    found = promises(lost, _edges(pool), CONFIDENCE, seed)
    if shifted:
        place = smallest_share(lost, CONFIDENCE)
        outside = lost_answers(known.model, test, weights[pool.edge_index.size(1) :])
        found["certified_shifted"] = 1 - float(outside[place].mean())
    metrics = {split: dict(scores) for split, scores in known.result["metrics"].items()}
    metrics["test"] |= found
    return _result(known, metrics, "certified", who, work_clock() - began)


def promises(lost: Tensor, edges: Tensor, confidence: float, seed: int = 0) -> dict[str, float]:
    """What is seen of a promise on halves of graphs that it was not calibrated on.

    Args:
        lost: Whether parts lose their answers, from
            :func:`~gsina.explain.evidence.certify.lost_answers` ``[S, n]``.
        edges: Edges of every graph ``[n]``, both directions of one counted once.
        confidence: The promise.
        seed: Seeds the halves.
    """
    generator = torch.Generator().manual_seed(seed)
    seen, ever, shares, sizes = [], [], [], []
    count = lost.size(1)
    for _ in range(HALVES):
        order = torch.randperm(count, generator=generator)
        calibrate, new = order[: count // 2], order[count // 2 :]
        place = smallest_share(lost[:, calibrate], confidence)
        seen.append(1 - float(lost[place, new].mean()))
        ever.append(1 - float(lost[place:, new].amax(0).mean()))
        shares.append(GRID[place])
        sizes.append(float(torch.ceil(GRID[place] * edges[new] * (1 - 1e-6)).median()))
    values = {"seen": seen, "ever": ever, "share": shares, "edges": sizes}
    return {f"certified_{name}": sum(one) / len(one) for name, one in values.items()}


#: The runs of the benchmark, by the first word of a job's explainer.
STUDIES: dict[str, Study] = {"evidence": run_evidence, "certified": run_certified}


def _weigh(known: Run, graphs: PackedGraphs, who: str, seed: int) -> Tensor:
    """Weights of the edges ``[E]``, by the method itself or by another."""
    if who == RANDOM:
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.rand(graphs.edge_index.size(1), generator=generator)
        return symmetrise(drawn, edge_groups(graphs)[1])
    model: Model = known.model
    train = sample_graphs(known.dataset.train, LEARNED_FROM, seed)
    found = weigh_edges(model, graphs, None, who or None, train=train, seed=seed)
    assert found.predictions.edge is not None
    return found.predictions.edge.float()


def _measures(found: Faithfulness, stable: dict[str, float]) -> dict[str, float | None]:
    """All measures as scores of a result file, which has no NaN."""
    own = found.summary() | {f"stable_{name}": value for name, value in stable.items()}
    named = {f"evidence_{name}": value for name, value in own.items()}
    named |= {f"random_{name}": value for name, value in found.summary(random=True).items()}
    return {name: None if math.isnan(value) else value for name, value in named.items()}


def _edges(graphs: PackedGraphs) -> Tensor:
    """Edges of every graph ``[G]``, both directions of one counted once."""
    groups, reverse = edge_groups(graphs)
    return count_edges(groups, reverse, "cpu")


def _alike(sets: Sequence[PackedGraphs]) -> PackedGraphs:
    """Several sets as one, without the labels, which nothing here looks at."""
    return PackedGraphs.join([replace(one, y=None, label_weight=None) for one in sets])


def _result(
    known: Run,
    metrics: dict[str, Any],
    study: str,
    who: str,
    seconds: float,
    measuring: float = 0.0,
) -> dict[str, Any]:
    """What was found, with the seconds of explaining and of all that came after."""
    old = known.result
    return {
        **old,
        "metrics": metrics,
        "explainer": study,
        "explained_by": who or known.model.architecture.method,
        "seconds_explaining": round(seconds, 3),
        "seconds_measuring": round(measuring, 3),
        "model": {name: old[name] for name in ("commit", "finished")},
        **provenance(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
