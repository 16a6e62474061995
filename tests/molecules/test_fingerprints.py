"""Packed fingerprints are RDKit's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rdkit")
from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator

from gsina.molecules.fingerprints import packed_fingerprints


def test_bits_are_those_of_rdkit_and_unreadable_text_has_none():
    texts = ["CCO", " c1ccccc1O ", "not a molecule", ""]
    found = np.unpackbits(packed_fingerprints(texts).numpy(), axis=1)
    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    for row, text in zip(found, texts[:2], strict=False):
        expected = make.GetFingerprintAsNumPy(MolFromSmiles(text.strip()))
        assert np.array_equal(row, expected)
    assert found[2:].sum() == 0
