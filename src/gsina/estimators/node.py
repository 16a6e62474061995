"""`NodeClassifier`: one label a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gsina.errors import InputError
from gsina.estimators.classes import ClassesMixin, class_task, judged
from gsina.estimators.inputs import as_dataset, as_graphs, hold_out, with_labels
from gsina.estimators.labels import as_array, encode, missing
from gsina.estimators.networks import OwnBackbone
from gsina.graphs.dataset import Dataset
from gsina.graphs.masks import check_apart
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Level
from gsina.training import Settings

PARTS = ("train", "val", "test")


class NodeClassifier(ClassifierMixin, ClassesMixin):  # type: ignore[misc]
    """Classes of the nodes of a graph, predicted from the edges that decide.

    ::

        model = NodeClassifier(ratio=0.8).fit(data)  # a PyG Data with train_mask and val_mask
        model.score(data)  # accuracy on test_mask

    See :class:`~gsina.estimators.base.GraphEstimator` for the parameters; the defaults are those
    for one graph, where an epoch is one step. For a graph too large for one step, ``neighbours``
    is the most neighbours of a node to draw in each hop, such as ``(10, 10)``; a step then takes
    ``batch_size`` nodes, by default 512.
    """

    _level: Level = "node"

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
        )

    def _settings(self) -> Settings:
        usual = 1 if self.neighbours is None else 512
        size = usual if self.batch_size is None else self.batch_size
        return Settings(self.epochs, size, self.learning_rate, neighbours=self.neighbours)

    def fit(self, graphs: Any, y: Any = None, val: Any = None) -> Self:
        """Train on some nodes, and stop by others.

        Args:
            graphs: A PyG ``Data`` (or a list of them) with ``train_mask`` and ``val_mask``, or a
                ``Dataset`` at node level. Without a ``train_mask`` all labelled nodes count that
                are neither in ``val_mask`` nor in ``test_mask``, without a ``val_mask`` a tenth of
                them is held out.
            y: One label a node, of any hashable type; by default ``data.y``, where -1 is a missing
                label.
            val: Another ``Data`` to validate on, in place of ``val_mask``.
        """
        whole = as_dataset(graphs)
        if whole is not None:
            if whole.task.level != "node" or whole.task.kind == "regression":
                raise InputError("this dataset has no classes of nodes; use GraphClassifier.")
            self._train(judged(whole))
            return self
        packed = _packed(graphs)
        values = _labels(packed, y)
        if y is None and values.ndim == 1 and len({*values.tolist()} - {None}) < 2:
            raise InputError(
                "the nodes have less than two classes (a label of -1 in `y` of a graph is a "
                "missing one); number the classes from 0, or give the labels as y."
            )
        masks = {part: _mask(graphs, packed, f"{part}_mask") for part in PARTS}
        check_apart({part: mask for part, mask in masks.items() if mask is not None})
        train, held, test = masks.values()
        if train is None:
            train = torch.ones(packed.x.size(0), dtype=torch.bool)
            for apart in (held, test):
                train = train if apart is None else train & ~apart
        train = train & torch.from_numpy(~missing(values))
        if held is None and val is None:
            train, held = self._hold_out(values, train)
        if not bool(train.any()):
            raise InputError("no labelled node is in train_mask; expected at least one.")
        task, classes = class_task(values[train.numpy()], "node")
        inside = train if held is None else train | held
        codes = encode(_only(values, inside), classes, task)
        splits = {"train": replace(with_labels(packed, codes, "node"), mask=train)}
        if val is not None:
            other = _packed(val)
            theirs = _labels(other, None)
            mask = _mask(val, other, "val_mask")
            mask = torch.from_numpy(~missing(theirs)) if mask is None else mask
            labels = encode(_only(theirs, mask), classes, task)
            splits["val"] = replace(with_labels(other, labels, "node"), mask=mask)
        else:
            splits["val"] = replace(splits["train"], mask=held)
        self._train(judged(Dataset("nodes", task, splits, class_names=classes)))
        return self

    def score(self, graphs: Any, y: Any = None, mask: Any = None) -> float:
        """Accuracy.

        Args:
            graphs: The graph.
            y: One label a node; by default ``data.y``.
            mask: Nodes that count ``[N]``, bool; by default ``test_mask`` if there is one, else
                all with labels.
        """
        packed = _packed(graphs)
        if mask is None:
            mask = _mask(graphs, packed, "test_mask")
        if mask is None:
            mask = packed.mask
        rows = slice(None) if mask is None else torch.as_tensor(mask).numpy()
        check_is_fitted(self, "model_")
        truth = _labels(packed, self._own_labels(graphs) if y is None else y)
        return self._accuracy(packed, truth, rows)

    def _hold_out(self, values: NDArray[Any], train: Tensor) -> tuple[Tensor, Tensor]:
        rows = train.nonzero().flatten()
        names = {name: number for number, name in enumerate(dict.fromkeys(values.tolist()))}
        codes = torch.tensor([names[value] for value in values[rows.numpy()].tolist()])
        seed = self.random_state if isinstance(self.random_state, int) else 0
        parts = hold_out(codes, rows.numel(), seed)
        masks = []
        for part in parts:
            mask = torch.zeros_like(train)
            mask[rows[part]] = True
            masks.append(mask)
        return masks[0], masks[1]


def _packed(graphs: Any) -> PackedGraphs:
    return as_graphs(graphs, "node")


def _labels(graphs: PackedGraphs, y: Any) -> NDArray[Any]:
    if y is not None:
        return as_array(y, graphs.x.size(0), "nodes")
    if graphs.node_y is None:
        raise InputError("these nodes have no labels; give them as y, or as `y` of the graph.")
    values = as_array(graphs.node_y, graphs.x.size(0), "nodes")
    gone = values == -1
    if values.ndim > 1 or not gone.any():
        return values
    values = values.astype(object)
    values[gone] = None
    return values


def _mask(graphs: Any, packed: PackedGraphs, name: str) -> Tensor | None:
    """A mask over all nodes ``[N]``, if the PyG objects have it."""
    objects = graphs if isinstance(graphs, list | tuple) else [graphs]
    found = [mask for data in objects if (mask := getattr(data, name, None)) is not None]
    if 0 < len(found) < len(objects):
        raise InputError(
            f"{len(found)} of {len(objects)} graphs have a {name}; expected one in all or in none."
        )
    if not found:
        if name == "train_mask" and isinstance(graphs, PackedGraphs):
            return graphs.mask
        return None
    mask = torch.cat([torch.as_tensor(mask) for mask in found])
    if mask.dtype != torch.bool or mask.shape != (packed.x.size(0),):
        raise InputError(
            f"{name} must be a truth value for each of {packed.x.size(0)} nodes, got "
            f"{mask.dtype} of shape {list(mask.shape)}; of several columns choose one."
        )
    return mask


def _only(values: NDArray[Any], mask: Tensor) -> NDArray[Any]:
    """Labels of the nodes in a mask; those of others may be anything and are dropped."""
    if values.ndim == 2:
        kept: NDArray[Any] = np.where(mask.numpy()[:, None], values.astype(float), np.nan)
        return kept
    kept = values.astype(object)
    kept[~mask.numpy()] = None
    return kept
