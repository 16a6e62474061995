"""Morgan fingerprints of molecules, packed: which neighbourhoods of atoms occur in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gsina.molecules.features import rdkit_chem

RADIUS, BITS = 2, 2048


def packed_fingerprints(smiles: Sequence[str]) -> Tensor:
    """One fingerprint per molecule ``[G, 256]``, uint8, eight bits to a byte.

    A text that RDKit does not read has no bits.
    """
    chem = rdkit_chem()
    from rdkit import rdBase
    from rdkit.Chem import rdFingerprintGenerator

    make = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    rows = np.zeros((len(smiles), BITS), dtype=np.uint8)
    with rdBase.BlockLogs():
        for row, text in zip(rows, smiles, strict=True):
            molecule = chem.MolFromSmiles(text.strip())
            if molecule is not None:
                row[:] = make.GetFingerprintAsNumPy(molecule)
    return torch.from_numpy(np.packbits(rows, axis=1))
