"""`OwnRecipe`: everything that defines a training on a user's file but the seed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from gsina.errors import InputError
from gsina.formats import (
    OwnData,
    read_data_file,
    read_graphs,
    read_molecules,
    read_nodes,
    read_tu_graphs,
)
from gsina.graphs.dataset import Dataset
from gsina.models.train import Plan, check_auto_ratio, first_epoch, named_spec, suited
from gsina.runs.recipe import (
    Recipe,
    _Part,
    check_options,
)
from gsina.training import Settings, make_selection

#: Who reads what.
READERS: dict[str, Callable[..., OwnData]] = {
    "molecules": read_molecules,
    "graphs": read_graphs,
    "nodes": read_nodes,
    "node tensors": read_data_file,
    "tu": read_tu_graphs,
}
#: Settings that suit a few thousand molecules: a second or two an epoch on one core.
BACKBONE = {"hidden_channels": 64, "num_layers": 3, "dropout": 0.3}
OPTIMISER = {"epochs": 60, "batch_size": 64, "learning_rate": 1e-3}
#: A whole graph of nodes is one step, so there are more of them.
NODE_OPTIMISER = {"epochs": 300, "learning_rate": 5e-3}
#: With sampled neighbours a step is some nodes, and an epoch many steps.
SAMPLED_OPTIMISER = {"epochs": 60, "batch_size": 512}
PATIENCE, NODE_PATIENCE = 15, 50


class OwnDataPart(_Part):
    """Which files, and how to read them.

    Attributes:
        kind: What they hold.
        files: Absolute paths; of the TU collection the name of the dataset.
        options: Arguments of the reader.
    """

    kind: Literal["molecules", "graphs", "nodes", "node tensors", "tu"]
    files: tuple[str, ...]
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known(self) -> OwnDataPart:
        check_options(READERS[self.kind], self.options, self.kind, leave_out=("on_progress",))
        return self

    def read(self, on_progress: Callable[[int, int | None], None] | None = None) -> OwnData:
        """Read and split the data."""
        reader = READERS[self.kind]
        extra = {"on_progress": on_progress} if self.kind == "molecules" else {}
        where = self.files if self.kind == "tu" else map(Path, self.files)
        return reader(*where, **self.options, **extra)


class OwnRecipe(Recipe):
    """Files, method, backbone, optimiser and selection rule; ``auto_ratio`` tries several."""

    data: OwnDataPart  # type: ignore[assignment]
    auto_ratio: bool = False

    def plan(self, dataset: Dataset, seed: int) -> Plan:
        """What to train on the data."""
        chosen, method = self.selection, self.method
        first = max(chosen.first_epoch, first_epoch(method.name, method.options))
        return Plan(
            spec=named_spec(
                self.backbone.name,
                dataset.node_sizes or dataset.train.num_features,
                dataset.edge_sizes or dataset.train.num_edge_features,
                self.backbone.options,
            ),
            method=method.name,
            options=method.options,
            auto_ratio=self.auto_ratio,
            settings=Settings(**self.optimiser.model_dump()),
            selection=make_selection(chosen.rule, chosen.patience, first),
            seed=seed,
        )


def is_own_recipe(path: Path) -> bool:
    """Whether a TOML file is a recipe for a user's file rather than for a named dataset."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("data")
    except (OSError, ValueError):
        return False  # whoever reads it next says what is wrong
    return isinstance(data, dict) and "kind" in data


def own_recipe(
    kind: str,
    files: tuple[Path | str, ...],
    options: dict[str, Any],
    *,
    method: str = "gsina",
    backbone: str | None = None,
    ratio: float | Literal["auto"] | None = None,
    method_options: dict[str, Any] | None = None,
    patience: int | None = None,
    **optimiser: Any,
) -> OwnRecipe:
    """A recipe with sensible defaults for what is not said.

    Args:
        kind: ``molecules``, ``graphs``, ``nodes``, ``node tensors`` or ``tu``.
        files: The files.
        options: Arguments of the reader.
        method: Name of the method.
        backbone: Name of the network; by default gin, at node level gcn.
        ratio: Share of the edges to keep; ``"auto"`` chooses on validation data.
        method_options: Further settings of the method.
        patience: Stop after so many epochs without a better one.
        **optimiser: Fields of the optimiser, such as ``epochs``.

    Raises:
        InputError: One sentence about the first thing that is wrong.
    """
    nodes = kind in ("nodes", "node tensors")
    backbone = backbone or ("gcn" if nodes else "gin")
    settings = suited(method) | (method_options or {})
    usual = OPTIMISER | (NODE_OPTIMISER if nodes else {})
    if optimiser.get("neighbours") is not None:
        if not nodes:
            raise InputError("neighbours are sampled to predict nodes, and these data are graphs.")
        usual |= SAMPLED_OPTIMISER
    if ratio == "auto":
        check_auto_ratio(method)
    if ratio is not None and ratio != "auto":
        settings["ratio"] = ratio
    return OwnRecipe.parse(
        {
            "data": {
                "kind": kind,
                "files": files if kind == "tu" else tuple(str(Path(f).resolve()) for f in files),
                "options": options,
            },
            "method": {"name": method, "options": settings},
            "backbone": {"name": backbone, "options": named_spec(backbone, 1, 0, BACKBONE).options},
            "optimiser": usual | optimiser,
            "selection": {
                "rule": "strict-best",
                "patience": patience or (NODE_PATIENCE if nodes else PATIENCE),
            },
            "auto_ratio": ratio == "auto",
        }
    )
