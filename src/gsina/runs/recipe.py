"""`Recipe`: everything that defines a run but the seed, as a validated model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from gsina.errors import InputError, MissingFileError, check_name
from gsina.files import load_text
from gsina.graphs.dataset import Dataset
from gsina.listeners.base import flat
from gsina.methods import METHODS, make_config
from gsina.models.imbalance import (
    check_class_weight,
    check_metric,
    chooses_threshold,
    class_weights,
    judged,
)
from gsina.models.plan import Plan, check_budget, first_epoch
from gsina.molecules.descriptors import is_count
from gsina.nn.backbones import BACKBONES
from gsina.nn.backbones.protocol import DATA_SIDE
from gsina.nn.backbones.ranges import check_ranges
from gsina.nn.predictor import NetworkSpec
from gsina.runs.data import TAGS, Data, FileData, NamedData, NamedPart, Part, tag_of
from gsina.runs.options import changed_options, check_options
from gsina.training.devices import check_precision
from gsina.training.loop import Settings
from gsina.training.selection import SELECTIONS, make_selection


class MethodPart(NamedPart):
    """Which method, with its settings."""

    @model_validator(mode="after")
    def _known(self) -> MethodPart:
        entry = METHODS[check_name(self.name, METHODS, "method")]
        check_options(entry.config, self.options, f"method {self.name}")
        make_config(self.name, self.options)
        return self


class BackbonePart(NamedPart):
    """Which network, with its settings."""

    name: str = "gin"

    @model_validator(mode="after")
    def _known(self) -> BackbonePart:
        make = BACKBONES[check_name(self.name, BACKBONES, "backbone")]
        check_options(make, self.options, f"backbone {self.name}", leave_out=DATA_SIDE)
        check_ranges(self.options)
        return self


class OptimiserPart(Part):
    """How to optimise; see :class:`gsina.training.Settings`."""

    epochs: int = Field(default=100, ge=1)
    batch_size: int = Field(default=128, ge=1, le=2**31 - 1)
    learning_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    weight_decay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    plateau_patience: int | None = Field(default=None, ge=1)
    algorithm: Literal["adam", "adamw"] = "adam"
    neighbours: tuple[int, ...] | None = None
    precision: Annotated[str, AfterValidator(check_precision)] = "float32"
    class_weight: Annotated[str | dict[str, float] | None, AfterValidator(check_class_weight)] = (
        None
    )
    average: float = Field(default=0.0, ge=0, lt=1)
    resample: Literal["shortcuts"] | None = None


class SelectionPart(Part):
    """Which epoch is selected, and by which metric; by default by that of the dataset.

    A metric that is named, or that ``auto`` takes because of a rare class, also chooses the
    threshold of yes-or-no answers on validation data.
    """

    rule: str = "latest-best"
    patience: int | None = Field(default=None, ge=1)
    first_epoch: int = Field(default=0, ge=0)
    metric: Annotated[str | None, AfterValidator(check_metric)] = None

    @field_validator("rule")
    @classmethod
    def _known(cls, rule: str) -> str:
        return check_name(rule, SELECTIONS, "selection rule")


class RunPart(Part):
    """How a run is computed, and not what: it has no part in the names of results.

    Attributes:
        device: Where the model is trained: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu``, or
            ``auto`` for the best that there is.
        recompute: Whether states of networks are computed again in the backward pass, for less
            memory and more time.
    """

    device: str = "cpu"
    recompute: bool = False


class FieldError(InputError):
    """A field of a recipe is wrong.

    Attributes:
        field: Its path, such as ``method.options.ratio``.
        problem: What is wrong, without a full stop.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"recipe field {field}: {problem}.")
        self.field, self.problem = field, problem


