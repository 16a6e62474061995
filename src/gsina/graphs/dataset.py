"""`Dataset`: splits, what is to be predicted, and where it came from; a cache for prepared ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from gsina.errors import InputError
from gsina.files import cache_dir, load_prepared, load_tensors, save_tensors
from gsina.graphs.display import dataset_html, dataset_text
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task


@dataclass(frozen=True)
class Origin:
    """Where a dataset came from, and how to read more of the same.

    Attributes:
        reading: What a model needs to read new files the same way, JSON-able: ``kind`` and
            ``version`` of the format, and what belongs to it; empty for datasets by name.
        file: Name of the file; empty for datasets by name.
        fingerprint: Hash of what was in it.
        split: Rule asked for, rule used, column, seed and sizes, JSON-able.
        names: SMILES or id of every graph of each split, in order. At node level, of every node
            that counts there; ``"all"`` has every node.
        rows: Row number in the file, in the same order; the header of a CSV file is row 1.
        unreadable: Row number and reason of every row that could not be read.
    """

    reading: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    fingerprint: str = ""
    split: dict[str, Any] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)
    unreadable: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Dataset:
    """Named splits; at node level every split holds whole graphs with masks.

    Attributes:
        name: Name, as in the registry or of the file.
        task: What is predicted.
        splits: ``train``, ``val``, ``test`` (out of distribution), and perhaps more; ``id_test``
            is drawn like ``train``.
        notes: Things worth telling a user, such as the number of rows that could not be read.
        node_sizes: Number of categories of each integer node feature; empty for plain numbers.
        edge_sizes: Number of categories of each integer edge feature; empty for plain numbers.
        scaling: How to bring the features to one scale in training; the splits hold them as they
            are (see :mod:`gsina.graphs.scaling`). It is not saved.
        target_names: Name of every target; ``()`` if they have none.
        class_names: Label of class 0, 1, ... of a single target; ``()`` for numbers, and for
            classes that are just numbers.
        origin: Where it came from. It is not saved.
    """

    name: str
    task: Task
    splits: dict[str, PackedGraphs]
    notes: tuple[str, ...] = ()
    node_sizes: tuple[int, ...] = ()
    edge_sizes: tuple[int, ...] = ()
    scaling: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    target_names: tuple[str, ...] = ()
    class_names: tuple[Hashable, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        return dataset_text(self)

    def _repr_html_(self) -> str:
        """What is predicted and the splits, for notebooks."""
        return dataset_html(self)

    def __post_init__(self) -> None:
        for needed in ("train", "val"):
            if needed not in self.splits:
                raise InputError(
                    f"dataset {self.name} needs a split {needed}, got {sorted(self.splits)}."
                )
            if len(self.splits[needed]) == 0:
                raise InputError(
                    f"the {needed} split of {self.name} has no graphs, expected at least one."
                )
        for split, graphs in self.splits.items():
            labels = graphs.labels(self.task.level)
            if labels is not None:
                self.task.check(labels, f"the {split} split of {self.name}")
        self._check_classes()

    def _check_classes(self) -> None:
        """Refuse training labels of a single class: there would be nothing to learn."""
        labels = self.train.labels(self.task.level)
        if labels is None or self.task.kind == "regression":
            return
        if self.task.level == "node" and self.train.mask is not None:
            labels = labels[self.train.mask]
        columns = labels.unsqueeze(0) if labels.dim() == 1 else labels.T
        known = [column[column >= 0] for column in columns]  # neither -1 nor NaN
        known = [values for values in known if values.numel()]
        if known and all(bool((values == values[0]).all()) for values in known):
            values = {values[0].item() for values in known}
            what = f"are {values.pop():g}" if len(values) == 1 else "of a column are the same"
            raise InputError(
                f"all training labels of {self.name} {what}, expected at least two classes; choose "
                f"other {self.task.level}s or another split."
            )

    @property
    def train(self) -> PackedGraphs:
        """The training graphs."""
        return self.splits["train"]

    @property
    def val(self) -> PackedGraphs:
        """The graphs that select the epoch and the hyper-parameters."""
        return self.splits["val"]

    @property
    def test(self) -> PackedGraphs:
        """The out-of-distribution graphs, never used for selection."""
        return self.splits["test"]

    @property
    def shifted(self) -> bool:
        """Whether the test data differ from the training data in kind."""
        return self.origin.split.get("used") != "random"

    def to_undirected(self) -> Dataset:
        """The same with the opposite of every edge that has none."""
        both = {split: graphs.to_undirected() for split, graphs in self.splits.items()}
        return replace(self, splits=both)

    def save(self, path: Path) -> None:
        """Write all splits as one safetensors file."""
        tensors = {
            f"{split}.{name}": value
            for split, graphs in self.splits.items()
            for name, value in graphs.tensors().items()
        }
        meta = {
            "name": self.name,
            "task": asdict(self.task),
            "notes": list(self.notes),
            "splits": list(self.splits),
            "node_sizes": list(self.node_sizes),
            "edge_sizes": list(self.edge_sizes),
        }
        save_tensors(path, tensors, meta)

    @classmethod
    def load(cls, path: Path) -> Dataset:
        """Read what :meth:`save` wrote."""
        return cls._of(*load_tensors(path))

    @classmethod
    def _of(cls, tensors: dict[str, Tensor], meta: dict[str, Any]) -> Dataset:
        grouped: dict[str, dict[str, object]] = {split: {} for split in meta["splits"]}
        for key, value in tensors.items():
            split, name = key.split(".", 1)
            grouped[split][name] = value
        return cls(
            name=meta["name"],
            task=Task(**meta["task"]),
            splits={split: PackedGraphs(**parts) for split, parts in grouped.items()},  # type: ignore[arg-type]
            notes=tuple(meta["notes"]),
            node_sizes=tuple(meta["node_sizes"]),
            edge_sizes=tuple(meta["edge_sizes"]),
        )


def cached(key: str, make: Callable[[], Dataset]) -> Dataset:
    """The dataset stored under ``key`` in the cache folder, made and stored if it is missing.

    ``key`` must name everything that the content depends on, the version of its code included. A
    broken cache file is made again; a read-only or full cache folder costs only time.
    """
    path = cache_dir() / f"{key}.safetensors"
    if path.exists():
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            return Dataset._of(*load_prepared(path))
    dataset = make()
    with contextlib.suppress(OSError):
        dataset.save(path)
    return dataset
