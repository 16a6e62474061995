"""Distances to training data and their percentiles."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from gsina.models.uncertainty.domain import bit_distances, distances, percentiles
from gsina.molecules.fingerprints import packed_fingerprints


def test_distances_are_those_of_the_nearest_in_standard_units():
    torch.manual_seed(0)
    train, states = torch.randn(300, 4) * torch.tensor([1, 10, 0.1, 0.0]), torch.randn(600, 4)
    scale = train.std(0, correction=0).where(train.std(0) > 0, torch.ones(4))
    search = NearestNeighbors(n_neighbors=5).fit(((train - train.mean(0)) / scale).numpy())
    expected = search.kneighbors(((states - train.mean(0)) / scale).numpy())[0].mean(1)
    np.testing.assert_allclose(distances(states, train), expected, rtol=1e-4)
    assert torch.equal(distances(states[:7], train), distances(states, train)[:7])
    assert distances(states[:3], train[:2]).shape == (3,)


def test_percentiles_are_even_for_rows_of_the_same_kind_and_high_for_others():
    torch.manual_seed(0)
    train, val, new = (torch.randn(1000, 3) for _ in range(3))
    reference = distances(val, train)
    found = percentiles(distances(new, train), reference)
    assert float(found.mean()) == pytest.approx(50, abs=4)
    assert 0 <= float(found.min()) <= float(found.max()) <= 100
    assert float(percentiles(distances(new + 9, train), reference).min()) == 100
    # A row of the reference itself is nearer than itself by no rounding.
    again = percentiles(reference * (1 + 1e-6), reference)
    assert torch.equal(again, percentiles(reference, reference))


def test_tanimoto_distances_are_those_of_rdkit():
    pytest.importorskip("rdkit")
    from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    train, new = ["CCO", "c1ccccc1O", "CC(=O)O"], ["CCN", "c1ccccc1", "CC(=O)O", "no molecule"]
    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
    known = [make(MolFromSmiles(text)) for text in train]
    expected = [
        1 - max(TanimotoSimilarity(make(MolFromSmiles(text)), one) for one in known)
        for text in new[:3]
    ]
    found = bit_distances(packed_fingerprints(new), packed_fingerprints(train))
    assert found.tolist() == pytest.approx([*expected, 1.0])
