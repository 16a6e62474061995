"""Features of whole molecules that chemists know: fingerprints and RDKit's descriptors.

* ``quick``: descriptors that take RDKit a tenth of a millisecond, see
  :mod:`gsina.molecules.quick`.
* ``counts``: how often each neighbourhood of atoms up to radius 2 occurs, in 2,048 bins.
* ``morgan``: the Morgan fingerprint of radius 2 in 2,048 bits, see
  :mod:`gsina.molecules.fingerprints`.
* ``rdkit``: all 2D descriptors of RDKit, such as the molecular weight, the polar surface and the
  counts of functional groups (217 in RDKit 2025); all of a molecule of more than 200 atoms are NaN,
  as the time grows with their cube.

Numbers that are not finite are NaN.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, check_name
from gsina.files import cache_dir, load_prepared, save_tensors
from gsina.molecules.features import parse_shared, rdkit_chem
from gsina.molecules.fingerprints import BITS, counts, morgan
from gsina.molecules.quick import quick_names, quick_values
from gsina.parallel import parallel_map

#: What a model of molecules uses unasked, and the word for nothing.
USUAL, NONE = ("quick", "counts"), "none"
#: Atoms of the largest molecule that RDKit describes.
LARGEST = 200
#: Molecules of one piece of work.
PIECE = 100
#: Goes into the names of cache files; raise it when a value changes.
CACHE_VERSION = 1

Values = NDArray[np.float32]


def describe(
    molecules: Sequence[Any], kinds: Sequence[str], wanted: Collection[str] | None = None
) -> tuple[Values, tuple[str, ...]]:
    """Features of whole molecules ``[M, F]``, NaN where there is no finite number, and their names.

    Args:
        molecules: RDKit molecules.
        kinds: Of those above; the features are in this order.
        wanted: Names of the descriptors that are computed, as each takes its time; the others are
            NaN. By default all.

    Raises:
        InputError: A kind is not known.
    """
    check_kinds(kinds)
    rdkit_chem()  # Fail first if it is missing.
    from rdkit import rdBase

    names = tuple(name for kind in kinds for name in KINDS[kind].names())
    values = np.empty((len(molecules), len(names)), np.float32)
    with rdBase.BlockLogs(), np.errstate(all="ignore"):
        for row, molecule in enumerate(molecules):
            values[row] = np.concatenate([KINDS[kind].values(molecule, wanted) for kind in kinds])
    values[~np.isfinite(values)] = np.nan
    return values, names


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse a kind that is not known, or given twice."""
    for kind in kinds:
        check_name(kind, (*KINDS, NONE), "kind of molecule features")
        if kind == NONE:
            raise InputError(
                f"the molecule features {NONE!r} stand alone (--features {NONE}, in Python "
                "features=None); leave the others out, or name these only."
            )
        if list(kinds).count(kind) > 1:
            raise InputError(f"the molecule features {kind!r} are asked for twice; name them once.")


def describe_smiles(
    smiles: Sequence[str],
    kinds: Sequence[str],
    progress: Callable[[int, int | None], None] | None = None,
    *,
    cached: bool = False,
    wanted: Collection[str] | None = None,
) -> tuple[Values, tuple[str, ...]]:
    """The same of readable SMILES, on several processes.

    Args:
        smiles: Strings that RDKit can read.
        kinds: As for :func:`describe`.
        progress: Called with the molecules done and the total, for each kind.
        cached: Whether to keep what is slow to compute in the cache folder, and take it from there;
            then all are computed.
        wanted: As for :func:`describe`.
    """
    _, names = describe([], kinds)
    parts = [np.zeros((len(smiles), 0), np.float32)]
    for kind in kinds:
        if cached and KINDS[kind].slow:
            parts.append(_from_cache(smiles, kind, progress))
        else:
            parts.append(_describe_all(smiles, kind, progress, wanted))
    return np.concatenate(parts, axis=1), names


def _from_cache(
    smiles: Sequence[str], kind: str, progress: Callable[[int, int | None], None] | None
) -> Values:
    import torch
    from rdkit import rdBase

    key = hashlib.sha256(json.dumps(list(smiles)).encode()).hexdigest()
    version = f"{kind}{CACHE_VERSION}-rdkit{rdBase.rdkitVersion}"
    path = cache_dir() / f"own-descriptors-{version}-{key}.safetensors"
    if path.exists():
        with contextlib.suppress(ValueError, KeyError, OSError):
            return np.asarray(load_prepared(path)[0]["values"].numpy())
    values = _describe_all(smiles, kind, progress)
    with contextlib.suppress(OSError):  # A read-only cache costs only time.
        save_tensors(path, {"values": torch.from_numpy(values)})
    return values


