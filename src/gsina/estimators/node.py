"""`NodeClassifier` and `NodeRegressor`: one label or number per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from gsina.errors import InputError
from gsina.estimators.base import GraphEstimator
from gsina.estimators.classes import ClassesMixin
from gsina.estimators.inputs import check_mask, read_graphs, with_labels, with_reading
from gsina.estimators.networks import OwnBackbone
from gsina.estimators.numbers import NumbersMixin
from gsina.formats.objects import ReadObjects
from gsina.graphs.classes import Classes, missing, only
from gsina.graphs.dataset import Dataset
from gsina.graphs.masks import check_apart
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Level
from gsina.listeners.trackers import Listeners
from gsina.models.imbalance import AUTO, check_class_weight, with_sample_weight
from gsina.training import Settings

PARTS = ("train", "val", "test")


class NodeEstimator(GraphEstimator):
    """What estimators of nodes share: masks, and defaults for one graph.

    A PyG ``Data`` (or each in a list) says by ``train_mask`` and ``val_mask`` which nodes to train
    on and to stop by. Without a ``train_mask`` all labelled nodes count that are neither in
    ``val_mask`` nor in ``test_mask``, without a ``val_mask`` a tenth of them is held out; ``val``
    of :meth:`fit` may be another ``Data`` to validate on. A label of -1 in ``y`` of a graph is a
    missing class.

    See :class:`~gsina.estimators.base.GraphEstimator` for the parameters; the defaults are those
    for one graph, where an epoch is one step. For a graph too large for one step, ``neighbours``
    is the most neighbours of a node to draw in each hop, such as ``(10, 10)``; a step then takes
    ``batch_size`` nodes, by default 512.
    """

    _level: Level = "node"
    features: str | Sequence[str] | None = None

    def __init__(
        self,
        method: str = "gsina",
        backbone: str | OwnBackbone = "gcn",
        ratio: float | str | None = None,
        temperature: float | None = None,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.3,
        epochs: int = 200,
        batch_size: int | None = None,
        learning_rate: float = 1e-2,
        patience: int | None = 50,
        method_options: dict[str, Any] | None = None,
        random_state: Any = 0,
        verbose: bool = False,
        neighbours: tuple[int, ...] | None = None,
        budget: float | None = None,
        class_weight: str | dict[Any, float] | None = None,
        metric: str | None = AUTO,
        ensemble: int = 1,
        device: str = "cpu",
        listeners: Listeners = None,
    ) -> None:
        self.neighbours = neighbours
        super().__init__(
            method,
            backbone,
            ratio,
            temperature,
            hidden_channels,
            num_layers,
            dropout,
            epochs,
            batch_size,
            learning_rate,
            patience,
            method_options,
            random_state,
            verbose,
            budget,
            class_weight,
            metric,
            ensemble=ensemble,
            device=device,
            listeners=listeners,
        )
        # No parameters here: features of whole molecules say nothing about nodes.
        del self.features, self.trees

    def _settings(self) -> Settings:
        usual = 1 if self.neighbours is None else 512
        size = usual if self.batch_size is None else self.batch_size
        return Settings(
            self.epochs,
            size,
            self.learning_rate,
            neighbours=self.neighbours,
            class_weight=check_class_weight(self.class_weight),
        )

    def _dataset(self, graphs: Any, y: Any, val: Any, sample_weight: Any = None) -> Dataset:
        found = read_graphs(graphs, "node")
        packed = found.graphs
        values = self._values(packed, y)
        labelled = torch.from_numpy(~missing(values))
        classes = self._coding is Classes and values.ndim == 1
        if y is None and classes and len({*values[labelled.numpy()].tolist()}) < 2:
            raise InputError(
                "the nodes have less than two classes (a label of -1 in `y` of a graph is a "
                "missing one); number the classes from 0, or give the labels as y."
            )
        masks = {part: _mask(found, f"{part}_mask") for part in PARTS}
        check_apart({part: mask for part, mask in masks.items() if mask is not None})
        train, held, test = masks.values()
        for apart in (held, test) if train is None else ():
            labelled = labelled if apart is None else labelled & ~apart
        train = labelled if train is None else train & labelled
        if not bool(train.any()):
            raise InputError("no labelled node is in train_mask; expected at least one.")
        coding = self._coding.of(values[train.numpy()], "node")
        inside = train if held is None else train | held
        codes = coding.encode(only(values, inside.numpy()))
        packed = other = with_labels(packed, codes, "node")
        if val is not None:
            others = read_graphs(val, "node", found.reading or None)
            other = others.graphs
            theirs = self._values(other, None)
            held = _mask(others, "val_mask")
            held = torch.from_numpy(~missing(theirs)) if held is None else held
            other = with_labels(other, coding.encode(only(theirs, held.numpy())), "node")
        elif held is None:
            rows, nobody = train.nonzero().flatten(), torch.zeros_like(train)
            parts = self._hold_out(codes[rows])
            train, held = (nobody.index_fill(0, rows[part], True) for part in parts)
        packed = with_sample_weight(packed, sample_weight, "node")
        splits = {"train": replace(packed, mask=train), "val": replace(other, mask=held)}
        dataset = Dataset("nodes", coding.task, splits, class_names=coding.names)
        return with_reading(dataset, found)

    def _values(self, graphs: PackedGraphs, y: Any) -> NDArray[Any]:
        values = super()._values(graphs, y)
        if y is None and self._coding is Classes and values.ndim == 1 and (values == -1).any():
            return only(values, values != -1)
        return values

    def _default_mask(self, found: ReadObjects) -> Tensor | None:
        mask = _mask(found, "test_mask")
        return found.graphs.mask if mask is None else mask


class NodeClassifier(ClassesMixin, NodeEstimator):
    """Classes of the nodes of a graph, predicted from the edges that decide.

    ::

        model = NodeClassifier(ratio=0.8).fit(data)  # a PyG Data with train_mask and val_mask
        model.score(data)  # accuracy on test_mask

    See :class:`NodeEstimator` for masks and parameters.
    """


class NodeRegressor(NumbersMixin, NodeEstimator):
    """Numbers of the nodes of a graph, predicted from the edges that decide.

    ::

        model = NodeRegressor().fit(data)  # a PyG Data with train_mask and val_mask
        model.predict(data)  # [N], or [N, targets]
        model.score(data)  # R2 on test_mask

    Targets are brought to mean 0 and variance 1 for training; answers are in their units, and a
    missing number is NaN. See :class:`NodeEstimator` for masks and parameters.
    """


def _mask(found: ReadObjects, name: str) -> Tensor | None:
    """A mask over all nodes ``[N]``, if the objects have it."""
    masks = [mask for data in found.objects if (mask := getattr(data, name, None)) is not None]
    if 0 < len(masks) < len(found.objects):
        raise InputError(
            f"{len(masks)} of {len(found.objects)} graphs have a {name}; expected one in all or in "
            "none."
        )
    if not masks:
        return found.graphs.mask if name == "train_mask" and not found.objects else None
    mask = torch.cat([torch.as_tensor(mask) for mask in masks])
    return check_mask(mask, name, found.graphs.x.size(0), "node")
