"""Graphs, canonical SMILES and scaffolds of many molecules: the slow part of reading, cached."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gsina.files import cache_dir, load_prepared, save_tensors
from gsina.graphs.packed import PackedGraphs
from gsina.molecules.features import FEATURES_VERSION, parse, rdkit_chem
from gsina.molecules.packing import OnProgress, pack_smiles
from gsina.molecules.scaffolds import scaffold_of
from gsina.parallel import parallel_map

PIECE = 100
#: Atoms of the largest molecule whose scaffold is sought: the time grows with their cube.
LARGEST_SCAFFOLD = 500
EMPTY = "the cell of the SMILES is empty"
#: Goes into the names of cache files; raise it when what they hold changes.
CACHE_VERSION = 2


@dataclass(frozen=True)
class Prepared:
    """What is made of a column of SMILES; the slow part of reading, so it is cached.

    Attributes:
        graphs: The molecules that could be read, without labels.
        kept: Index of every molecule into the column, ascending.
        reasons: Why the others could not be read, by index into the column.
        canonical: Canonical SMILES of every molecule.
        scaffolds: Bemis-Murcko scaffold of every molecule; of one with more than
            :data:`LARGEST_SCAFFOLD` atoms the molecule itself.
    """

    graphs: PackedGraphs
    kept: list[int]
    reasons: dict[int, str]
    canonical: list[str]
    scaffolds: list[str]


def prepare(smiles: Sequence[str], progress: OnProgress | None) -> Prepared:
    """Graphs, canonical SMILES and scaffolds, from the cache if it has them.

    Args:
        smiles: The column, as it is in the file.
        progress: Called with the steps done and the total, two for each molecule.
    """
    rdkit_chem()  # Fail first if it is missing.
    from rdkit import rdBase

    smiles = [text.strip() for text in smiles]
    # As JSON, because a cell may have line breaks: "C\nC" is not two cells.
    key = hashlib.sha256(json.dumps(smiles).encode()).hexdigest()
    version = f"{CACHE_VERSION}.{FEATURES_VERSION}-rdkit{rdBase.rdkitVersion}"
    path = cache_dir() / f"own-molecules-{version}-{key}.safetensors"
    if path.exists():
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            return _load(path)
    found = _make(smiles, progress)
    with contextlib.suppress(OSError):  # A read-only cache costs only time.
        _save(path, found)
    return found


def _make(smiles: Sequence[str], progress: OnProgress | None) -> Prepared:
    count = 2 * len(smiles)  # Every molecule is visited twice.

    def first(done: int, _: int | None) -> None:
        if progress:
            progress(done, count)

    def second(done: int, _: int | None) -> None:
        if progress:
            progress(min(len(smiles) + done * PIECE, count), count)

    packed = pack_smiles(smiles, progress=first)
    kept = packed.kept.tolist()
    readable = [smiles[i] for i in kept]
    pieces = [readable[start : start + PIECE] for start in range(0, len(readable), PIECE)]
    described = [pair for part in parallel_map(_describe, pieces, progress=second) for pair in part]
    return Prepared(
        graphs=packed.graphs,
        kept=kept,
        reasons={row: reason if text else EMPTY for row, text, reason in packed.failures},
        canonical=[canonical for canonical, _ in described],
        scaffolds=[name for _, name in described],
    )


def _describe(smiles: list[str]) -> list[tuple[str, str]]:
    """Canonical SMILES and scaffold of each molecule, from one parse."""
    chem = rdkit_chem()
    from rdkit import rdBase

    described = []
    with rdBase.BlockLogs():
        for text in smiles:
            molecule = parse(text)
            canonical = str(chem.MolToSmiles(molecule))
            # A molecule that is too large, or whose scaffold has an odd valence, is one of its own.
            large = molecule.GetNumAtoms() > LARGEST_SCAFFOLD
            found = canonical if large else scaffold_of(molecule, otherwise=canonical)
            described.append((canonical, found))
    return described


def _save(path: Path, found: Prepared) -> None:
    # All features are small numbers; the text goes beside them, as headers have a limited size.
    small = {"x": torch.uint8, "edge_attr": torch.uint8, "edge_index": torch.int32}
    tensors = {
        name: value.to(small.get(name, value.dtype))
        for name, value in found.graphs.tensors().items()
    }
    text = vars(found) | {"reasons": list(found.reasons.items())}
    del text["graphs"]
    encoded = np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)
    save_tensors(path, tensors | {"text": torch.from_numpy(encoded.copy())})


def _load(path: Path) -> Prepared:
    tensors, _ = load_prepared(path)
    text = json.loads(tensors.pop("text").numpy().tobytes())
    text["reasons"] = dict(text["reasons"])
    graphs = PackedGraphs(**{name: value.long() for name, value in tensors.items()})
    return Prepared(graphs, **text)
