"""Pictures of scores: which there are for a task, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gsina.explain.pictures.scores import score_pictures
from gsina.graphs.task import Kind, Task
from gsina.models.architecture import Architecture
from gsina.models.model import Model
from gsina.nn.predictor import NetworkSpec

RECORDS: list[dict[str, Any]] = [
    {"train": {"loss": 1.0 - i / 5}, "val": {"roc_auc": i / 4, "accuracy": i / 4, "rmse": 4.0 - i}}
    for i in range(4)
]


def model(kind: Kind, outputs: int, metric: str, **options: Any) -> Model:
    architecture = Architecture.of("erm", {}, NetworkSpec("gin", 2, 0, {"hidden_channels": 4}))
    task = Task(kind, outputs, metric)
    training = {"best_epoch": 2}
    return Model(architecture.build(task), task, architecture, training=training, **options)


def titles(*arguments: Any) -> list[str]:
    return [one.title for one in score_pictures(*arguments)]


def test_yes_or_no() -> None:
    y = torch.tensor([0.0, 1.0] * 20).unsqueeze(1)
    one = model("binary", 1, "roc_auc", target_names=("active",), class_names=("no $", "_yes"))
    pictures = score_pictures(one, 4 * y - 2, y, RECORDS)
    assert [picture.title for picture in pictures] == [
        "Training",
        "ROC",
        "Precision and recall",
        "Calibration",
    ]
    assert "epoch 3" in pictures[0].caption
    assert "area 1.000" in pictures[1].svg
    assert "_yes found" in pictures[1].svg


def test_an_ensemble_has_one_curve_per_member() -> None:
    y = torch.tensor([0.0, 1.0] * 20).unsqueeze(1)
    members = [{"seed": seed, "epochs": 4, "best_epoch": seed + 1} for seed in range(3)]
    one = model("binary", 1, "roc_auc")
    one.training["members"] = members
    records = [{**record, "member": member} for member in range(3) for record in RECORDS]
    together, alone = (score_pictures(one, y, y, rows)[0] for rows in (records, RECORDS))
    assert "of each of the 3 members; the weights of epochs 2, 3, 4 are used." in together.caption
    assert "dotted line" in alone.caption
    blue = "#3b7dd8"
    assert together.svg.count(blue) > alone.svg.count(blue)
    assert ">12<" not in together.svg  # epochs are counted within a member
    assert ">4<" in together.svg


def test_targets_without_both_classes_have_no_curve() -> None:
    torch.manual_seed(0)
    y = torch.randint(2, (50, 9)).float()
    y[:, 0], y[:, 1] = 1, torch.nan
    many = model("binary", 9, "roc_auc", target_names=tuple("abcdefghi"))
    roc = score_pictures(many, torch.randn(50, 9), y)[0]
    assert "of 6 of the 9 targets" in roc.caption
    assert ">c 0." in roc.svg
    assert ">a " not in roc.svg
    assert titles(many, torch.randn(50, 9), torch.ones(50, 9)) == []


def test_several_classes() -> None:
    y = torch.tensor([0, 1, 2, 2, -1, 0])
    logits = 5 * torch.nn.functional.one_hot(y.clamp(min=0), 3).float()
    three = model("multiclass", 3, "accuracy", class_names=("crane", "cycle", "<house>"))
    matrix, calibration = score_pictures(three, logits, y)
    assert (matrix.title, calibration.title) == ("Confusion", "Calibration")
    assert matrix.svg.count(">2</text>") == 2  # two cranes and two houses, all right
    assert matrix.svg.count(">0</text>") == 6
    assert "&lt;house&gt;" in matrix.svg
    assert titles(three, logits, torch.full_like(y, -1)) == []


def test_only_the_largest_of_many_classes() -> None:
    y = torch.arange(30).repeat(2)
    many = model("multiclass", 30, "accuracy")
    matrix = score_pictures(many, torch.randn(60, 30), y)[0]
    assert "of the 12 largest classes" in matrix.caption


def test_numbers() -> None:
    torch.manual_seed(0)
    y = torch.randn(2000, 4)
    y[:, 1] = torch.nan
    four = model("regression", 4, "scaled_rmse", target_names=("p", "q", "r", "s"))
    pictures = score_pictures(four, y.nan_to_num() + 0.5, y)
    assert [one.title for one in pictures] == [
        "Predicted 1",
        "Residuals 1",
        "Predicted 3",
        "Residuals 3",
    ]
    assert "RMSE 0.500; 1,500 of 2,000 rows" in pictures[0].caption
    assert "mean, 0.5." in pictures[1].caption


@pytest.mark.parametrize("rows", [1, 2])
def test_a_row_or_two(rows: int) -> None:
    number = model("regression", 1, "rmse")
    assert len(titles(number, torch.zeros(rows, 1), torch.ones(rows, 1), RECORDS[:1])) == 3
