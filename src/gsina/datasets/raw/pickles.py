"""NumPy arrays out of pickle files, without running anything that a pickle could ask for.

A pickle is a small program that may call any function by name. Here the few names that NumPy
writes for an array, SciPy for a matrix of sparse rows and Python for a ``defaultdict`` are answered
with inert stand-ins, and every other name is refused. NumPy's own constructors are not called
either: their state setters trust their input.
"""

from __future__ import annotations

import math
import os
import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gsina.errors import InputError, reason_of

#: Plain numbers only: objects and records would need more than bytes.
_CODES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8", "b1"}


#: Values that a file may hold besides one per byte: shared lists in lists would double for ever.
MOST = 10_000


class _Type:
    """Stands for ``numpy.dtype``."""

    def __init__(self, code: object, align: object = False, copy: object = False) -> None:
        if code not in _CODES:
            raise pickle.UnpicklingError(f"it holds values of type {code!r}, not plain numbers")
        self.code = str(code)
        self.order = "="

    def __setstate__(self, state: Any) -> None:
        self.order = {"<": "<", ">": ">", "|": "|", "=": "="}[state[1]]

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.code)


class _Array:
    """Stands for an array under construction, in the form ``_reconstruct`` + state."""

    def __init__(self, *ignored: object) -> None:
        self.parts: tuple[Any, _Type, Any, bool] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, raw = state
        self.parts = (shape, kind, raw, bool(fortran))

    def array(self) -> NDArray[Any]:
        if self.parts is None:
            raise pickle.UnpicklingError("it holds an array without content")
        shape, kind, raw, fortran = self.parts
        if not isinstance(kind, _Type):
            raise pickle.UnpicklingError("it holds an array of unknown type")
        raw = raw.encode("latin1") if isinstance(raw, str) else raw  # From Python 2.
        dtype = kind.dtype()
        shape = tuple(int(size) for size in shape)
        if min(shape, default=0) < 0 or len(raw) != math.prod(shape) * dtype.itemsize:
            raise pickle.UnpicklingError(
                f"it holds an array of shape {shape} in {len(raw)} bytes, which do not fit"
            )
        return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")


class _Buffer(_Array):
    """Stands for an array in the form of pickle protocol 5."""

    def __init__(self, raw: Any, kind: _Type, shape: Any, order: str) -> None:
        self.parts = (shape, kind, raw, order == "F")


class _Rows:
    """Stands for a matrix of sparse rows under construction."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state

    def matrix(self) -> Any:
        from scipy.sparse import csr_array

        budget = _Unwrapped(MOST)
        data, indices, indptr = (
            budget.of(self.state[key]) for key in ("data", "indices", "indptr")
        )
        rows, columns = (int(size) for size in self.state["_shape"])
        matrix = csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)  # Indices outside the matrix would read elsewhere.
        return matrix


class _Dict(dict[Any, Any]):
    """Stands for ``collections.defaultdict``, without its factory."""

    def __init__(self, *ignored: object) -> None:
        super().__init__()


class _Latin1(bytes):
    """Stands for ``codecs.encode``, the way old protocols write bytes."""

    def __new__(cls, text: str, encoding: str) -> _Latin1:
        if encoding not in ("latin1", "latin-1"):
            raise pickle.UnpicklingError(f"it holds bytes in the encoding {encoding!r}")
        return super().__new__(cls, text.encode("latin1"))


class _Empty(bytes):
    """Stands for ``bytes()``, the way old protocols write no bytes."""

    def __new__(cls) -> _Empty:
        return super().__new__(cls)


class _Marker:
    """Stands for classes that are named but that nothing here needs."""


_KNOWN: dict[tuple[str, str], type] = {
    ("numpy", "dtype"): _Type,
    ("numpy", "ndarray"): _Marker,
    ("_codecs", "encode"): _Latin1,
    ("collections", "defaultdict"): _Dict,
    **{(f"scipy.sparse.{module}", "csr_matrix"): _Rows for module in ("csr", "_csr")},
    **{(builtins, "list"): _Marker for builtins in ("builtins", "__builtin__")},
    **{(builtins, "bytes"): _Empty for builtins in ("builtins", "__builtin__")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _Buffer for core in ("core", "_core")},
}


class _Reader(pickle._Unpickler):
    """Answers with fresh subclasses, so that what a file sets on a class ends with its reading.

    It is the one written in Python: that in C takes 32 GiB for a file of six bytes that notes a
    value under the number 2,147,483,647.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="latin1")
        self._known: dict[type, type] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            stand_in = _KNOWN[module, name]
            return self._known.setdefault(stand_in, type(stand_in.__name__, (stand_in,), {}))
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which no array of numbers needs"
            ) from None


def read_arrays(path: Path) -> Any:
    """Read a pickled array, or tuples, lists and dicts of arrays; nothing in it is executed.

    The arrays are read-only views of the bytes in the file; a matrix of sparse rows comes as a
    ``scipy.sparse.csr_array``.

    Raises:
        InputError: If the file holds anything else, or is truncated.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _Unwrapped(MOST + size).of(_Reader(file).load())
    except FileNotFoundError:
        raise
    except Exception as error:  # Broken pickles raise whatever their garbage leads to.
        raise InputError(
            f"{path} is not a complete pickle of plain NumPy arrays ({reason_of(error)}); it was "
            "not loaded: fetch it again from its official source."
        ) from error


class _Unwrapped:
    """Values in place of their stand-ins, as many as a budget allows."""

    def __init__(self, budget: int) -> None:
        self.budget = budget

    def of(self, value: Any) -> Any:
        """A value, those inside included."""
        self.budget -= 1
        if self.budget < 0:
            raise pickle.UnpicklingError("it holds more values than bytes")
        if isinstance(value, _Array):
            return value.array()
        if isinstance(value, _Rows):
            return value.matrix()
        if isinstance(value, tuple):
            return tuple(self.of(item) for item in value)
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, (str, bytes, int, float, bool)) or value is None:
            return value
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__}")
