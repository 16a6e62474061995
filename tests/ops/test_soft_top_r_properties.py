"""What must hold for any scores: hypothesis looks for a counterexample."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gsina import soft_top_r

pytestmark = pytest.mark.usefixtures("with_and_without_kernels")

numbers = st.one_of(
    st.floats(-1e4, 1e4, width=32),
    st.floats(-3, 3, width=32),
    st.integers(-2, 2).map(float),  # ties
)
ratios = st.floats(0.001, 0.999)
temperatures = st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.0, 100.0])
MANY = settings(max_examples=150)


@st.composite
def groups(draw: st.DrawFn, most: int = 6) -> list[list[float]]:
    """Scores of a few groups, some of them empty."""
    return draw(st.lists(st.lists(numbers, max_size=12), min_size=1, max_size=most))


def pack(parts: list[list[float]], dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    scores = torch.tensor([score for part in parts for score in part], dtype=dtype)
    index = torch.tensor([g for g, part in enumerate(parts) for _ in part], dtype=torch.long)
    return scores, index


@MANY
@given(groups(), ratios, temperatures, st.booleans())
def test_weights_are_shares_with_the_right_mean(
    parts: list[list[float]], ratio: float, temperature: float, double: bool
) -> None:
    scores, index = pack(parts, torch.float64 if double else torch.float32)
    weights = soft_top_r(scores, ratio, index, temperature=temperature, num_groups=len(parts))
    assert bool(((weights >= 0) & (weights <= 1)).all())
    for group, part in enumerate(parts):
        if part:
            error = abs(float(weights[index == group].double().mean()) - ratio)
            assert error < (1e-12 if double else 1e-6)


@MANY
@given(groups(), ratios, temperatures, st.randoms(use_true_random=False))
def test_permuting_the_scores_permutes_the_weights(
    parts: list[list[float]], ratio: float, temperature: float, random: object
) -> None:
    scores, index = pack(parts)
    order = list(range(scores.numel()))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = soft_top_r(scores, ratio, index, temperature=temperature, num_groups=len(parts))
    mixed = soft_top_r(
        scores[order], ratio, index[order], temperature=temperature, num_groups=len(parts)
    )
    torch.testing.assert_close(mixed, plain[order], atol=1e-9, rtol=0)


@MANY
@given(groups(), ratios, temperatures, st.booleans())
def test_a_group_is_the_same_alone_and_in_any_batch(
    parts: list[list[float]], ratio: float, temperature: float, double: bool
) -> None:
    scores, index = pack(parts, torch.float64 if double else torch.float32)
    together = soft_top_r(scores, ratio, index, temperature=temperature, num_groups=len(parts))
    for group in range(len(parts)):
        own = index == group
        alone = soft_top_r(scores[own], ratio, temperature=temperature)
        torch.testing.assert_close(together[own], alone, atol=1e-11 if double else 1e-6, rtol=0)


@MANY
@given(st.lists(numbers, min_size=1, max_size=30), ratios, temperatures)
def test_a_higher_score_never_gets_a_lower_weight(
    values: list[float], ratio: float, temperature: float
) -> None:
    scores = torch.tensor(sorted(values), dtype=torch.float64)
    weights = soft_top_r(scores, ratio, temperature=temperature)
    # torch's sigmoid of equal numbers differs by the last bit at the end of a vector.
    assert bool((weights.diff() >= -torch.finfo(torch.float64).eps).all())


@MANY
@given(st.lists(numbers, min_size=2, max_size=30), ratios, temperatures, st.data())
def test_raising_a_score_raises_its_weight_and_lowers_the_others(
    values: list[float], ratio: float, temperature: float, data: st.DataObject
) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    chosen = data.draw(st.integers(0, len(values) - 1))
    raised = scores.clone()
    raised[chosen] += data.draw(st.floats(0, 10))
    change = soft_top_r(raised, ratio, temperature=temperature) - soft_top_r(
        scores, ratio, temperature=temperature
    )
    others = torch.arange(len(values)) != chosen
    assert float(change[chosen]) >= -1e-11
    assert bool((change[others] <= 1e-11).all())


@MANY
@given(
    st.lists(st.floats(-50, 50, width=16), min_size=1, max_size=30),
    ratios,
    temperatures,
    st.integers(-4096, 4096),
)
def test_adding_a_constant_changes_nothing(
    values: list[float], ratio: float, temperature: float, shift: int
) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    plain = soft_top_r(scores, ratio, temperature=temperature)
    moved = soft_top_r(scores + shift, ratio, temperature=temperature)
    # Rounding of the shifted scores over the temperature.
    rounding = 1e-15 * (50 + abs(shift)) / temperature
    torch.testing.assert_close(moved, plain, atol=1e-11 + rounding, rtol=0)


@MANY
@given(st.lists(numbers, min_size=1, max_size=30), ratios, temperatures)
def test_negated_scores_give_the_complement(
    values: list[float], ratio: float, temperature: float
) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    kept = soft_top_r(scores, ratio, temperature=temperature)
    dropped = soft_top_r(-scores, 1 - ratio, temperature=temperature)
    torch.testing.assert_close(kept + dropped, torch.ones_like(kept), atol=1e-10, rtol=0)


@MANY
@given(st.lists(numbers, min_size=1, max_size=30), ratios, ratios, temperatures)
def test_a_larger_ratio_lowers_no_weight(
    values: list[float], first: float, second: float, temperature: float
) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    less, more = sorted((first, second))
    change = soft_top_r(scores, more, temperature=temperature) - soft_top_r(
        scores, less, temperature=temperature
    )
    assert bool((change >= -1e-11).all())
