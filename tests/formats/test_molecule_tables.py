from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from gsina import files
from gsina.formats import read_molecules, stream_molecules
from gsina.formats.molecule_tables import read_again
from gsina.formats.table import read_columns
from gsina.graphs.task import Task
from gsina.molecules import prepare
from gsina.molecules.features import ATOM_FEATURE_SIZES, FEATURES_VERSION, featurise
from gsina.molecules.scaffolds import scaffold_split

pytest.importorskip("rdkit")

SMILES = ["CCO", "c1ccccc1", "CCN", "CCC", "Cc1ccccc1", "C1CC1", "CCCC", "C1CCCC1", "CO", "CN"]


def table(path: Path, rows: list[str], header: str = "smiles,active") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows = [f"{smiles},{i % 2},{2000 + i}" for i, smiles in enumerate(SMILES)]
    return table(tmp_path / "small.csv", rows, "smiles,active,year")


@pytest.mark.parametrize("split", ["scaffold", "random", "size", "time"])
def test_ten_rows_are_enough(small: Path, split: str) -> None:
    column = "year" if split == "time" else None
    own = read_molecules(
        small, smiles="smiles", targets=["active"], split=split, split_column=column
    )
    assert own.task == Task("binary", 1, "roc_auc")
    assert own.class_names == ("0", "1")
    assert own.node_sizes == ATOM_FEATURE_SIZES
    assert {"train", "val", "test"} <= set(own.splits)
    assert sorted(row for rows in own.origin.rows.values() for row in rows) == list(range(2, 12))
    for part, graphs in own.splits.items():
        assert len(graphs) == len(own.origin.names[part]) == len(own.origin.rows[part])
        for place, (name, row) in enumerate(
            zip(own.origin.names[part], own.origin.rows[part], strict=True)
        ):
            batch = graphs.batch([place])
            assert name == SMILES[row - 2]
            assert np.array_equal(batch.x.numpy(), featurise(name).x)
            assert batch.labels.item() == row % 2
    assert json.loads(json.dumps(own.origin.reading)) == own.origin.reading
    assert own.origin.reading["kind"] == "molecules"
    assert own.origin.reading["version"] == FEATURES_VERSION
    assert own.origin.split["rule"] == split


def test_bad_rows_are_counted_and_kept_out(tmp_path: Path) -> None:
    rows = [f"{s},{i % 2}" for i, s in enumerate(SMILES)]
    rows[3:3] = ["CN(C)(C)C,1", ",0", "not a molecule,1", "C"]
    own = read_molecules(
        table(tmp_path / "a.csv", rows), smiles="smiles", targets="active", split="random"
    )
    assert [row for row, _ in own.origin.unreadable] == [5, 6, 7, 8]
    reasons = dict(own.origin.unreadable)
    assert "valence" in reasons[5]
    assert "empty" in reasons[6]
    assert "1 cells" in reasons[8]
    assert own.notes[0].startswith("4 rows could not be read and are left out: 5, 6, 7, 8; row 5")
    assert sum(map(len, own.origin.rows.values())) == 10


def test_text_numbers_and_many_targets(tmp_path: Path) -> None:
    rows = [f"{s},{('no', 'yes')[i % 2]},{i / 3},{i % 3}" for i, s in enumerate(SMILES)]
    path = table(tmp_path / "a.csv", rows, "smiles,word,value,class")

    def read(*targets: str, **options: str):  # type: ignore[no-untyped-def]
        return read_molecules(path, smiles="smiles", targets=targets, split="random", **options)

    assert read("word").class_names == ("no", "yes")
    assert read("value").task == Task("regression", 1, "rmse")
    assert read("class").task == Task("multiclass", 3, "accuracy")
    assert read("value", "class").task == Task("regression", 2, "scaled_rmse")
    with pytest.raises(ValueError, match="row 2: target 'word' is 'no'; expected a number"):
        read("word", kind="regression")


