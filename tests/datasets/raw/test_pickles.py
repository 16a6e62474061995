from __future__ import annotations

import contextlib
import pickle
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gsina.datasets.raw.pickles import read_arrays


def store(path: Path, value: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", ">f4", "?"])
def test_reads_what_numpy_pickles(tmp_path: Path, protocol: int, dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    found = read_arrays(store(tmp_path / "a.pkl", array, protocol))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


@pytest.mark.parametrize("protocol", [2, 5])
def test_column_order_and_empty(tmp_path: Path, protocol: int) -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(read_arrays(store(tmp_path / "a", array, protocol)), array)
    assert read_arrays(store(tmp_path / "b", np.zeros((0, 3)), protocol)).shape == (0, 3)


def test_from_python_2(tmp_path: Path) -> None:
    path = tmp_path / "old.pkl"
    path.write_bytes(
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(I2\ntcnumpy\ndtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntb"
        b"I00\nS'\\x07\\xff'\ntb."
    )
    assert read_arrays(path).tolist() == [7, 255]


def test_nested(tmp_path: Path) -> None:
    value = {"a": (np.ones(2), [np.zeros(1), 3]), "b": "text", "c": None}
    found = read_arrays(store(tmp_path / "a.pkl", value))
    assert found["a"][0].tolist() == [1, 1]
    assert found["a"][1][1] == 3
    assert found["b"] == "text"


class Runs:
    """Unpickled the usual way, this writes a file."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("nested", [False, True])
def test_nothing_is_executed(tmp_path: Path, nested: bool) -> None:
    import os

    mark = tmp_path / "mark"
    evil = Runs(os.mkdir, str(mark))
    path = store(tmp_path / "evil.pkl", [np.ones(2), evil] if nested else evil)
    with pytest.raises(ValueError, match=r"evil\.pkl is not a complete pickle.*mkdir"):
        read_arrays(path)
    assert not mark.exists()
    pickle.loads(path.read_bytes())  # The test is worth something: it would have run.
    assert mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nfromstring\n.",
        b"cbuiltins\nbytes\n(I99\ntR.",
        b"cnumpy\nndarray\n.",  # A class, not an array.
        b"cnumpy\nndarray\n)R.",  # An array without content.
        b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
        b"not a pickle",
        b"",
    ],
)
def test_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.pkl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.pkl is not a complete pickle"):
        read_arrays(path)


@pytest.mark.parametrize(
    "value", [np.array([{}, 1], dtype=object), np.zeros(2, "i4,f4"), np.array(["text"]), {1, 2}]
)
def test_only_plain_numbers(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ValueError, match=r"a\.pkl is not a complete pickle"):
        read_arrays(store(tmp_path / "a.pkl", value))


def test_truncated(tmp_path: Path) -> None:
    path = store(tmp_path / "a.pkl", np.ones(1000))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"a\.pkl"):
        read_arrays(path)


def test_shape_must_fit_the_bytes(tmp_path: Path) -> None:
    whole = pickle.dumps(np.ones((2, 3)), protocol=2)
    assert whole.count(b"K\x02K\x03\x86") == 1
    path = tmp_path / "a.pkl"
    path.write_bytes(whole.replace(b"K\x02K\x03\x86", b"K\x7fK\x7f\x86"))
    with pytest.raises(ValueError, match="do not fit"):
        read_arrays(path)


def test_missing_file_stays_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none.pkl")


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_sparse_rows(tmp_path: Path, protocol: int) -> None:
    dense = np.array([[0, 1, 0], [2, 0, 3]], dtype=np.float32)
    found = read_arrays(store(tmp_path / "a", csr_matrix(dense), protocol))
    np.testing.assert_array_equal(found.toarray(), dense)


def test_sparse_rows_must_stay_inside(tmp_path: Path) -> None:
    matrix = csr_matrix(np.eye(3, dtype=np.float32))
    matrix.indices[1] = 1000
    with pytest.raises(ValueError, match=r"a is not a complete pickle"):
        read_arrays(store(tmp_path / "a", matrix))


def test_lists_by_key(tmp_path: Path) -> None:
    graph = defaultdict(list, {0: [1, 2], 2: [0]})
    assert read_arrays(store(tmp_path / "a", graph, 2)) == {0: [1, 2], 2: [0]}


def test_nothing_that_a_file_says_outlives_its_reading(tmp_path: Path) -> None:
    """State for a class itself, not for an object of it, sets attributes of the class."""
    path = tmp_path / "a.pkl"
    path.write_bytes(
        b"\x80\x02ccollections\ndefaultdict\nN}X\x08\x00\x00\x00__init__K\x01s\x86b0K\x01."
    )
    assert read_arrays(path) == 1
    lists = defaultdict(list, {1: [2]})
    assert read_arrays(store(tmp_path / "b.pkl", lists)) == {1: [2]}


def test_lists_that_double_in_lists_are_refused(tmp_path: Path) -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    path = store(tmp_path / "a.pkl", value)
    assert path.stat().st_size < 1000
    with pytest.raises(ValueError, match="more values than bytes"):
        read_arrays(path)


def test_what_a_file_says_is_one_short_line(tmp_path: Path) -> None:
    name = b"x\n" + b"y" * 10_000
    asked = b"\x80\x04\x8c\x02osX" + len(name).to_bytes(4, "little") + name + b"\x93."
    (tmp_path / "a.pkl").write_bytes(asked)
    with pytest.raises(ValueError, match="is not a complete pickle") as caught:
        read_arrays(tmp_path / "a.pkl")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_large_number_of_a_note_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(b"Nr\xff\xff\x7f\x00.")  # 128 MiB in C, and 32 GiB with \x7f at the end
    tracemalloc.start()
    with contextlib.suppress(ValueError):
        read_arrays(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
