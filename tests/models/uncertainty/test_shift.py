"""Density ratios, and weighted conformal prediction under a shift that is known."""

from __future__ import annotations

import pytest
import torch

from gsina.errors import InputError
from gsina.models.uncertainty.conformal import bound
from gsina.models.uncertainty.shift import LARGEST, Sample, find_shift


def test_the_ratio_of_two_normal_distributions_is_found():
    torch.manual_seed(0)
    old, new = torch.randn(4000, 2), torch.randn(4000, 2) + torch.tensor([0.8, 0.0])
    shift = find_shift(old, new)
    where = torch.tensor([[-1.0, 0.3], [0.0, -1.0], [1.5, 0.0]])
    expected = (0.8 * where[:, 0] - 0.32).exp().double()
    torch.testing.assert_close(shift.weights(where), expected, rtol=0.15, atol=0.0)
    assert torch.equal(shift.weights(where[1:2]), shift.weights(where)[1:2])


def test_samples_that_are_alike_have_nearly_even_weights():
    torch.manual_seed(0)
    weights = find_shift(torch.randn(200, 30), torch.randn(200, 30)).weights(torch.randn(500, 30))
    assert 0.5 < float(weights.min()) <= float(weights.max()) < 2


def test_weights_are_bounded_where_samples_are_apart():
    old = torch.randn(50, 2)
    weights = find_shift(old, old + 50).weights(torch.cat([old, old + 50]))
    assert 1 / LARGEST - 1e-9 <= float(weights.min()) <= float(weights.max()) <= LARGEST + 1e-9


def test_weights_mend_the_coverage_under_a_covariate_shift():
    """Errors grow with x, and new rows have larger x: plain bounds are too small."""
    torch.manual_seed(0)
    wanted, plain, mended = 0.9, [], []
    for _ in range(12):
        old, new = torch.randn(1500, 1), torch.randn(1500, 1) + 1.2
        old_scores, new_scores = ((torch.randn(len(x)) * x[:, 0].exp()).abs() for x in (old, new))
        shift = find_shift(old, new)
        limits = bound(old_scores, wanted, shift.weights(old), shift.weights(new))
        plain.append(float((new_scores <= bound(old_scores, wanted)).double().mean()))
        mended.append(float((new_scores <= limits).double().mean()))
    assert sum(plain) / len(plain) < wanted - 0.15
    assert sum(mended) / len(mended) > wanted - 0.03


def test_too_few_rows_get_one_sentence():
    with pytest.raises(InputError, match="at least 20 validation rows and as many new ones, got 5"):
        find_shift(torch.randn(5, 2), torch.randn(50, 2))


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_the_sample_of_a_stream_does_not_depend_on_its_chunks(chunk):
    rows = torch.arange(1000.0).view(-1, 1)
    sample = Sample(100)
    for piece in torch.split(rows, chunk):
        sample.add(piece)
        assert len(sample.rows()) <= 200
    assert sample.rows().flatten().tolist() == [float(row) for row in range(0, 1000, 8)]
