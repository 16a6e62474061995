from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from gsina.formats import table
from gsina.formats.table import fingerprint, lines, read_columns, table_rows, whole_text


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_rows_are_numbered_as_in_a_spreadsheet(tmp_path: Path) -> None:
    text = 'smiles,note\nCCO,"two\nlines, ""quoted"""\n\nCC,plain\n'
    rows = list(table_rows(write(tmp_path / "a.csv", text)))
    assert [(row.number, row.cells["smiles"]) for row in rows] == [(2, "CCO"), (4, "CC")]
    assert rows[0].cells["note"] == 'two\nlines, "quoted"'
    assert [row.problem for row in rows] == [None, None]


def test_ragged_rows_say_how(tmp_path: Path) -> None:
    rows = list(table_rows(write(tmp_path / "a.csv", "a,b\n1\n1,2\n1,2,3\n")))
    assert [row.problem for row in rows] == [
        "it has 1 cells, the header has 2",
        None,
        "it has 3 cells, the header has 2",
    ]
    assert rows[0].cells == {"a": "1", "b": ""}
    columns = read_columns(tmp_path / "a.csv", ["b", "b"])
    assert (columns.numbers, columns.cells) == ([3], {"b": ["2"]})
    assert [row for row, _ in columns.problems] == [2, 4]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_delimiters_bom_and_line_ends(tmp_path: Path, delimiter: str) -> None:
    text = f"\ufeffname{delimiter}value\r\nä{delimiter}1\r\n"
    path = write(tmp_path / "a.csv", text)
    assert [row.cells for row in table_rows(path)] == [{"name": "ä", "value": "1"}]


def test_one_column_has_empty_cells_for_blank_lines(tmp_path: Path) -> None:
    rows = list(table_rows(write(tmp_path / "a.csv", "smiles\nC\n\nCC\n")))
    assert [(row.number, row.cells["smiles"]) for row in rows] == [(2, "C"), (3, ""), (4, "CC")]


def test_gzip_is_read_and_a_broken_one_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 50_000, compresslevel=0)
    assert sum(1 for _ in table_rows(write(tmp_path / "a.csv.gz", packed))) == 50_000
    with pytest.raises(ValueError, match="not a whole gzip file"):
        list(table_rows(write(tmp_path / "b.csv.gz", packed[: len(packed) // 2])))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a header"),
        (b"\n\n", "is empty; expected a header"),
        (b"smiles,active\n", "has a header but no rows"),
        (b"a,a\n1,2\n", "two columns called 'a'"),
        ("smiles\nC\n".encode("utf-16"), "is UTF-16 text; save it as CSV UTF-8"),
        ("smiles\nC\n".encode("utf-16-le"), "zero bytes"),
        ("smiles,n\nC,1\nC,é\n".encode("latin-1"), r"line 3 of .* is not UTF-8 \(byte 0xe9"),
        (b'smiles,n\nC,1\n"C,1\nC,1\n', "row 3 of .* quotation mark left open"),
    ],
)
def test_bad_files_get_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_columns(write(tmp_path / "a.csv", content), ["smiles"])


def test_a_column_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "smiles,active\nC,1\n")
    with pytest.raises(ValueError, match=r"'SMILE'.*known: active, smiles") as error:
        read_columns(path, ["SMILE"])
    assert "column of a.csv" in str(error.value)


@pytest.mark.parametrize("first", ["source|target", "source target", "id:label"])
def test_a_delimiter_that_is_not_understood(tmp_path: Path, first: str) -> None:
    path = write(tmp_path / "a.csv", f"{first}\n1 2\n")
    with pytest.raises(ValueError, match=r"a\.csv: columns must be separated by commas") as error:
        read_columns(path, ["source", "target"])
    assert f"the first line is '{first}'" in str(error.value)


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        ("n1,n2", ["source", "target"]),
        ("CCO,1", ["smiles"]),
        ("a1,1,0,1", ["id", "label"]),  # two equal cells
    ],
)
def test_a_missing_header(tmp_path: Path, first: str, asked: list[str]) -> None:
    path = write(tmp_path / "a.csv", f"{first}\n")
    match = f"a.csv: the first line must name the columns, and it is '{first}'"
    with pytest.raises(ValueError, match=match):
        read_columns(path, asked)


def test_numbers_may_be_names_of_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,lable,0,1\na,b,1,2\n")
    with pytest.raises(ValueError, match="'label'; did you mean 'lable'"):
        read_columns(path, ["id", "label"])


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        list(table_rows(tmp_path / "none.csv"))
    with pytest.raises(ValueError, match="is a folder"):
        list(table_rows(tmp_path))


def test_a_huge_line_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b"smiles\nC\n")
        file.truncate(2 << 30)  # 2 GiB of zeros in one line, on most disks without their weight
    with pytest.raises(ValueError, match=r"line 3 of a.csv has more than 10,000,000 bytes"):
        list(table_rows(path))
    monkeypatch.setattr(table, "LONGEST_LINE", 10)
    with pytest.raises(ValueError, match=r"line 2 of b.csv has more than 10 bytes"):
        list(table_rows(write(tmp_path / "b.csv", "smiles\n" + "C" * 11 + "\n")))
    assert list(lines(write(tmp_path / "c.csv", "C" * 10), longest=10)) == ["C" * 10]


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    one, same, other = (
        write(tmp_path / name, text) for name, text in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


def test_a_carriage_return_within_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "mac.csv", "smiles,active\rCCO,1\rCC,0\r")
    with pytest.raises(ValueError, match=r"line 1 of mac\.csv has a carriage return in the middle"):
        list(table_rows(path))
    assert len(list(table_rows(write(tmp_path / "dos.csv", "smiles\r\nCCO\r\n")))) == 1


def test_many_columns_are_checked_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(100_000)) + "\n")
    began = time.perf_counter()
    assert len(table.header(path)) == 100_000
    assert time.perf_counter() - began < 10


def test_a_small_gzip_file_that_would_become_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(b" " * 1000 + b"[]"))
    assert whole_text(path, 1 << 30).strip() == "[]"
    path.write_bytes(gzip.compress((b" " * 1000 + b"\n") * 10_000))
    with pytest.raises(ValueError, match=r"a\.json has more than .* when it is read; write one"):
        whole_text(path, 1 << 30)


def test_a_gzip_file_of_nothing_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MOST_STREAMED", 1000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 100))
    assert len(list(lines(path))) == 100
    path.write_bytes(gzip.compress(b"\n" * 100_000))
    with pytest.raises(ValueError, match=r"a\.jsonl\.gz unpacks to more than 200 times its size"):
        list(lines(path))
    plain = tmp_path / "b.jsonl"
    plain.write_bytes(b"\n" * 100_000)
    assert len(list(lines(plain))) == 100_000
