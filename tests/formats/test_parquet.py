"""Parquet files as tables of text."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from gsina.errors import InputError, MissingPackageError
from gsina.formats.parquet import parquet_records
from gsina.formats.table import header, read_columns


def test_values_become_cells(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {
        "smiles": ["CCO", "C"],
        "y": [0.5, float("nan")],
        "ok": [True, None],
        "n": [3, None],
        "day": [date(2024, 1, 31), None],
    }
    parquet.write_table(arrow.table(columns), path)
    assert header(path) == list(columns)
    rows = list(parquet_records(path)[1])
    assert rows[0] == (1, ["CCO", "0.5", "1", "3", "2024-01-31"], None)
    assert rows[1] == (2, ["C", "", "", "", ""], None)
    assert read_columns(path, ["y"]).cells == {"y": ["0.5", ""]}
    path.write_bytes(b"smiles\nCCO\n")
    with pytest.raises(InputError, match=r"a\.parquet is not a Parquet file"):
        header(path)


def test_without_pyarrow_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"")
    with pytest.raises(MissingPackageError, match=r"pip install gsina\[parquet\]\.$"):
        header(path)