def test_a_column_of_groups_and_ones_own_split(tmp_path: Path) -> None:
    sides = ["train"] * 6 + ["val"] * 2 + ["test"] * 2
    rows = [f"{s},{i % 2},{'AAAAAABBCC'[i]},{sides[i]},x" for i, s in enumerate(SMILES)]
    path = table(tmp_path / "a.csv", rows, "smiles,active,lab,fold,one")

    def read(split: str, column: str):  # type: ignore[no-untyped-def]
        return read_molecules(
            path, smiles="smiles", targets=["active"], split=split, split_column=column
        )

    assert read("own", "fold").origin.rows == {
        "train": (2, 3, 4, 5, 6, 7),
        "val": (8, 9),
        "test": (10, 11),
    }
    by_lab = read("column", "lab")
    assert by_lab.origin.rows["test"] == (8, 9)
    assert by_lab.origin.rows["val"] == (10, 11)
    assert len(by_lab.origin.rows["id_test"]) == 2
    for part, rows in by_lab.origin.rows.items():
        labs = ["AAAAAABBCC"[row - 2] for row in rows]
        environment = by_lab.splits[part].environment
        assert environment is not None
        assert environment.tolist() == ["ABC".index(lab) for lab in labs]
    assert read("own", "fold").train.environment is None
    with pytest.raises(ValueError, match="column 'one' has one value only, 'x'"):
        read("column", "one")
    with pytest.raises(ValueError, match=r"row 2 of a\.csv: column 'lab' is 'A'; expected train"):
        read("own", "lab")


def test_duplicates_across_splits_are_counted(tmp_path: Path) -> None:
    sides = ["train"] * 8 + ["val"] * 2 + ["test"] * 2
    smiles = [*SMILES, "OCC", "C(C)C"]  # ethanol and propane again, written otherwise
    rows = [f"{s},{i % 2},{sides[i]}" for i, s in enumerate(smiles)]
    own = read_molecules(
        table(tmp_path / "a.csv", rows, "smiles,active,fold"),
        smiles="smiles",
        targets=["active"],
        split="own",
        split_column="fold",
    )
    assert own.notes[-1] == (
        "2 molecules are in more than one split, the first in row 2 (train) and row 12 (test); "
        "scores on them flatter the model."
    )


