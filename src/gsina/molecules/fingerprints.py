"""Morgan fingerprints of molecules: which neighbourhoods of atoms occur in them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.molecules.features import REMEMBERED, parse_shared, rdkit_chem

if TYPE_CHECKING:
    from torch import Tensor

RADIUS, BITS = 2, 2048


def morgan(molecule: Any) -> NDArray[np.uint8]:
    """The fingerprint of an RDKit molecule ``[2048]``: 0 and 1, not how often.

    Rogers, Hahn, "Extended-connectivity fingerprints", 2010.
    """
    return (counts(molecule) > 0).astype(np.uint8)


@lru_cache(maxsize=REMEMBERED)
def counts(molecule: Any) -> NDArray[np.uint32]:
    """How often each neighbourhood occurs in an RDKit molecule ``[2048]``.

    Those of molecules of late are remembered: trees ask for them, and then the distance to training
    molecules. They must not be changed.
    """
    found: NDArray[np.uint32] = _generator().GetCountFingerprintAsNumPy(molecule)
    return found


def packed_fingerprints(smiles: Sequence[str]) -> Tensor:
    """One fingerprint per molecule ``[G, 256]``, uint8, eight bits to a byte.

    A text that RDKit does not read has no bits.
    """
    import torch  # not above: the command checks names of features without it

    rdkit_chem()  # its absence is not the fault of a text
    rows = np.zeros((len(smiles), BITS), dtype=np.uint8)
    for row, text in zip(rows, smiles, strict=True):
        with contextlib.suppress(InputError):
            row[:] = morgan(parse_shared(text.strip()))
    return torch.from_numpy(np.packbits(rows, axis=1))


@cache
def _generator() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