class Recipe(Part):
    """Data, method, backbone, optimiser and selection rule; ``auto_ratio`` tries several ratios.

    An ``ensemble`` is the mean of so many members, trained with one seed after the other. With
    ``trees``, boosted trees on the features of whole graphs answer beside it, and a forest if there
    are counts of fingerprints among them; the mean counts.
    ``run`` says how all this is computed; recipes that differ in it alone are the :meth:`same`.
    """

    data: Data
    method: MethodPart
    backbone: BackbonePart = Field(default_factory=BackbonePart)
    optimiser: OptimiserPart = Field(default_factory=OptimiserPart)
    selection: SelectionPart = Field(default_factory=SelectionPart)
    auto_ratio: bool = False
    ensemble: int = Field(default=1, ge=1)
    trees: bool = False
    run: RunPart = Field(default_factory=RunPart)

    @model_validator(mode="after")
    def _can_choose(self) -> Self:
        if self.auto_ratio:
            check_budget(self.method.name, self.method.options | {"ratio": "auto"})
        return self

    @classmethod
    def parse(cls, values: dict[str, Any]) -> Self:
        """Validate plain values.

        Raises:
            FieldError: One sentence with the path of the first field that is wrong.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # A misspelt name also leaves the right one missing: the misspelling says more.
            first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
            message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
            path = ".".join(str(part) for part in _place(first["loc"])) or "recipe"
            if first["type"] == "value_error":
                path += _inside(first["input"], message)
            if first["type"] == "missing":
                message = "is missing"
            if first["type"] == "model_type":
                message = f"must be a table, such as [{path}] with a name in it"
            if first["type"] == "extra_forbidden":
                message = _suggest(values, first["loc"])
            explained = first["type"] in ("missing", "value_error", "extra_forbidden")
            got = "" if explained else f" (got {first['input']!r})"
            raise FieldError(path, f"{message}{got}") from error

    def changed(self, **fields: Any) -> Self:
        """The same recipe with other values of fields."""
        return self.parse(self.model_dump() | fields) if fields else self

    def on_device(self, device: str | None, *, recompute: bool | None = None) -> Self:
        """The same recipe, computed on a device; ``None`` changes nothing."""
        given = {"device": device, "recompute": recompute}
        changes = {name: value for name, value in given.items() if value is not None}
        return self.model_copy(update={"run": self.run.model_copy(update=changes)})

    def same(self, other: Recipe) -> bool:
        """Whether both describe the same training, wherever it is computed."""
        return self.essential() == other.essential()

    def essential(self) -> dict[str, Any]:
        """The settings that differ from the defaults, by part.

        Leaving a setting out and writing its default down give the same, and so does a setting that
        is added to the package later with the old behaviour as its default.
        """
        values = self.model_dump(exclude_defaults=True, exclude={"run"})
        values["data"] = self.data.essential()
        makers: dict[str, Callable[..., Any]] = {
            "method": METHODS[self.method.name].config,
            "backbone": BACKBONES[self.backbone.name],
        }
        for part, make in makers.items():
            chosen = getattr(self, part)
            values[part] = {"name": chosen.name, "options": changed_options(make, chosen.options)}
        return values

    def spelt_out(self) -> dict[str, Any]:
        """All settings by their paths, such as ``method.options.ratio``; of files only the names.

        This is what trackers get, and where a user keeps data is nobody's business.
        """
        values = self.model_dump()
        if isinstance(self.data, FileData):
            values["data"]["files"] = [re.split(r"[\\/]", file)[-1] for file in self.data.files]
        return flat(values)

    def judge(self, dataset: Dataset) -> Dataset:
        """The recipe's data, judged by its metric; it does not matter if they are already.

        A note says who reads the features of whole graphs, if there are such.

        Raises:
            InputError: The metric or the weights of classes are not for these data.
        """
        if self.optimiser.class_weight is not None:
            class_weights(dataset, self.optimiser.class_weight)
        note = self._reader(dataset)
        if note and note not in dataset.notes:
            dataset = replace(dataset, notes=(*dataset.notes, note))
        return judged(dataset, self.selection.metric)

    def _reader(self, dataset: Dataset) -> str:
        """Who reads the features of whole graphs, as a sentence; empty without any."""
        count = dataset.train.num_graph_features
        if not count and not self.trees:
            return ""
        described = f"the {count:,} features" if count else "descriptors"
        described += " of whole graphs"
        if self.trees:
            names = dataset.origin.reading.get("descriptors", {}).get("names", ())
            forest = " and a forest" if any(map(is_count, names)) else ""
            return (
                f"boosted trees{forest} read {described}, the network the graph alone; their mean "
                "counts."
            )
        return f"the network reads {described} beside the graph."

    def plan(self, dataset: Dataset, seed: int) -> Plan:
        """What to train on the data."""
        chosen, method = self.selection, self.method
        first = max(chosen.first_epoch, first_epoch(method.name, method.options))
        return Plan(
            spec=NetworkSpec(
                self.backbone.name,
                dataset.node_sizes or dataset.train.num_features,
                dataset.edge_sizes or dataset.train.num_edge_features,
                self.backbone.options,
                graph_channels=dataset.train.num_graph_features,
            ),
            method=method.name,
            options=method.options,
            auto_ratio=self.auto_ratio,
            settings=Settings(**self.optimiser.model_dump(), recompute=self.run.recompute),
            selection=make_selection(chosen.rule, chosen.patience, first),
            seed=seed,
            threshold=chooses_threshold(dataset, chosen.metric),
            ensemble=self.ensemble,
            trees=self.trees,
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a recipe from a TOML file."""
        try:
            values = tomllib.loads(load_text(path, "utf-8-sig"))
        except (FileNotFoundError, IsADirectoryError):
            raise MissingFileError(f"there is no recipe file {path}; check the path.") from None
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"{path} is not valid TOML: {error}.") from error
        try:
            return cls.parse(values)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from error


def _inside(part: Any, message: str) -> str:
    """The end of the path of the field that a message is about: the name or an option."""
    if not isinstance(part, dict):
        return ""
    if re.match(r"unknown (dataset|method|backbone) ", message):
        return ".name"
    about = re.split("; did you mean|; known:", message)[0]  # without the list of known names
    options = [name for name in part.get("options", {}) if re.search(rf"\b{name}\b", about)]
    quoted = [name for name in options if f"'{name}'" in about]
    return f".options.{(quoted or options)[0]}" if options else ""


def _place(loc: tuple[int | str, ...]) -> list[int | str]:
    """The path of a field without the tag of the kind of data."""
    return [part for i, part in enumerate(loc) if not (i == 1 and part in TAGS)]


def _suggest(values: dict[str, Any], loc: tuple[int | str, ...]) -> str:
    """Name the nearest field for one that does not exist."""
    models = {"named": NamedData, "file": FileData}
    model: Any = Recipe
    for part in _place(loc)[:-1]:
        model = model.model_fields[part].annotation
        if part == "data":
            model = models[tag_of(values["data"])]
    try:
        check_name(str(loc[-1]), model.model_fields, "field")
    except InputError as error:
        return str(error).rstrip(".")
    return "not a known field"