def test_nothing_readable_and_bad_columns(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", ["xx,1", "yy,0"])
    with pytest.raises(
        ValueError, match=r"none of the 2 rows of a.csv can be read; the first is row 2"
    ):
        read_molecules(path, smiles="smiles", targets=["active"])
    with pytest.raises(ValueError, match=r"'Activity'.* known: active, smiles"):
        read_molecules(path, smiles="smiles", targets=["Activity"])
    with pytest.raises(ValueError, match="needs a column"):
        read_molecules(path, smiles="smiles", targets=["active"], split="time")


def test_the_cache_tells_a_line_break_from_two_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    assert prepare.prepare(["C", "CC"], None).kept == [0, 1]
    assert prepare.prepare(["C\nCC"], None).kept in ([], [0])


def test_the_second_reading_comes_from_the_cache(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    steps: list[tuple[int, int | None]] = []

    def read(split: str):  # type: ignore[no-untyped-def]
        return read_molecules(
            small,
            smiles="smiles",
            targets=["active"],
            split=split,
            on_progress=lambda done, total: steps.append((done, total)),
        )

    first = read("random")
    assert steps[-1] == (20, 20)
    monkeypatch.setattr(prepare, "pack_smiles", None)  # Were it called, it would fail.
    second = read("random")
    assert second.origin.rows == first.origin.rows
    for part, graphs in first.splits.items():
        for name, value in graphs.tensors().items():
            assert torch.equal(value, second.splits[part].tensors()[name])
    assert read("scaffold").origin.names.keys() == {"train", "val", "test", "id_test"}
    (cache,) = (tmp_path / "cache").iterdir()
    cache.write_bytes(b"broken")
    with pytest.raises(TypeError):  # Made again.
        read("random")


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_streaming_keeps_the_order(tmp_path: Path, chunk: int) -> None:
    rows = ["a,CCO", "b,xx", "c,", "d,c1ccccc1", "e,CC,extra", "f,C"]
    path = table(tmp_path / "a.csv", rows, "name,smiles")
    chunks = list(stream_molecules(path, "smiles", chunk=chunk))
    assert [row["name"] for part in chunks for row in part.rows] == list("abcdef")
    assert [row for part in chunks for row in part.numbers] == [2, 3, 4, 5, 6, 7]
    readable = [part.rows[i]["name"] for part in chunks for i in part.position.tolist()]
    assert readable == ["a", "d", "f"]
    assert [n for part in chunks for n in part.graphs.node_ptr.diff().tolist()] == [3, 6, 1]
    reasons = {part.rows[i]["name"]: why for part in chunks for i, why in part.reasons.items()}
    assert list(reasons) == ["b", "c", "e"]
    assert "empty" in reasons["c"]
    assert "3 cells" in reasons["e"]


def test_streaming_reads_no_further_than_asked(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", ["C"] * 5, "smiles")
    with path.open("ab") as file:
        file.write(b"\xff\n")  # an error, if it were read
    stream = stream_molecules(path, "smiles", chunk=2)
    assert len(next(stream).graphs) == 2
    assert len(next(stream).graphs) == 2
    with pytest.raises(ValueError, match=r"line 7 of a.csv is not UTF-8"):
        next(stream)


def test_streaming_a_missing_column(small: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'smiles'"):
        next(stream_molecules(small, "smile"))


@pytest.mark.data
@pytest.mark.parametrize(("name", "target"), [("bbbp", "p_np"), ("bace", "Class")])
def test_real_molecules_by_scaffold(name: str, target: str) -> None:
    path = files.data_dir() / f"ogb/ogbg_mol{name}/mapping/mol.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not at hand")
    own = read_molecules(path, smiles="smiles", targets=[target])
    assert own.origin.unreadable == ()
    smiles = read_columns(path, ["smiles"]).cells["smiles"]
    train, val, test = scaffold_split(smiles)  # The rule of MoleculeNet and OGB.
    assert own.origin.rows["test"] == tuple(sorted(test + 2))
    assert own.origin.rows["val"] == tuple(sorted(val + 2))
    assert sorted(own.origin.rows["train"] + own.origin.rows["id_test"]) == sorted(train + 2)


def test_an_inchi_is_a_molecule_too(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    codes = [chem.MolToInchi(chem.MolFromSmiles(text)) for text in SMILES]
    rows = [f'"{code}",{i % 2}' for i, code in enumerate([*codes, "InChI=1S/nothing"])]
    path = table(tmp_path / "codes.csv", rows, "inchi,active")
    data = read_molecules(path, smiles="inchi", targets=["active"], split="random")
    assert data.origin.unreadable == ((12, "it is not a valid InChI"),)
    named = dict(zip(data.origin.names["test"], data.origin.rows["test"], strict=True))
    assert all(name == codes[row - 2] for name, row in named.items())
    benzene = codes[1]
    assert featurise(benzene).x[:, 0].tolist() == [5] * 6


def test_a_line_break_in_a_smiles_is_not_cut_silently(tmp_path: Path) -> None:
    rows = [f"{smiles},{i % 2}" for i, smiles in enumerate(SMILES)]
    path = table(tmp_path / "broken.csv", [*rows, '"CCO\nCCN",1', '"CC\n",0'])
    data = read_molecules(path, smiles="smiles", targets=["active"], split="random")
    assert data.origin.unreadable == ((12, "it has a line break inside"),)
    (chunk,) = stream_molecules(path, "smiles")
    assert chunk.reasons == {10: "it has a line break inside"}


def test_several_molecules_per_row(tmp_path: Path) -> None:
    rows = [f"{smiles},{'O' if i % 3 else 'CCl'},{i % 2}" for i, smiles in enumerate(SMILES)]
    path = table(tmp_path / "pairs.csv", [*rows, "CC,,1"], "solute,solvent,active")
    columns = ["solute", "solvent"]
    data = read_molecules(
        path, smiles=columns, targets=["active"], split="random", features=["rdkit"]
    )
    assert data.node_sizes == (*ATOM_FEATURE_SIZES, 2)
    assert data.origin.unreadable == ((12, "solvent: the cell of the SMILES is empty"),)
    assert data.origin.reading["columns"]["smiles"] == columns
    assert data.origin.names["test"][0] in {
        f"{s}.{'O' if i % 3 else 'CCl'}" for i, s in enumerate(SMILES)
    }
    names = data.origin.reading["descriptors"]["names"]
    assert {"solute: MolWt", "solvent: MolWt"} <= set(names)
    # A new file may call its columns otherwise.
    new = table(tmp_path / "new.csv", ["CCO,O"], "a,b")
    again = read_again([new], data.origin.reading, ["a", "b"])
    (chunk,) = again.chunks
    assert again.name_of(chunk.rows[0]) == "CCO.O"
    assert chunk.graphs.num_graph_features == len(names)
    assert chunk.graphs.x[:, -1].tolist() == [0, 0, 0, 1]
    with pytest.raises(ValueError, match=r"2 molecules per row \(solute, solvent\), got 1"):
        read_again([new], data.origin.reading, ["a"])
    with pytest.raises(ValueError, match="each of them once"):
        read_molecules(path, smiles=["solute", "solute"], targets=["active"])


@pytest.mark.parametrize(
    ("split", "cells"),
    [
        ("own", ["train"] * 5 + ["", "val", "val", "test", "test"]),
        ("time", [*map(str, range(5)), "", *map(str, range(6, 10))]),
        ("column", ["a"] * 5 + ["", "b", "b", "c", "c"]),
    ],
)
def test_an_empty_cell_of_a_split_column_is_in_no_split(
    tmp_path: Path, split: str, cells: list[str]
) -> None:
    rows = [f"{smiles},{i % 2},{cells[i]}" for i, smiles in enumerate(SMILES)]
    path = table(tmp_path / "gap.csv", rows, "smiles,active,part")
    data = read_molecules(
        path, smiles="smiles", targets=["active"], split=split, split_column="part"
    )
    assert "1 rows have an empty 'part' and are in no split." in data.notes
    found = sorted(row for rows in data.origin.rows.values() for row in rows)
    assert found == [row for row in range(2, 12) if row != 7]
    empty = table(tmp_path / "e.csv", ["C,1,", "CC,0,", "CCC,1,"], "smiles,active,part")
    with pytest.raises(ValueError, match=r"e\.csv: column 'part' is empty in all 3 rows"):
        read_molecules(empty, smiles="smiles", targets=["active"], split=split, split_column="part")


def test_columns_without_a_use_are_named(small: Path) -> None:
    note = "columns of small.csv that are not used: year."
    data = read_molecules(small, smiles="smiles", targets=["active"])
    assert note in data.notes
    used = read_molecules(
        small, smiles="smiles", targets=["active"], split="time", split_column="year"
    )
    assert not any("not used" in one for one in used.notes)


def test_a_zero_byte_costs_its_row(tmp_path: Path) -> None:
    rows = [f"{smiles},{i % 2}" for i, smiles in enumerate(SMILES)]
    path = table(tmp_path / "zero.csv", [*rows, "CC\0C,1", "CCCCC,0"])
    data = read_molecules(path, smiles="smiles", targets=["active"], split="random")
    assert data.origin.unreadable == ((12, "it has a zero byte"),)
    assert sum(map(len, data.splits.values())) == 11
    (chunk,) = stream_molecules(path, "smiles")
    assert chunk.reasons == {10: "it has a zero byte"}


def test_a_giant_molecule_does_not_stall_the_scaffolds(tmp_path: Path) -> None:
    rows = [f"{smiles},{i % 2}" for i, smiles in enumerate([*SMILES, "C" * 5000])]
    path = table(tmp_path / "giant.csv", rows)
    began = time.perf_counter()
    data = read_molecules(
        path, smiles="smiles", targets=["active"], features=["rdkit"], split="scaffold"
    )
    assert time.perf_counter() - began < 30  # RDKit's scaffold alone takes minutes
    notes = " ".join(data.notes)
    assert "1 molecules have more than 500 atoms; their scaffolds are not sought" in notes
    assert "1 molecules lack some descriptors (those of more than 200 atoms have none)" in notes
