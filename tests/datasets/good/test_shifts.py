"""The shifts of the GOOD benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from gsina.datasets.good.shifts import (
    ELSEWHERE,
    SHARES,
    assign_domains,
    check_shift,
    divide,
    split_by_agreement,
    split_by_domain,
)
from gsina.errors import InputError

LABEL = np.arange(30_000) % 3


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shift", "sizes"),
    [
        ("covariate", (18000, 3000, 3000, 3000, 3000)),
        ("concept", (12600, 2700, 2700, 6000, 6000)),
        ("none", (18000, 6000, 6000)),
    ],
)
def test_published_numbers_of_graphs(shift: str, sizes: tuple[int, ...]) -> None:
    parts = assign_domains(LABEL, shift, 3, rng())
    assert tuple(part.ids.size for part in parts.values()) == sizes
    every = np.concatenate([part.ids for part in parts.values()])
    assert np.array_equal(np.sort(every), np.arange(LABEL.size))


def test_a_covariate_shift_has_new_domains_that_say_nothing() -> None:
    parts = assign_domains(LABEL, "covariate", 3, rng())
    seen = {split: set(part.domain.tolist()) for split, part in parts.items()}
    training = {0, 1, 2}
    assert seen == {
        "train": training,
        "id_val": training,
        "id_test": training,
        "val": {3},
        "test": {4},
    }
    train = parts["train"]
    assert np.mean(train.domain == LABEL[train.ids]) == pytest.approx(1 / 3, abs=0.02)


def test_a_concept_shift_weakens_what_labels_prefer() -> None:
    concepts = (0.9, 0.6, 0.5)
    parts = assign_domains(LABEL, "concept", 3, rng(), concepts=concepts)
    for split, part in parts.items():
        agrees = part.domain == LABEL[part.ids]
        if split in ELSEWHERE:
            found, expected = [np.mean(agrees)], [ELSEWHERE[split]]
        else:
            found, expected = [np.mean(agrees[part.environment == k]) for k in range(3)], concepts
        chance = [share + (1 - share) / 3 for share in expected]
        assert found == pytest.approx(chance, abs=0.03)


def test_no_given_domain_is_on_two_sides() -> None:
    domain = np.repeat(np.arange(100), 10)
    parts = split_by_domain(rng().permutation(domain), rng())
    assert {split: ids.size for split, ids in parts.items()} == {
        "train": 600,
        "id_val": 100,
        "id_test": 100,
        "val": 100,
        "test": 100,
    }
    parts = split_by_domain(domain, rng())
    assert set(domain[parts["test"]]) == set(range(90, 100))
    assert not set(domain[parts["val"]]) & set(domain[parts["train"]])


def test_given_labels_agree_with_their_domains_in_training_only() -> None:
    agrees = rng().random(40_000) < 0.5
    parts, concept = split_by_agreement(agrees, np.random.default_rng(1))
    share = {split: np.mean(agrees[ids]) for split, ids in parts.items()}
    assert share["train"] > 0.8
    assert share["id_test"] == pytest.approx(share["train"], abs=0.02)
    assert share["test"] < share["val"] < 0.25
    assert set(concept[parts["train"]]) == {0, 1, 2}
    sizes = [parts[split].size / agrees.size for split in ("val", "test")]
    assert sizes == pytest.approx([0.242, 0.256], abs=0.02)  # GOOD-HIV with sizes


def test_rounding_goes_to_training() -> None:
    parts = divide(np.arange(101), SHARES["covariate"])
    assert [part.size for part in parts.values()] == [61, 10, 10, 10, 10]


def test_wrong_names_and_seeds() -> None:
    with pytest.raises(InputError, match="did you mean 'concept'"):
        check_shift("concpt", 0)
    with pytest.raises(InputError, match="seed must be 0 or larger"):
        check_shift("none", -1)