def _describe_all(
    smiles: Sequence[str],
    kind: str,
    progress: Callable[[int, int | None], None] | None,
    wanted: Collection[str] | None = None,
) -> Values:
    def done(pieces: int, _: int | None) -> None:
        if progress:
            progress(min(pieces * PIECE, len(smiles)), len(smiles))

    pieces = [list(smiles[start : start + PIECE]) for start in range(0, len(smiles), PIECE)]
    none = np.zeros((0, len(KINDS[kind].names())), np.float32)
    work = partial(_describe_piece, kind, None if wanted is None else frozenset(wanted))
    return np.concatenate([none, *parallel_map(work, pieces, progress=done)])


def varying(values: Values, names: Sequence[str]) -> list[str]:
    """Names of the features ``[M, F]`` that differ between molecules: the others teach nothing.

    Raises:
        InputError: None differs.
    """
    low = np.nanmin(values, axis=0, initial=np.inf)
    high = np.nanmax(values, axis=0, initial=-np.inf)
    found = [name for name, varies in zip(names, low < high, strict=True) if varies]
    if not found:
        raise InputError(
            f"the features of whole molecules are the same for all {len(values)} training "
            "molecules; leave them out (--features, in Python features=)."
        )
    return found


def choose(values: Values, names: Sequence[str], wanted: Sequence[str]) -> Values:
    """The columns of a model: those called ``wanted`` ``[M, len(wanted)]``.

    Raises:
        InputError: This version of RDKit does not know one of them.
    """
    place = {name: index for index, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            from rdkit import rdBase

            raise InputError(
                f"the model was trained with the descriptor {name!r}, which RDKit "
                f"{rdBase.rdkitVersion} does not have; install the RDKit that the model names in "
                "its versions, or train it again."
            )
    return np.ascontiguousarray(values[:, [place[name] for name in wanted]])


def _describe_piece(kind: str, wanted: Collection[str] | None, smiles: list[str]) -> Values:
    return describe([parse_shared(text) for text in smiles], [kind], wanted)[0]


@cache
def _rdkit_functions() -> list[tuple[str, Callable[[Any], float]]]:
    from rdkit.Chem import Descriptors

    # The four of electrotopological states share what RDKit keeps with a molecule; it would
    # compute that anew for each.
    return [
        (name, partial(function, force=False) if name.endswith("EStateIndex") else function)
        for name, function in Descriptors.descList
    ]


def _rdkit_values(molecule: Any, wanted: Collection[str] | None) -> list[float]:
    functions = _rdkit_functions()
    if molecule.GetNumAtoms() > LARGEST:
        return [float("nan")] * len(functions)
    return [
        _number(function, molecule) if wanted is None or name in wanted else float("nan")
        for name, function in functions
    ]


def _number(function: Callable[[Any], float], molecule: Any) -> float:
    try:
        return float(function(molecule))
    except (ValueError, ArithmeticError, RuntimeError):  # not every molecule has every descriptor
        return float("nan")


class _Kind(NamedTuple):
    """One kind of features: their names, the values of a molecule, and whether they take long.

    Of those that take long, only the wanted ones need values; ``None`` wants all.
    """

    names: Callable[[], list[str]]
    values: Callable[[Any, Collection[str] | None], Any]
    slow: bool


def is_count(name: str) -> bool:
    """Whether a feature is one of ``counts``, perhaps of one of several molecules."""
    return name.rpartition(": ")[2].startswith("counts ")


KINDS = {
    "quick": _Kind(quick_names, lambda molecule, _: quick_values(molecule), slow=False),
    "counts": _Kind(
        lambda: [f"counts {number}" for number in range(BITS)],
        lambda molecule, _: counts(molecule),
        slow=False,
    ),
    "morgan": _Kind(
        lambda: [f"morgan {bit}" for bit in range(BITS)],
        lambda molecule, _: morgan(molecule),
        slow=False,
    ),
    "rdkit": _Kind(lambda: [name for name, _ in _rdkit_functions()], _rdkit_values, slow=True),
}
