"""The measurement of coverage: resumable, honest about what is missing, and its page."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from gsina.errors import InputError, MissingFileError
from gsina.paper.report.coverage import PAGE, coverage_page
from gsina.paper.studies import coverage
from gsina.paper.studies.coverage import measure, read_coverage, save_coverage

pytest.importorskip("rdkit")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data folder with a small BACE, and few epochs."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(coverage, "EPOCHS", 1)
    folder = tmp_path / "data" / "ogb" / "ogbg_molbace" / "mapping"
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    parts = ("C", "N", "O", "c1ccccc1", "C1CCCCC1", "c1ccncc1", "C(=O)")
    rows = ["Class,smiles"]
    for _ in range(300):
        chosen = [parts[one] for one in draw.integers(len(parts), size=int(draw.integers(2, 7)))]
        rows.append(f"{int('N' in chosen or draw.random() < 0.2)},C{''.join(chosen)}")
    with gzip.open(folder / "mol.csv.gz", "wt") as file:
        file.write("\n".join(rows) + "\n")
    return tmp_path


def test_rows_are_measured_once_and_the_page_shows_them(small: Path) -> None:
    told: list[str] = []
    first = measure((0,), small, only=["bace"], tell=told.append)
    assert [(row["split"], row["seed"]) for row in first["rows"]] == [
        ("random", 0),
        ("scaffold", 0),
        ("size", 0),
    ]
    assert len(told) == 3
    for row in first["rows"]:
        assert row["plain"]["wanted"] == 0.9
        assert 20 < row["plain"]["labels"] < 60
        assert 0.5 < row["plain"]["found"] <= 1
        assert 1 <= row["plain"]["size"] <= 2
        assert row["recipe"]["data"]["files"] == ["mol.csv.gz"]
        assert str(small) not in json.dumps(row)
    kept = read_coverage(small)
    assert kept == json.loads(json.dumps(first))
    assert measure((0,), small, only=["bace"], tell=told.append) == kept
    assert len(told) == 3  # nothing was trained again
    old = read_coverage(small)
    old["rows"][1]["recipe"]["optimiser"]["epochs"] = 99
    save_coverage(small, old)
    assert len(measure((0,), small, only=["bace"], tell=told.append)["rows"]) == 3
    assert len(told) == 4
    page = coverage_page(first)
    assert page.count("| BACE |") == 3
    mean = 100 * first["rows"][0]["plain"]["found"]
    assert f"* **random** test: {mean:.1f} % in the mean of 1 sets of data" in page


def test_what_is_missing_is_told(small: Path) -> None:
    told: list[str] = []
    with pytest.raises(InputError, match="there is no set 'molbace'; known: bace"):
        measure((0,), small, only=["molbace"])
    with pytest.raises(MissingFileError, match="gsina bench coverage"):
        read_coverage(small)
    with pytest.raises(MissingFileError, match="no data of the coverage measurement"):
        measure((0,), small, only=["nci1"], tell=told.append)
    assert told == ["left out, no data of NCI1."]


@pytest.mark.skipif(not (ROOT / "docs" / PAGE).exists(), reason="not measured yet")
def test_the_page_is_that_of_the_results() -> None:
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert page == coverage_page(read_coverage(ROOT / "results"))
