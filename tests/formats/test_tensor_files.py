from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from gsina.formats import read_data_file
from gsina.formats.tensor_files import read_graph_file
from gsina.graphs.task import Task


def parts(**changes: Tensor | None) -> dict[str, Tensor]:
    side = torch.arange(12)
    found: dict[str, Tensor | None] = {
        "x": torch.randn(12, 3),
        "edge_index": torch.tensor([[0, 1, 2], [1, 2, 3]]),
        "y": torch.arange(12) % 3,
        "train_mask": side < 6,
        "val_mask": (side >= 6) & (side < 9),
        "test_mask": side >= 9,
    } | changes
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize("ending", ["safetensors", "pt"])
def test_both_kinds_of_files(tmp_path: Path, ending: str) -> None:
    path, tensors = tmp_path / f"a.{ending}", parts()
    save_file(tensors, path) if ending == "safetensors" else torch.save(tensors, path)
    own = read_data_file(path)
    assert own.task == Task("multiclass", 3, "accuracy", "node")
    assert torch.equal(own.train.x, tensors["x"])
    assert torch.equal(own.train.edge_index, tensors["edge_index"])
    for part in ("train", "val", "test"):
        mask = own.splits[part].mask
        assert mask is not None
        assert torch.equal(mask, tensors[f"{part}_mask"])
    assert own.origin.names["test"] == ("9", "10", "11")
    assert own.origin.split["rule"] == "own"


def test_pyg_data_as_a_dict(tmp_path: Path) -> None:
    data = pytest.importorskip("torch_geometric.data").Data(**parts())
    torch.save(data.to_dict(), tmp_path / "a.pt")
    assert len(read_data_file(tmp_path / "a.pt").origin.names["train"]) == 6
    torch.save(data, tmp_path / "b.pt")
    with pytest.raises(ValueError, match=r"without running code; save it with torch.save\(data.to"):
        read_data_file(tmp_path / "b.pt")


def test_without_masks_features_or_some_labels(tmp_path: Path) -> None:
    y = torch.tensor([0, 1] * 6)
    y[3] = -1
    bare = parts(x=None, y=y, train_mask=None, val_mask=None, test_mask=None)
    save_file(bare, tmp_path / "a.safetensors")
    own = read_data_file(tmp_path / "a.safetensors")
    assert own.task == Task("binary", 1, "roc_auc", "node")
    assert own.train.x.tolist() == [[1]] * 12
    assert own.origin.split["rule"] == "random"
    assert sum(len(names) for part, names in own.origin.names.items() if part != "all") == 11
    assert "1 of 12 rows have no label and do not count." in own.notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "has no y but edge_index"),
        (
            {"edge_index": torch.tensor([[0], [12]])},
            r"edge 0 joins \[0, 12\]; expected nodes 0 to 11",
        ),
        ({"y": None}, r"add y \(the label of every node"),
        ({"y": torch.tensor(1)}, r"y is \[\]; expected one label per node"),
        ({"y": torch.tensor([0, 1, 2])}, r"x is \[12, 3\] but y has 3 labels"),
        ({"y": torch.tensor([0, 1, 2]), "x": None}, "expected nodes 0 to 2, as there are 3 nodes"),
        ({"edge_index": torch.rand(2, 3)}, r"edge_index is torch\.float32; expected whole numbers"),
        ({"test_mask": None}, r"add one, bool \[12\] and true for the nodes to test on"),
        ({"edge_index": torch.zeros(3, 2)}, r"edge_index is \[3, 2\]"),
        ({"x": torch.zeros(5, 2)}, r"x is \[5, 2\] but y has 12 labels; expected a row"),
        ({"x": torch.full((12, 2), torch.nan)}, "x of node 0 is not finite"),
        ({"train_mask": torch.ones(12, 10).bool()}, "choose one column if it has several"),
        ({"test_mask": None}, "has masks but no test_mask"),
        ({"test_mask": torch.arange(12) >= 5}, "node 5 is in train_mask and in test_mask"),
        ({"val_mask": torch.arange(12) >= 6}, "node 9 is in val_mask and in test_mask"),
        ({"edge_index": torch.zeros(2, 0)}, "a.safetensors has no edges"),
    ],
)
def test_bad_files(tmp_path: Path, changes: dict[str, Tensor | None], message: str) -> None:
    save_file(parts(**changes), tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=message):
        read_data_file(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": torch.eye(12).to_sparse()}, "x is of another kind"),
        ({"x": torch.ones(12, 2, dtype=torch.complex64)}, "x is of another kind"),
        ({"y": torch.zeros(12, dtype=torch.bits8)}, "y is of another kind"),
        ({"x": torch.empty(12, 2, device="meta")}, "x is of another kind"),
        ({"x": torch.ones(1).expand(12, 1 << 26)}, "far larger than its file"),
        ({"x": torch.ones(())}, r"x is \[\] but y has 12"),
        ({"x": torch.ones(12, 0)}, r"x is \[12, 0\] but y has 12"),
        ({"edge_attr": torch.full((1, 2), torch.nan)}, "expected a row of finite numbers for each"),
        ({"edge_attr": torch.ones(7)}, "expected a row of finite numbers for each"),
    ],
)
def test_odd_tensors(tmp_path: Path, changes: dict[str, Tensor], message: str) -> None:
    torch.save(parts(**changes), tmp_path / "a.pt")
    with pytest.raises(ValueError, match=message):
        read_data_file(tmp_path / "a.pt")


