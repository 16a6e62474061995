"""The shifts of the GOOD benchmark: covariate, concept, or none.

Gui, Li, Wang, Ji, "GOOD: A Graph Out-of-Distribution Benchmark", NeurIPS 2022, Datasets and
Benchmarks. A *domain* (base, size, colour, scaffold, language) has nothing to do with the label:

* covariate: training has some domains, validation another, test yet another;
* concept: in training every label has a domain of its own, in a few *concepts* of similar strength;
  in validation that is weak, and in test domains are drawn without a look at the label;
* none: all alike.

There are two further splits that are distributed like ``train``: ``id_val`` and ``id_test``. An
epoch is selected on ``val``, which is out of distribution, as the benchmark does by default.

Everything here is written from the paper's description, its numbers of graphs and the constants of
its generators (docs/good.md says which). How real data are drawn into concepts is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, check_name

Ints = NDArray[np.int64]
Shift = Literal["covariate", "concept", "none"]

#: Shares of the splits, which give the published numbers of graphs.
SHARES: dict[str, dict[str, float]] = {
    "covariate": {"train": 0.6, "id_val": 0.1, "id_test": 0.1, "val": 0.1, "test": 0.1},
    "concept": {"train": 0.42, "id_val": 0.09, "id_test": 0.09, "val": 0.2, "test": 0.2},
    "none": {"train": 0.6, "val": 0.2, "test": 0.2},
}
#: Share of the samples of each concept that have the domain of their own label; others have any. Of
#: the concepts of training, where domains are colours, and of those elsewhere.
COLOUR_CONCEPTS = (0.95, 0.9, 0.85, 0.8, 0.75)
ELSEWHERE = {"val": 0.3, "test": 0.0}
#: Labels that cannot be drawn: how strongly each concept, training's first, likes a sample whose
#: label and domain agree; it likes others with what is missing to 1.
ATTRACTION = (0.95, 0.9, 0.85, 0.3, 0.1)
#: Red, green and blue of every colour; the first five are for training, if colours are domains.
COLOURS = (
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
    (1.0, 1.0, 0.0),
    (1.0, 0.0, 1.0),
    (0.0, 1.0, 1.0),
    (1.0, 1.0, 1.0),
    (1.0, 0.5, 0.0),
    (0.5, 0.0, 1.0),
    (0.0, 0.5, 0.5),
)
TRAINING_COLOURS = 5


class Part(NamedTuple):
    """The samples of a split: their numbers, domains and environments, each ``[S]``."""

    ids: Ints
    domain: Ints
    environment: Ints


def check_shift(shift: str, seed: int) -> None:
    """Raise unless this is a shift, and a seed."""
    check_name(shift, SHARES, "shift")
    if seed < 0:
        raise InputError(f"seed must be 0 or larger, got {seed}.")


def divide(ids: Ints, shares: Mapping[str, float]) -> dict[str, Ints]:
    """Parts of a list, by their shares of it; what rounding leaves is the first's."""
    sizes = [int(share * len(ids) + 1e-6) for share in shares.values()]
    sizes[0] += len(ids) - sum(sizes)
    return dict(zip(shares, np.split(ids, np.cumsum(sizes)[:-1]), strict=True))


