"""Recipes for users' files, with defaults for what is not given."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from gsina.errors import InputError, check_name
from gsina.formats import FORMATS
from gsina.methods.registry import check_graph_features
from gsina.models.boosting import check_level
from gsina.models.imbalance import AUTO
from gsina.models.plan import check_budget, own_data_options
from gsina.models.train import named_spec
from gsina.nn.backbones import BACKBONES
from gsina.runs.data import FOLDERS
from gsina.runs.recipe import Recipe

#: Settings that suit a few thousand molecules: a second or two per epoch on one core.
BACKBONE = {"hidden_channels": 64, "num_layers": 3, "dropout": 0.3}
OPTIMISER = {"epochs": 60, "batch_size": 64, "learning_rate": 1e-3}
#: An epoch on one whole graph is a single step, so there are more epochs.
NODE_OPTIMISER = {"epochs": 300, "learning_rate": 5e-3}
#: With sampled neighbours a step trains on some nodes, and an epoch has many steps.
SAMPLED_OPTIMISER = {"epochs": 60, "batch_size": 512}
PATIENCE, NODE_PATIENCE = 15, 50


def file_recipe(
    format: str,
    files: tuple[Path | str, ...],
    reading: dict[str, Any],
    *,
    method: str = "gsina",
    backbone: str | None = None,
    options: dict[str, Any] | None = None,
    patience: int | None = None,
    metric: str = AUTO,
    trees: bool | None = None,
    title: str | None = None,
    **optimiser: Any,
) -> Recipe:
    """A recipe for a user's files.

    Args:
        format: Name of their format.
        files: The files.
        reading: Arguments of the reader.
        method: Name of the method.
        backbone: Name of the network; by default gin, at node level gcn unless edges have features.
        options: Settings of the method; a ratio of ``"auto"`` is chosen on validation data.
        patience: Stop after this many epochs without improvement.
        metric: Which metric selects; by default that of the kind of target, or one for rare
            classes if there is one.
        trees: Whether boosted trees on the features of whole molecules, or on descriptors of other
            graphs, answer beside the network; by default for all but nodes and molecules without
            such features.
        title: What to call the data, if not by the name of the first file.
        **optimiser: Fields of the optimiser, such as ``epochs``.

    Raises:
        InputError: One sentence about the first thing that is wrong.
    """
    level = FORMATS[format].level
    nodes = level == "node"
    molecules = FORMATS[format].molecules
    described = bool(molecules and reading.get("features"))
    if trees is None:
        trees = described or not (nodes or molecules)
    if trees:
        check_level(level)
    if trees and molecules and not described:
        raise InputError(
            "boosted trees need features of whole molecules, and none are asked for; name some "
            "(--features quick,counts), or leave the trees out (--no-trees)."
        )
    if described and not trees:  # the network is to read them
        check_graph_features(method)  # before they are computed
    edges = reading.get("edge_features")
    if backbone is None:
        backbone = "gcn" if nodes and not edges else "gin"
    elif edges:
        check_edge_features(backbone)
    settings, auto = split_auto(method, options or {})
    usual = OPTIMISER | (NODE_OPTIMISER if nodes else {})
    if optimiser.get("neighbours") is not None:
        if not nodes:
            raise InputError("neighbours are for node-level data, got graphs; leave them out.")
        usual |= SAMPLED_OPTIMISER
    usual_patience = NODE_PATIENCE if nodes else PATIENCE
    return Recipe.parse(
        {
            "data": {
                "format": format,
                "files": files if format == "tu" else tuple(map(_absolute, files)),
                "options": reading,
                "title": title,
            },
            "method": {"name": method, "options": own_data_options(method, settings, level)},
            "backbone": {"name": backbone, "options": named_spec(backbone, 1, 0, BACKBONE).options},
            "optimiser": usual | optimiser,
            "selection": {
                "rule": "strict-best",
                "patience": usual_patience if patience is None else patience,
                "metric": metric,
            },
            "auto_ratio": auto,
            "trees": trees,
        }
    )


def _absolute(file: Path | str) -> str:
    """A path that means the same from any folder; those in the folders of data do already."""
    return str(file) if str(file).startswith(tuple(FOLDERS)) else str(Path(file).resolve())


def check_edge_features(backbone: str) -> None:
    """Refuse a network that would not look at the features of edges; names those that do."""
    able = {name for name in BACKBONES if "edge_channels" in signature(BACKBONES[name]).parameters}
    if check_name(backbone, BACKBONES, "backbone") not in able:
        raise InputError(
            f"the backbone {backbone} does not use features of edges; leave --edge-feature out, or "
            f"use one that does: {', '.join(sorted(able))}."
        )


def split_auto(method: str, options: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Settings of a method without a ratio of ``"auto"``, and whether there was one."""
    check_budget(method, options)
    auto = options.get("ratio") == "auto"
    return {name: value for name, value in options.items() if not (auto and name == "ratio")}, auto
