from __future__ import annotations

from importlib.resources import files

import pytest

from gsina.datasets.catalog import DATASETS
from gsina.methods import METHODS
from gsina.models.plan import first_epoch
from gsina.nn.backbones import BACKBONES
from gsina.runs.published import default_recipe, usual_backbone
from gsina.runs.recipe import Recipe


@pytest.mark.parametrize(
    ("backbone", "bias", "ratio"),
    [
        ("gin", 0.5, 0.6),
        ("gin", 0.7, 0.6),
        ("gin", 0.9, 0.4),
        ("pna", 0.5, 0.1),
        ("pna", 0.7, 0.3),
        ("pna", 0.9, 0.5),
    ],
)
def test_the_ratio_follows_the_bias(backbone, bias, ratio):
    recipe = default_recipe("spmotif", backbone, "gsina", data={"bias": bias})
    assert recipe.method.options == {"ratio": ratio}
    assert recipe.data.options == {"bias": bias}
    assert (recipe.selection.rule, recipe.selection.patience) == ("latest-best", 10)
    assert recipe.optimiser.learning_rate == 3e-3
    assert recipe.optimiser.epochs == {"gin": 100, "pna": 200}[backbone]


@pytest.mark.parametrize("backbone", ["gin", "pna", "spmotifnet"])
def test_gsat_counts_epochs_once_its_prior_is_final(backbone):
    recipe = default_recipe("spmotif", backbone, "gsat")
    config = METHODS["gsat"].config(**recipe.method.options)
    first = recipe.selection.first_epoch
    assert recipe.selection.rule == "strict-best"
    assert config.prior(first) == config.final_ratio
    assert config.prior(first - 1) > config.final_ratio


@pytest.mark.parametrize(
    ("backbone", "bias", "expected"),
    [
        ("gin", 0.5, {"draws": 80, "keep": 0.8, "information": 0.5}),
        ("gin", 0.9, {"draws": 200, "keep": 0.5, "information": 0.1}),
        ("pna", 0.7, {"draws": 100, "keep": 0.3, "final_ratio": 0.8, "warm": True}),
    ],
)
def test_both_stages_of_gmt_have_all_epochs(backbone, bias, expected):
    recipe = default_recipe("spmotif", backbone, "gmt-sam", data={"bias": bias})
    options = recipe.method.options
    assert expected.items() <= options.items()
    assert recipe.optimiser.epochs == 2 * options["refit_epoch"]
    assert first_epoch("gmt-sam", options) == options["refit_epoch"]


def test_settings_of_the_newer_peers():
    gala = default_recipe("drugood-ec50-size", "ogb-gin", "gala")
    assert gala.method.options == {"contrast": 8.0, "clusters": 2}
    assert gala.backbone.options["dropout"] == 0.5
    assert default_recipe("ogbg-molhiv", "gin", "grea").method.options == {"size": 0.1}
    assert default_recipe("ogbg-molbbbp", "gin", "grea").method.options == {"size": 0.2}
    assert default_recipe("ogbg-molbbbp", "gin", "prune").method.options["lowest"] == 0.5
    canet = default_recipe("twitch", "gcn", "canet")
    assert canet.method.options["temperature"] == 3.0
    assert canet.optimiser.epochs == 500


def test_the_plain_network_counts_every_epoch():
    recipe = default_recipe("spmotif", "gin", "erm")
    assert recipe.selection.model_dump() == {
        "rule": "strict-best",
        "patience": None,
        "first_epoch": 0,
        "metric": None,
    }


def test_a_combination_without_a_file_has_plain_defaults():
    recipe = default_recipe("ba2motifs", "gin", "gsina")
    plain = {"data": {"name": "ba2motifs"}, "method": {"name": "gsina"}}
    assert recipe == Recipe.parse(plain)
    assert default_recipe("ba2motifs", "gin", "gsat").selection.first_epoch == 20


def test_changes_win():
    recipe = default_recipe(
        "spmotif",
        data={"bias": 0.9, "seed": 1},
        options={"ratio": 0.2, "noise": 0.0},
        epochs=3,
        patience=None,
    )
    assert recipe.data.options == {"bias": 0.9, "seed": 1}
    assert recipe.method.options == {"ratio": 0.2, "noise": 0.0}
    assert (recipe.optimiser.epochs, recipe.selection.patience) == (3, None)
    assert recipe.optimiser.batch_size == 128


def test_wrong_names_suggest():
    for arguments, near in (
        (("spmotfi",), "spmotif"),
        (("spmotif", "gni"), "gin"),
        (("spmotif", "gin", "gsnia"), "gsina"),
    ):
        with pytest.raises(ValueError, match=f"did you mean '{near}'"):
            default_recipe(*arguments)
    with pytest.raises(ValueError, match="did you mean 'epochs'"):
        default_recipe("spmotif", epoch=3)


def test_every_file_is_found_and_valid():
    names = {file.name for file in (files("gsina.runs") / "recipes").iterdir()}
    found = set()
    for method in METHODS:
        found |= {f"{method}.toml"} & names
        for backbone in BACKBONES:
            for dataset in DATASETS:
                default_recipe(dataset, backbone, method)
                family = dataset.partition("-")[0]
                ends = (f"-{backbone}-{method}.toml", f"-{backbone}.toml")
                found |= {name + end for name in (dataset, family) for end in ends} & names
    assert found == names - {"recommended.toml"}  # none that no name leads to


def test_the_recommended_recipe_is_for_graphs_and_any_method():
    ours = default_recipe("spmotif", which="recommended", data={"bias": 0.9}, epochs=3)
    plain = default_recipe("nci1", method="erm", which="recommended")
    assert ours.backbone == plain.backbone
    assert ours.backbone.options["readout"] == "max"
    assert ours.optimiser.resample == plain.optimiser.resample == "shortcuts"
    assert (ours.optimiser.epochs, ours.data.options) == (3, {"bias": 0.9})
    assert ours.method.options["initial_ratio"] == 0.9
    assert plain.method.options == {}
    asked = default_recipe("spmotif", which="recommended", options={"ratio": 0.3})
    assert asked.method.options["ratio"] == 0.3
    asked = default_recipe("spmotif", which="recommended", options={"budget": 8})
    assert "ratio" not in asked.method.options
    with pytest.raises(ValueError, match="is for graphs, and cora is a graph of nodes"):
        default_recipe("cora", which="recommended")
    with pytest.raises(ValueError, match="recomended"):
        default_recipe("spmotif", which="recomended")


@pytest.mark.parametrize(
    ("dataset", "backbone"),
    [
        ("spmotif", "gin"),
        ("spmotif-struc", "ogb-gcn"),
        ("spmotif-mixed", "ogb-gcn"),
        ("ogbg-molhiv", "gin"),
        ("cora", "gcn"),
        ("ogbn-arxiv", "sage"),
        ("nci1", "ogb-gcn"),
        ("proteins", "ogb-gin"),
        ("ba-2motifs", "gin"),
    ],
)
def test_the_usual_backbone_is_the_published_one(dataset, backbone):
    assert usual_backbone(dataset) == backbone
    if dataset in DATASETS:
        assert default_recipe(dataset).backbone.name == backbone


def test_every_dataset_with_labels_on_nodes_has_a_network_for_nodes():
    for name, entry in DATASETS.items():
        if entry.level == "node":
            assert usual_backbone(name) in ("gcn", "sage"), name
