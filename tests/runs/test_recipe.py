"""Recipes: what is valid, and the one sentence for everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gsina.runs.recipe import Recipe

MINIMAL: dict[str, Any] = {"data": {"name": "spmotif"}, "method": {"name": "gsina"}}


def changed(**parts: Any) -> dict[str, Any]:
    return {**MINIMAL, **parts}


def test_everything_but_data_and_method_has_a_default() -> None:
    recipe = Recipe.parse(MINIMAL)
    assert recipe.backbone.name == "gin"
    assert recipe.optimiser.epochs == 100
    assert recipe.selection.rule == "latest-best"


def test_a_recipe_survives_json() -> None:
    recipe = Recipe.parse(
        changed(
            method={"name": "gsina", "options": {"ratio": 0.6, "scope": "batch"}},
            backbone={"name": "gin", "options": {"hidden_channels": 32}},
            data={"name": "spmotif", "options": {"bias": 0.7}},
        )
    )
    assert Recipe.parse(json.loads(json.dumps(recipe.model_dump()))) == recipe


def test_a_recipe_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Recipe.parse(MINIMAL).optimiser.epochs = 3


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    recipe = Recipe.parse(changed(method={"name": "gsina", "options": {"ratio": 1}}))
    assert recipe.method.options == {"ratio": 1}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"recipe field data: is missing\.$"),
        ({"data": {"name": "spmotif"}}, r"recipe field method: is missing\.$"),
        (
            changed(data={"name": "spmotiv"}),
            "recipe field data.name: unknown dataset 'spmotiv'; did you mean 'spmotif'",
        ),
        (
            changed(data={"name": "spmotif", "options": {"bais": 0.5}}),
            "field data.options.bais: unknown option of dataset spmotif 'bais'; did you mean",
        ),
        (
            changed(data={"name": "spmotif", "options": {"bias": "strong"}}),
            "field data.options.bias: option bias of dataset spmotif: .*valid number, got 'strong'",
        ),
        (changed(method={"name": "gsnia"}), "unknown method 'gsnia'; did you mean 'gsina'"),
        (
            changed(method={"name": "gsina", "options": {"ration": 0.5}}),
            "field method.options.ration: unknown option of method gsina 'ration'; did you",
        ),
        (
            changed(method={"name": "gsina", "options": {"ratio": 0.5, "ration": 0.5}}),
            "field method.options.ration: unknown option",
        ),
        (
            changed(method={"name": "gsna", "options": {"gsina": 3}}),
            "field method.name: unknown method 'gsna'",
        ),
        (
            changed(method={"name": "gsina", "options": {"ratio": 0}}),
            r"field method.options.ratio: ratio must lie in \(0, 1\], got 0",
        ),
        (
            changed(method={"name": "gsina", "options": {"ratio": "high"}}),
            "option ratio of method gsina: .*valid number, got 'high'",
        ),
        (
            changed(method={"name": "gsina", "options": {"scope": "micro"}}),
            "unknown value of option scope of method gsina 'micro'; known: batch, graph",
        ),
        (
            changed(method={"name": "gsina", "options": {"iterations": 2.5}}),
            "option iterations of method gsina: .*valid integer, got 2.5",
        ),
        (
            changed(method={"name": "gsat", "options": {"interval": 0}}),
            "field method.options.interval: interval must be above 0, got 0",
        ),
        (changed(backbone={"name": "gni"}), "unknown backbone 'gni'; did you mean 'gin'"),
        (
            changed(backbone={"name": "gin", "options": {"hidden": 64}}),
            "unknown option of backbone gin 'hidden'; did you mean 'hidden_channels'",
        ),
        (
            changed(backbone={"name": "gin", "options": {"in_channels": 4}}),
            "unknown option of backbone gin 'in_channels'",
        ),
        (
            changed(backbone={"name": "gin", "options": {"hidden_channels": "64"}}),
            "option hidden_channels of backbone gin: .*valid integer, got '64'",
        ),
        (
            changed(optimiser={"epochs": 0}),
            r"field optimiser.epochs: .*greater than or equal to 1 \(got 0\)",
        ),
        (
            changed(optimiser={"learning_rate": "fast"}),
            r"field optimiser.learning_rate: .* \(got 'fast'\)",
        ),
        (
            changed(optimiser={"learning_rat": 0.1}),
            "field optimiser.learning_rat: unknown field 'learning_rat'; did you mean 'learning_ra",
        ),
        (changed(optimizer={}), "field optimizer: unknown field 'optimizer'; did you mean 'optimi"),
        (
            changed(selection={"rule": "latest"}),
            "field selection.rule: unknown selection rule 'latest'; did you mean 'latest-best'",
        ),
        (changed(selection=3), r"field selection: .*\(got 3\)"),
        (
            changed(backbone={"name": "gin", "options": {"num_layers": 0}}),
            r"field backbone.options.num_layers: num_layers must be 1 or more, got 0\.$",
        ),
        (
            changed(backbone={"name": "gin", "options": {"dropout": 1.0}}),
            r"backbone.options.dropout: dropout must lie between 0 and below 1, got 1.0\.$",
        ),
        ([], r"recipe field recipe: .*\(got \[\]\)"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_bad_values_get_one_sentence(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Recipe.parse(values)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert not text.endswith("..")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(
        '[data]\nname = "spmotif"\noptions = { bias = 0.9 }\n'
        '[method]\nname = "gsat"\n[method.options]\nfinal_ratio = 0.5\n'
        '[selection]\nrule = "strict-best"\nfirst_epoch = 20\n'
    )
    recipe = Recipe.read(path)
    assert recipe.data.options == {"bias": 0.9}
    assert recipe.method.options == {"final_ratio": 0.5}
    assert recipe.selection.first_epoch == 20
    path.write_text("[data\n")
    with pytest.raises(ValueError, match=r"recipe\.toml is not valid TOML: "):
        Recipe.read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is not UTF-8 text; save it as UTF-8"):
        Recipe.read(path)
    path.write_text('[data]\nname = "spmotif"\n')
    with pytest.raises(ValueError, match=r"recipe\.toml: recipe field method: is missing"):
        Recipe.read(path)
    with pytest.raises(FileNotFoundError, match="there is no recipe file"):
        Recipe.read(tmp_path / "missing.toml")
