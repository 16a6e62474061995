"""`faithfulness`: how far an explanation can be believed, in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gsina.errors import InputError
from gsina.explain.components import count_components
from gsina.explain.evidence.answers import Answers
from gsina.explain.evidence.baseline import deal, deal_edges
from gsina.explain.evidence.removal import WAYS, Way, answers_of_parts, masked_answers
from gsina.explain.evidence.stability import Weigh, make_variants, stability
from gsina.explainers.explanation import Explanation
from gsina.explainers.marked import edge_groups, mark
from gsina.graphs.packed import PackedGraphs
from gsina.metrics import explanation_auc, explanation_auc_per_graph, precision_at_k
from gsina.models.folder import as_model
from gsina.models.model import Model
from gsina.ops.budget import Budget

#: Shares of the edges at which the curves are measured.
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)
#: What is marked of a graph if neither the model nor the caller says.
USUAL = Budget(share=0.5)


@dataclass(frozen=True)
class Removed:
    """What is left of the answers when the marked part is kept alone, and when it is taken away.

    Attributes:
        only: Probability of the answer from the marked part alone ``[G]``.
        without: The same without the marked part ``[G]``.
        only_changed: Whether the marked part alone gets another answer ``[G]``, 0 or 1.
        without_changed: Whether the rest does ``[G]``.
        curve: Share of graphs that get another answer without the top of each share, and with only
            that ``[2, T]``: fidelity+ and fidelity-.
    """

    only: Tensor
    without: Tensor
    only_changed: Tensor
    without_changed: Tensor
    curve: Tensor


@dataclass(frozen=True)
class Evidence:
    """What speaks for one explanation of every graph.

    Attributes:
        removed: By way of removing.
        fidelity_plus: Whether the answer changes with masks of 1 minus the weights ``[G]``.
        fidelity_minus: Whether it changes with the weights as masks ``[G]``.
        unfaithfulness: ``1 - exp(-KL)`` with the weights as masks ``[G]``.
        truth: Scores against true explanations, where these are known.
        stable: Overlap of the marked part with itself, if it was explained again.
    """

    removed: Mapping[Way, Removed]
    fidelity_plus: Tensor
    fidelity_minus: Tensor
    unfaithfulness: Tensor
    truth: Mapping[str, float] = field(default_factory=dict)
    stable: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Faithfulness:
    """Evidence for the explanations of some graphs, beside that for random ones of the same size.

    Attributes:
        sure: Probability of the answer to the whole graph ``[G]``; of numbers the number.
        marked: The marked edges ``[E]``, bool.
        budget: How much is marked.
        shares: Where the curves are measured ``[T]``.
        explained: Evidence for the explanations.
        random: Evidence for random ones: the same weights, dealt out anew within every graph.
        counted: Which rows count in means ``[G]``, bool: those of graphs with at least two edges,
            for of one edge nothing can be chosen.
        numbers: Whether answers are numbers, not classes.
        targets: Names of the targets that ``sure`` is the mean of; ``()`` for a single one.
    """

    sure: Tensor
    marked: Tensor
    budget: Budget
    shares: tuple[float, ...]
    explained: Evidence
    random: Evidence
    counted: Tensor
    numbers: bool
    targets: tuple[str, ...] = ()

    def summary(self, random: bool = False) -> dict[str, float]:
        """All measures by name, means over the graphs; of random explanations with ``random``."""
        one = self.random if random else self.explained
        plus, minus = self._mean(one.fidelity_plus), self._mean(one.fidelity_minus)
        found = {
            "fidelity_plus": plus,
            "fidelity_minus": minus,
            "characterisation": characterisation(plus, minus),
            "unfaithfulness": self._mean(one.unfaithfulness),
        }
        for way, rest in one.removed.items():
            lost, kept = self.sure - rest.without, self.sure - rest.only
            if self.numbers:
                found[f"moved_without_{way}"] = self._mean(lost.abs())
                found[f"moved_alone_{way}"] = self._mean(kept.abs())
                continue
            found |= {
                f"necessity_{way}": self._mean(lost),
                f"sufficiency_{way}": self._mean(1 - kept),
                f"kept_alone_{way}": 1 - self._mean(rest.only_changed),
                f"changed_without_{way}": self._mean(rest.without_changed),
                f"curve_area_{way}": curve_area(rest.curve, self.shares),
            }
        found |= dict(one.truth)
        return found | {f"stable_{name}": value for name, value in one.stable.items()}

    def _mean(self, values: Tensor) -> float:
        return float(values[self.counted].double().mean()) if bool(self.counted.any()) else math.nan


def characterisation(plus: float, minus: float) -> float:
    """Harmonic mean of fidelity+ and 1 - fidelity-; 0 if either is 0."""
    good = plus, 1 - minus
    if any(math.isnan(value) for value in good):
        return math.nan
    return 0.0 if min(good) <= 0 else 2 / (1 / good[0] + 1 / good[1])


def curve_area(curve: Tensor, shares: Sequence[float]) -> float:
    """Area under fidelity+ over 1 - fidelity- by the share of marked edges.

    NaN where the part alone never keeps an answer, as the ratio has no value then.

    Args:
        curve: Fidelity+ and fidelity- ``[2, T]``.
        shares: The shares ``[T]``, ascending.
    """
    if len(shares) < 2 or bool((curve[1] == 1).any()):
        return math.nan
    return float(torch.trapezoid(curve[0] / (1 - curve[1]), torch.tensor(shares).to(curve)))


def faithfulness(
    model: Any,
    graphs: Any,
    explanations: Sequence[Explanation] | Explanation | Tensor,
    *,
    budget: Budget | None = None,
    shares: Sequence[float] = SHARES,
    ways: Sequence[Way] = WAYS,
    train: PackedGraphs | None = None,
    again: Weigh | None = None,
    seed: int = 0,
) -> Faithfulness:
    """Measure explanations by what the model says with and without what they name.

    Masks as weights, and everything on them, are PyG's fidelity and unfaithfulness. Besides, the
    ``budget`` of largest weights is kept alone and taken away in three ways
    (:mod:`gsina.explain.evidence.removal`), and so is the top of every share. All parts of all
    graphs go through the model in batches. Beside every number is that of a random explanation:
    the same weights, dealt out anew within every graph. Of a model with trees its network alone is
    asked: trees see the whole graph, and would keep their answer whatever is taken away.

    Args:
        model: The model that is explained, a fitted estimator, a run, or the folder of one.
        graphs: The graphs, of any kind that the model reads.
        explanations: One per graph, in order, of :meth:`Model.explain` or any of PyG's; or the
            weights of all edges ``[E]``.
        budget: How much is marked; by default what the model keeps itself.
        shares: Shares of the edges at which the curves are measured, ascending.
        ways: Ways of removing.
        train: Training graphs, which ``replace`` takes features from; by default the graphs.
        again: Finds weights of graphs, to measure stability; without it that is left out.
        seed: Seeds the random explanations and what ``replace`` draws.

    Raises:
        InputError: The explanations are those of other graphs.
    """
    model = as_model(model)
    graphs = model.read(graphs)
    model.check(graphs)
    model = model.network_alone()
    edge, node = masks_of(explanations, graphs)
    budget = budget or Budget.of_settings(model.method.config) or USUAL
    answers = Answers(model, model.predict(graphs).logits)
    generator = torch.Generator().manual_seed(seed)
    dealt_edge = deal_edges(edge, graphs, generator)
    dealt_node = None if node is None else deal(node, graphs.node_ptr, generator)
    pool = graphs if train is None else train
    shares = tuple(shares)

    def evidence(edge: Tensor, node: Tensor | None, stable: Mapping[str, float]) -> Evidence:
        nodes = None if node is None else torch.stack([node, 1 - node])
        soft = masked_answers(model, graphs, torch.stack([edge, 1 - edge]), nodes)
        tops = [mark(edge, graphs, one) for one in (budget, *(Budget(share=s) for s in shares))]
        parts = torch.stack([*tops, *(~top for top in tops)])
        removed = {
            way: _removed(
                answers, answers_of_parts(model, graphs, parts, way, pool=pool, seed=seed), counted
            )
            for way in ways
        }
        return Evidence(
            removed,
            answers.changed(soft[1]),
            answers.changed(soft[0]),
            answers.unfaithfulness(soft[0]),
            against_truth(edge, graphs, budget),
            stable,
        )

    counted = _counted(model, graphs)
    stable: Mapping[str, float] = {}
    if again is not None:
        other = make_variants(graphs, seed=seed)
        weighed = again(other.relabelled), again(other.noisy)
        stable = stability(graphs, edge, other, *weighed, budget)
    return Faithfulness(
        answers.sure(answers.logits),
        mark(edge, graphs, budget),
        budget,
        shares,
        evidence(edge, node, stable),
        evidence(dealt_edge, dealt_node, {}),
        counted,
        answers.numbers,
        answers.targets,
    )


def masks_of(
    explanations: Sequence[Explanation] | Explanation | Tensor, graphs: PackedGraphs
) -> tuple[Tensor, Tensor | None]:
    """Weights of all edges ``[E]``, and of all nodes ``[N]`` if there are any.

    Raises:
        InputError: The explanations are not those of these graphs.
    """
    if isinstance(explanations, Tensor):
        mark(explanations, graphs, USUAL)  # says if they are too many or too few
        return explanations.float(), None
    found = explanations if isinstance(explanations, Sequence) else [explanations]
    if len(found) != len(graphs):
        raise InputError(
            f"got {len(found)} explanations for {len(graphs)} graphs; expected one each, in order."
        )
    for number, one in enumerate(found):
        rows = graphs.rows_of(number)
        ends = graphs.edge_index[:, rows["edge"]]
        known = one.get("edge_index")
        other = known is not None and not torch.equal(known.cpu(), ends)
        x, own = one.get("x"), graphs.x[rows["node"]]
        other |= x is not None and not _same(x, own)
        if one.get("edge_mask") is None or one.edge_mask.numel() != ends.size(1) or other:
            raise InputError(
                f"explanation {number} is not one of graph {number}, with its {len(own)} nodes and "
                f"{ends.size(1)} edges; pass the explanations of these very graphs, in their order."
            )
    edge = torch.cat([one.edge_mask.detach().float().cpu() for one in found])
    nodes = [one.get("node_mask") for one in found]
    if any(mask is None or mask.size(-1) != 1 or mask.dim() != 2 for mask in nodes):
        return edge, None
    return edge, torch.cat([mask.detach().float().cpu().squeeze(-1) for mask in nodes])


def _same(x: Tensor, own: Tensor) -> bool:
    """Whether features are those of a graph, which may be kept with fewer digits."""
    alike = x.shape == own.shape
    return alike and torch.allclose(x.to(own), own, rtol=0, atol=0, equal_nan=True)


def _counted(model: Model, graphs: PackedGraphs) -> Tensor:
    """Rows that count: of graphs with at least two edges and, at node level, in the mask."""
    _, reverse = edge_groups(graphs)
    owner = torch.repeat_interleave(graphs.edge_ptr.diff())
    once = torch.ones(owner.numel(), dtype=torch.bool)
    if reverse is not None:
        once = reverse >= torch.arange(owner.numel())
    several = owner[once].bincount(minlength=len(graphs)) > 1
    if model.task.level == "graph":
        return several
    rows = several.repeat_interleave(graphs.node_ptr.diff())
    return rows if graphs.mask is None else rows & graphs.mask


def _removed(answers: Answers, logits: Tensor, counted: Tensor) -> Removed:
    """From the answers to parts ``[2 (1 + T), G, outputs]``: those kept, then those taken away."""
    only, without = logits.chunk(2)
    changed = [answers.changed(part) for part in (without, only)]
    curve = torch.stack([part[1:, counted].mean(-1) for part in changed])
    return Removed(
        answers.sure(only[0]),
        answers.sure(without[0]),
        changed[1][0],
        changed[0][0],
        curve,
    )


def against_truth(weights: Tensor, graphs: PackedGraphs, budget: Budget) -> dict[str, float]:
    """Scores of weights against true explanations, and the pieces of the marked part.

    Without a truth only the pieces: connected components, mean over the graphs with edges.
    """
    index = torch.repeat_interleave(graphs.edge_ptr.diff())
    pieces = count_components(mark(weights, graphs, budget), graphs)[graphs.edge_ptr.diff() > 0]
    found = {"pieces": float(pieces.double().mean())}
    truth = graphs.edge_truth
    if truth is None or bool(truth.all()) or not bool(truth.any()):
        return found
    from sklearn.metrics import average_precision_score

    return found | {
        "roc_auc": explanation_auc(weights, truth),
        "roc_auc_per_graph": explanation_auc_per_graph(weights, truth, index),
        "average_precision": float(average_precision_score(truth.numpy(), weights.numpy())),
        "precision_at_5": precision_at_k(weights, truth, index),
    }
