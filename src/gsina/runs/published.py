"""The published settings, as small TOML files, and the recipes made from them.

``recipes/<dataset>-<backbone>-<method>.toml`` holds what was published for that combination, with
the first word of the dataset's name for a whole family (``ogbg``); without the method it holds what
all methods of a benchmark share (``nci1-ogb-gcn``); ``recipes/<method>.toml`` holds what fits the
method everywhere else, ``recipes/recommended.toml`` what is recommended. A combination without a
file has the defaults of :class:`~gsina.runs.recipe.Recipe`. A file has the shape of a recipe
without the three names, and may end with ``[[variants]]``: changes for a certain ``dataset``, a
certain ``method`` or certain options of the dataset; a list stands for any of its values.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from gsina.datasets.catalog import DATASETS
from gsina.errors import InputError, check_name
from gsina.methods import METHODS, make_config
from gsina.nn.backbones import BACKBONES
from gsina.runs.defaults import split_auto
from gsina.runs.recipe import OptimiserPart, Recipe, SelectionPart

PUBLISHED, RECOMMENDED = KINDS = ("published", "recommended")


def default_recipe(
    dataset: str,
    backbone: str | None = None,
    method: str = "gsina",
    *,
    data: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    which: str = PUBLISHED,
    **settings: Any,
) -> Recipe:
    """The published recipe of a combination, or a plain one, or the recommended, with changes.

    Args:
        dataset: Name of the dataset.
        backbone: Name of the backbone; by default :func:`usual_backbone`.
        method: Name of the method.
        data: Options of the dataset, such as ``{"bias": 0.9}``.
        options: Options of the method, such as ``{"ratio": 0.3}``.
        which: ``published``, or ``recommended`` for settings that were chosen on validation data,
            the same for all graphs; the network is then GIN unless another is named.
        **settings: Fields of the optimiser and of the selection rule, such as ``epochs=3``.

    Raises:
        InputError: One sentence about the first name or value that is wrong.
    """
    check_name(dataset, DATASETS, "dataset")
    check_name(which, KINDS, "kind of recipe")
    usual = "gin" if which == RECOMMENDED else usual_backbone(dataset)
    backbone = check_name(backbone or usual, BACKBONES, "backbone")
    check_name(method, METHODS, "method")
    settings_of_method, auto = split_auto(method, options or {})
    values = (
        _recommended(dataset, method)
        if which == RECOMMENDED
        else _published(dataset, backbone, method)
    )
    facts = {"dataset": dataset, "method": method} | (data or {})
    for variant in values.pop("variants", []):
        if all(_is(facts.get(name), value) for name, value in variant.pop("when").items()):
            values = _merge(values, variant)
    changes: dict[str, Any] = {
        "data": {"name": dataset, "options": data or {}},
        "backbone": {"name": backbone},
        "method": {"name": method, "options": settings_of_method},
        "auto_ratio": auto,
    }
    parts = dict.fromkeys(OptimiserPart.model_fields, "optimiser")
    parts |= dict.fromkeys(SelectionPart.model_fields, "selection")
    for name, value in settings.items():
        part = changes.setdefault(parts[check_name(name, parts, "setting")], {})
        part[name] = value
    values = _merge(values, changes)
    chosen = values["method"]["options"]
    if auto or "budget" in settings_of_method:  # in place of the recipe's ratio
        chosen.pop("ratio", None)
    if "budget" in settings_of_method:
        _drop(chosen, "initial_ratio", settings_of_method)
    elif auto or "ratio" in settings_of_method:  # in place of the recipe's budget
        chosen.pop("budget", None)
        _drop(chosen, "initial_budget", settings_of_method)
    if method == "gsat":
        # GSAT may select an epoch only once its prior has settled.
        config = make_config(method, values["method"]["options"])
        values.setdefault("selection", {}).setdefault("first_epoch", config.first_eligible_epoch)
    return Recipe.parse(values)


#: Networks of datasets whose family's is another one.
OWN_BACKBONES = {
    "spmotif-struc": "ogb-gcn",
    "spmotif-mixed": "ogb-gcn",
    "good-twitch": "gcn",
    "good-cbas": "gcn",
}


def usual_backbone(dataset: str) -> str:
    """The network of the published recipes of a dataset; gin if that is one of several, or none.

    SPMotif-Struc and -Mixed have that of their benchmark, not that of Spurious-Motif.
    """
    if dataset in OWN_BACKBONES:
        return OWN_BACKBONES[dataset]
    stems = {dataset, dataset.partition("-")[0]}
    known = {file.name for file in (files("gsina.runs") / "recipes").iterdir()}
    for backbone in ("gin", *BACKBONES):
        starts = tuple(f"{stem}-{backbone}{end}" for stem in stems for end in ("-", ".toml"))
        if any(name.startswith(starts) for name in known):
            return backbone
    return "gin"


def is_published(dataset: str, backbone: str, method: str) -> bool:
    """Whether settings of this combination were published, not only those of the method alone."""
    return _file(_names(dataset, backbone, method)) is not None


def _recommended(dataset: str, method: str) -> dict[str, Any]:
    """The recommended settings; those of the method are GSINA's."""
    if DATASETS[dataset].level == "node":
        raise InputError(
            f"the recommended recipe is for graphs, and {dataset} is a graph of nodes; leave it "
            "out for the published one."
        )
    file = files("gsina.runs") / "recipes" / f"{RECOMMENDED}.toml"
    values = tomllib.loads(file.read_text(encoding="utf-8"))
    return values if method == "gsina" else values | {"method": {}}


def _published(dataset: str, backbone: str, method: str) -> dict[str, Any]:
    file = _file([*_names(dataset, backbone, method), method])
    return {} if file is None else tomllib.loads(file.read_text(encoding="utf-8"))


def _names(dataset: str, backbone: str, method: str) -> list[str]:
    """Names of the files that may hold the settings of a combination, the nearest first."""
    stems = (dataset, dataset.partition("-")[0])
    return [f"{stem}-{backbone}{end}" for end in (f"-{method}", "") for stem in stems]


def _file(names: list[str]) -> Traversable | None:
    """The first of these recipe files that exists."""
    folder = files("gsina.runs") / "recipes"
    recipes = (folder / f"{name}.toml" for name in names)
    return next((file for file in recipes if file.is_file()), None)


def _is(found: Any, wanted: Any) -> bool:
    return found in wanted if isinstance(wanted, list) else found == wanted


def _drop(options: dict[str, Any], name: str, given: dict[str, Any]) -> None:
    """Take a setting of the recipe out, unless the user gave it."""
    if name not in given:
        options.pop(name, None)


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``changes``, table by table; both stay as they are."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merge(old, value)
        merged[key] = value
    return merged