def assign_domains(
    label: Ints,
    shift: str,
    training: int,
    rng: np.random.Generator,
    shares: Mapping[str, float] | None = None,
    concepts: tuple[float, ...] = COLOUR_CONCEPTS,
) -> dict[str, Part]:
    """Divide samples at random and draw the domain of each.

    Args:
        label: Class of every sample ``[S]``, from 0.
        shift: ``covariate``: domains 0 to ``training`` - 1 in training, the next in validation,
            and one more in test; ``concept``: as many domains as classes; ``none``: all of the
            domains of ``covariate``, everywhere.
        training: Number of domains in training.
        rng: Source of all chance.
        shares: Shares of the splits in place of the benchmark's.
        concepts: Chance of each concept of training that a sample has its label's domain.

    Returns:
        The splits by name. The environment is the domain or, of a concept, its number.
    """
    parts = divide(rng.permutation(label.size), shares or SHARES[shift])
    classes = int(label.max()) + 1
    found = {}
    new = {"val": training, "test": training + 1} if shift == "covariate" else {}
    every = training if shift == "covariate" else training + 2
    for split, ids in parts.items():
        if shift == "concept":
            domain, environment = _concept(label[ids], split, classes, concepts, rng)
        elif split in new:
            domain = environment = np.full(ids.size, new[split])
        else:
            domain = environment = rng.integers(every, size=ids.size)
        found[split] = Part(ids, domain, environment)
    return found


def _concept(
    label: Ints, split: str, classes: int, concepts: tuple[float, ...], rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Domain and concept of every sample of a split."""
    if split in ELSEWHERE:
        chance = np.full(label.size, ELSEWHERE[split])
        concept = np.full(label.size, len(concepts) + list(ELSEWHERE).index(split))
    else:
        concept = rng.integers(len(concepts), size=label.size)
        chance = np.asarray(concepts)[concept]
    own = rng.random(label.size) < chance
    return np.where(own, label, rng.integers(classes, size=label.size)), concept


def split_by_domain(domain: Ints, rng: np.random.Generator) -> dict[str, Ints]:
    """Numbers of the samples of a covariate shift of real data, whose domains are given.

    The first domains are for training until they have 80 % of the samples, the next for validation
    until it is 90 %, the others for test: no domain is on two sides. Of the samples for training
    ``id_val`` and ``id_test`` get a tenth of all each.

    Args:
        domain: Place of every sample's domain in the order of domains ``[S]``.
        rng: Draws the two.
    """
    counts = np.bincount(domain).cumsum()
    first, second = (int(np.searchsorted(counts, share * domain.size)) for share in (0.8, 0.9))
    pool = rng.permutation(np.flatnonzero(domain <= first))
    return hold_out(pool, domain.size) | {
        "val": np.flatnonzero((domain > first) & (domain <= second)),
        "test": np.flatnonzero(domain > second),
    }


def hold_out(pool: Ints, count: int) -> dict[str, Ints]:
    """``train`` and, a tenth of all ``count`` samples each, ``id_val`` and ``id_test``."""
    tenth = count // 10
    val, test, train = np.split(pool, [tenth, 2 * tenth])
    return {"train": np.sort(train), "id_val": np.sort(val), "id_test": np.sort(test)}


def split_by_agreement(
    agrees: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[dict[str, Ints], Ints]:
    """A concept shift of real data, whose labels and domains are given.

    Every sample goes to one of five concepts, by how much that likes samples of its kind
    (:data:`ATTRACTION`): three for training, one for validation, one for test. In training, label
    and domain agree far more often than elsewhere.

    Args:
        agrees: Whether label and domain go together, as they mostly do in training ``[S]``.
        rng: Source of all chance.

    Returns:
        Numbers of the samples of every split, and the concept of every sample ``[S]``.
    """
    liked = np.asarray(ATTRACTION)
    chances = np.stack([1 - liked, liked])
    edges = np.cumsum(chances / chances.sum(1, keepdims=True), axis=1)
    draw = rng.random(agrees.size)
    concept = np.minimum((draw[:, None] >= edges[agrees.astype(int)]).sum(1), len(liked) - 1)
    pool = rng.permutation(np.flatnonzero(concept < len(liked) - len(ELSEWHERE)))
    # Of the pool, as the published numbers have it, 15 % each.
    parts = divide(pool, {"train": 0.7, "id_val": 0.15, "id_test": 0.15})
    for at, split in enumerate(ELSEWHERE, start=len(liked) - len(ELSEWHERE)):
        parts[split] = np.flatnonzero(concept == at)
    return {split: np.sort(ids) for split, ids in parts.items()}, concept