@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning")
def test_tensors_that_are_no_table(tmp_path: Path) -> None:
    quantised = torch.quantize_per_tensor(torch.ones(12, 2), 0.1, 0, torch.quint8)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    for odd in (quantised, nested):
        torch.save(parts(x=odd), tmp_path / "a.pt")
        with pytest.raises(ValueError, match="x is of another kind"):
            read_data_file(tmp_path / "a.pt")
    torch.save(parts(x=torch.ones(())), tmp_path / "a.pt")
    with pytest.raises(ValueError, match="x is a single number"):
        read_graph_file(tmp_path / "a.pt")


@pytest.mark.parametrize("kind", [torch.uint16, torch.uint64, torch.float8_e4m3fn, torch.int32])
def test_kinds_of_numbers_that_torch_does_not_compute_with(
    tmp_path: Path, kind: torch.dtype
) -> None:
    values = torch.tensor([0, 1] * 6)
    asked = parts(y=values.to(kind), x=torch.ones(12, 2).to(kind))
    asked["edge_attr"] = torch.ones(asked["edge_index"].size(1), 1).to(kind)
    torch.save(asked, tmp_path / "a.pt")
    read = read_data_file(tmp_path / "a.pt")
    assert read.train.x.dtype == read.train.edge_attr.dtype == torch.float32
    assert torch.equal(read.train.node_y.view(-1).long(), values)


def test_by_environment_or_time(tmp_path: Path) -> None:
    """A tensor of the file says what is held out, also where there are masks."""
    y, node = torch.tensor([0, 1] * 6), torch.arange(12)
    region, year = (11 - node) // 4 + 9, torch.tensor([2020.5 - k for k in range(12)])
    save_file(parts(y=y, region=region, year=year), tmp_path / "a.safetensors")
    own = read_data_file(tmp_path / "a.safetensors", environment="region")
    assert own.origin.names["test"] == (
        "0",
        "1",
        "2",
        "3",
    )  # region 11; as text 9 would be the last
    assert own.origin.names["val"] == ("4", "5", "6", "7")
    assert own.origin.split["rule"] == "environment"
    own = read_data_file(tmp_path / "a.safetensors", time="year")
    assert own.origin.names["test"] == ("0", "1")
    assert own.origin.split["column"] == "year"
    for options, message in (
        ({"time": "years"}, r"unknown tensor of a\.safetensors 'years'; did you mean 'year'"),
        ({"time": "x"}, r"x is torch\.float32 \[12, 3\]; expected a number for each of 12 nodes"),
        ({"time": "year", "environment": "region"}, "one of environment and time"),
    ):
        with pytest.raises(ValueError, match=message):
            read_data_file(tmp_path / "a.safetensors", **options)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize("content", [pickle.dumps(Evil(), protocol=2), b"", b"not tensors"])
def test_nothing_is_executed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pt").write_bytes(content)
    with pytest.raises(ValueError, match="is not a file of tensors"):
        read_data_file(tmp_path / "a.pt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_data_file(tmp_path / "b.pt")
