"""`Model`: trained weights with everything needed to use them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.export import ExportedProgram

from gsina.errors import InputError
from gsina.explainers.frozen import Explainer
from gsina.formats.objects import read_objects
from gsina.graphs.classes import Classes, Numbers
from gsina.graphs.dataset import Dataset
from gsina.graphs.descriptors import describe_graphs
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.pyg import is_one_graph
from gsina.graphs.scaling import apply_scaling
from gsina.graphs.task import Level, Task
from gsina.methods import Method
from gsina.methods.trees import WithTrees
from gsina.metrics import METRICS, predicted_classes
from gsina.models.architecture import Architecture
from gsina.models.display import model_html
from gsina.models.explanations import explain
from gsina.models.export import export_program
from gsina.models.pyg import PygModel
from gsina.models.uncertainty.calibration import Calibration
from gsina.models.uncertainty.reference import Reference
from gsina.training.evaluate import Predictions, evaluation_size, predict, score
from gsina.training.states import Level as StatesLevel
from gsina.training.states import no_states


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of every target ``[outputs]``, to standardise regression.

    Attributes:
        mean: Over the known training labels.
        std: The same; 1 for a constant target.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, y: Tensor) -> Scale:
        """The scale of training labels ``[G, outputs]``."""
        known = ~y.isnan()
        count = known.sum(0).clamp(min=1)
        values = torch.where(known, y, 0).double()
        mean = values.sum(0) / count
        spread = ((values - mean).square() * known).sum(0) / count
        std = torch.where(spread > 0, spread.sqrt(), 1.0)
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def remove(self, y: Tensor) -> Tensor:
        """Standardised labels."""
        return ((y.double() - torch.tensor(self.mean)) / torch.tensor(self.std)).float()

    def restore(self, values: Tensor) -> Tensor:
        """Outputs of the network in the units of the labels."""
        mean, std = torch.tensor(self.mean), torch.tensor(self.std)
        return (values.double() * std + mean).to(values.dtype)

    def apply(self, dataset: Dataset) -> Dataset:
        """The dataset with standardised labels."""
        level = dataset.task.level
        changed = {name: self.remove_from(part, level) for name, part in dataset.splits.items()}
        return replace(dataset, splits=changed)

    def remove_from(self, graphs: PackedGraphs, level: Level) -> PackedGraphs:
        """Graphs with standardised labels, if they have any."""
        y = graphs.labels(level)
        name = "node_y" if level == "node" else "y"
        values: dict[str, Any] = {} if y is None else {name: self.remove(y)}
        return replace(graphs, **values)


#: Rows that trees are asked about at a time.
TREE_ROWS = 1024


@dataclass(frozen=True)
class Model:
    """A trained method with its features, its labels and its origin.

    Attributes:
        method: The method with its weights.
        task: What is predicted.
        architecture: What rebuilds the network.
        featuriser: How graphs are made from a file: ``kind``, ``version`` and what belongs to it;
            ``scaling``, if there is one, is applied to the features of all graphs (see
            :mod:`gsina.graphs.scaling`); ``described``, how graphs without features of whole graphs
            get some (see :mod:`gsina.graphs.descriptors`).
        target_names: Names of the outputs, ``()`` if they have none.
        class_names: Labels of the classes, ``()`` if they are just numbers.
        scale: Units of the targets in regression.
        training: Optimiser, selection rule, seed and epochs, for the record.
        data: Name, sizes and fingerprint of the training data.
        metrics: Scores on every split.
        versions: Versions at the time of training.
        created: Date and time.
        calibration: How logits become probabilities and decisions.
        reference: What it knows of its validation and training data, to say how far to trust it;
            ``None`` for models of earlier versions.
        baselines: What it was compared with, as :func:`gsina.models.comparison.compare` gives it;
            empty if with nothing.
    """

    method: Method
    task: Task
    architecture: Architecture
    featuriser: dict[str, Any] = field(default_factory=lambda: {"kind": "tensors", "version": 1})
    target_names: tuple[str, ...] = ()
    class_names: tuple[Hashable, ...] = ()
    scale: Scale | None = None
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
    calibration: Calibration = field(default_factory=Calibration)
    reference: Reference | None = None
    baselines: dict[str, Any] = field(default_factory=dict)

    @property
    def coding(self) -> Classes | Numbers:
        """The way from labels to the numbers of the task, and back."""
        if self.task.kind == "regression":
            return Numbers(self.task)
        count = self.task.outputs if self.task.kind == "multiclass" else 2
        return Classes(self.class_names or tuple(range(count)), self.task)

    @property
    def reading(self) -> dict[str, Any]:
        """How new graphs are read: :attr:`featuriser`, and which descriptors are worth computing.

        Trees look at some of them only, and no one else does; the others may be NaN.
        """
        known: dict[str, Any] = self.featuriser.get("descriptors", {})
        complete = len(known.get("names", ())) == self.architecture.graph_channels
        if not known or not complete or not isinstance(self.method, WithTrees):
            return self.featuriser
        used = [known["names"][feature] for feature in self.method.used()]
        return self.featuriser | {"descriptors": known | {"used": used}}

    def read(self, graphs: Any) -> PackedGraphs:
        """Graphs of any kind, made as those of the training.

        Args:
            graphs: As in :func:`~gsina.formats.objects.read_objects`: packed graphs, SMILES, RDKit
                molecules, NetworkX graphs, PyG objects, or whatever holds such.

        Raises:
            InputError: One cannot be read; the sentence says at which positions.
        """
        if isinstance(graphs, PackedGraphs):
            return graphs
        return read_objects(graphs, self.task.level, self.reading).graphs

    def embed(self, graphs: Any, *, nodes: bool = False) -> NDArray[np.float32]:
        """The states that the last layer predicts from, with attention applied ``[G, H]``.

        At node level, and with ``nodes``, one row per node ``[N, H]``.

        Args:
            graphs: Graphs of any kind that :meth:`read` takes.
            nodes: Give the node states that are pooled into those of the graphs.

        Raises:
            InputError: The method does not say which layer is its last, or does not pool one state
                per node.
        """
        inner = nodes and self.task.level == "graph"
        found = self.predict(graphs, states="node" if inner else "label")
        states = found.node_states if inner else found.states
        if states is None:
            raise no_states(self.method)
        return states.float().numpy()

    def __repr__(self) -> str:
        """One line; what it was trained on, by which method."""
        made, name = self.architecture, self.data.get("name", "unknown data")
        return f"Model({made.method} on {made.backbone}, trained on {name}, {self.created})"

    def _repr_html_(self) -> str:
        """What it reads and predicts, and its scores, for notebooks."""
        return model_html(self)

    def predict(
        self, graphs: Any, batch_size: int | None = None, *, states: StatesLevel | None = None
    ) -> Predictions:
        """Logits, or values in the units of the targets, and attention of every graph in order.

        Args:
            graphs: Graphs with the features of the training, of any kind that :meth:`read` takes.
            batch_size: Graphs per batch; by default as in the evaluation of the training, which
                matters to methods whose answers depend on the batch.
            states: Which states to keep besides (see :meth:`embed`); none by default.
        """
        scaled = self._ready(graphs)
        if batch_size is None:
            trained_with = self.training.get("settings", {}).get("batch_size", 128)
            batch_size = evaluation_size(self.method, trained_with)
        found = predict(self.method, scaled, batch_size, states=states)
        if self.scale is not None:
            each = found.members
            found = replace(
                found,
                logits=self.scale.restore(found.logits),
                members=None if each is None else self.scale.restore(each),
            )
        return found

    def trees(self, graphs: Any, part: str | None = None) -> Tensor:
        """What the trees beside the network say alone, as logits or in the units of the targets.

        Args:
            graphs: Graphs of any kind that :meth:`read` takes.
            part: One of :attr:`~gsina.methods.trees.WithTrees.parts`; by default all together.

        Raises:
            InputError: The model has no trees.
        """
        if not isinstance(self.method, WithTrees):
            raise InputError("this model has no trees beside its network; train it with trees.")
        scaled, device = self._ready(graphs), self.method.trees.base.device
        answer = self.method.beside if part is None else self.method.parts[part]
        assert scaled.graph_attr is not None
        with torch.no_grad():
            rows = torch.split(scaled.graph_attr.to(device), TREE_ROWS)
            found = torch.cat([answer(some) for some in rows]).cpu()
        return found if self.scale is None else self.scale.restore(found)

    def _ready(self, graphs: Any) -> PackedGraphs:
        """Graphs as the method takes them: read, described if trees ask for it, and scaled."""
        found, how = self.read(graphs), self.featuriser.get("described")
        if how and self.architecture.graph_channels and found.graph_attr is None:
            found = replace(found, graph_attr=describe_graphs(found, how))
        self.check(found)
        (scaled,) = apply_scaling(self.featuriser.get("scaling", {}), found)
        return scaled

    def network_alone(self) -> Model:
        """The model without the trees beside its network; itself if there are none.

        What is learnt by taking edges away is about the network: trees see the whole graph.
        """
        if not isinstance(self.method, WithTrees):
            return self
        made = replace(self.architecture, trees=None, forest=None, graph_channels=0)
        return replace(
            self, method=self.method.network, architecture=made, calibration=Calibration()
        )

    def explain(
        self,
        graphs: Any,
        explainer: str | Explainer | None = None,
        *,
        index: int | Sequence[int] | Tensor | None = None,
        train: Any = None,
        seed: int = 0,
    ) -> Any:
        """What the answers rest on: one :class:`~gsina.explainers.explanation.Explanation` each.

        A single graph gives one, whatever holds several gives a list. The weights are those of the
        method's own attention, of its cut if it predicts from a part only, and of GNNExplainer for
        methods without attention; ``explanation.explainer`` says which. Beside trees they are about
        the network alone, as ``explanation.about`` says, and ``prediction`` is that of all.

        Args:
            graphs: Graphs of any kind that :meth:`read` takes.
            explainer: A post-hoc explainer instead: ``gnnexplainer``, ``pgexplainer``,
                ``graphmask``, or one of these classes with settings.
            index: At node level, nodes of the one graph; edges that they cannot see get weight 0.
            train: Training graphs, for explainers that learn.
            seed: Seeds the explainer.
        """
        packed = self.read(graphs)
        learn = None if train is None else self.read(train)
        found = explain(self, packed, explainer, index=index, train=learn, seed=seed)
        return found[0] if is_one_graph(graphs) else found

    def as_pyg(self, returns: Literal["raw", "probs"] = "raw") -> PygModel:
        """A frozen copy ``forward(x, edge_index, batch, edge_attr)``, for PyG's explainers.

        It returns raw outputs or, with ``probs``, probabilities, as PyG's ``return_type`` has it.
        Of a model with trees it is the network alone.
        """
        return PygModel(self.network_alone(), returns)

    def export(self) -> ExportedProgram:
        """A program of torch's operators: :func:`~gsina.models.export.export_program`."""
        return export_program(self)

    def score(self, graphs: Any, predictions: Predictions | None = None) -> dict[str, float]:
        """All metrics that apply to labelled graphs.

        Of several targets that are numbers, errors are in standard deviations of each: a mean over
        units would say nothing.
        """
        graphs = self.read(graphs)
        found = self.predict(graphs) if predictions is None else predictions
        if self.scale is not None and METRICS[self.task.metric].one_target:
            found = replace(found, logits=self.scale.remove(found.logits))
            graphs = self.scale.remove_from(graphs, self.task.level)
        decided = self.calibration.decided(found.logits) if self.calibration.cut else None
        return score(found, graphs, self.task, decided)

    def classes(self, logits: Tensor) -> Tensor:
        """Class of every row ``[G]``, or 0/1 of every output ``[G, outputs]`` in binary tasks."""
        return predicted_classes(self.calibration.decided(logits), self.task)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Of binary tasks, the probability above which the answer is yes ``[outputs]``."""
        if self.task.kind != "binary":
            return ()
        cut = torch.tensor([self.calibration.cut or (0.0,) * self.task.outputs])
        return tuple(self.probabilities(cut)[0].tolist())

    def probabilities(self, logits: Tensor) -> Tensor:
        """``[G, classes]``; of binary tasks that of the second class, ``[G, outputs]``."""
        logits = self.calibration.apply(logits)
        return logits.softmax(-1) if self.task.kind == "multiclass" else logits.sigmoid()

    def spread(self, predictions: Predictions) -> Tensor:
        """How far the members of an ensemble are apart ``[G, targets]``: standard deviations.

        Of numbers those of the values, in their units; of classes those of the calibrated
        probability of the answer.

        Raises:
            InputError: The model has one member only.
        """
        each = predictions.members  # [G, members, outputs]
        if each is None:
            raise InputError(
                "this model has one member, so there is no spread; train several with ensemble=5 "
                "(--ensemble 5)."
            )
        if self.task.kind == "regression":
            return each.std(1, correction=0)
        found = self.probabilities(each).std(1, correction=0)
        if self.task.kind == "binary":
            return found  # of no as of yes
        return found.gather(1, self.classes(predictions.logits).unsqueeze(1))

    def check(self, graphs: PackedGraphs) -> None:
        """Refuse graphs whose features are not those that the model was trained on."""
        made = self.architecture
        _check_features(graphs.x, made.node_channels, "node")
        if made.edge_channels:
            if graphs.edge_attr is None:
                raise InputError(
                    "these graphs have no edge features, but the model was trained with some; make "
                    "the graphs as those it was trained on."
                )
            _check_features(graphs.edge_attr, made.edge_channels, "edge")
        if made.graph_channels not in (0, graphs.num_graph_features):
            raise InputError(
                f"these graphs have {graphs.num_graph_features} features of the whole graph "
                f"(graph_attr), but the model was trained on {made.graph_channels}; make the "
                "graphs as those it was trained on."
            )


def fingerprint_of_graphs(graphs: PackedGraphs) -> str:
    """A short hash of everything in a dataset."""
    digest = hashlib.sha256()
    for name, value in sorted(graphs.tensors().items()):
        digest.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        digest.update(value.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _check_features(values: Tensor, channels: int | tuple[int, ...], what: str) -> None:
    width = channels if isinstance(channels, int) else len(channels)
    if values.size(1) != width:
        raise InputError(
            f"these graphs have {values.size(1)} {what} features, but the model was trained on "
            f"{width}; make the graphs as those it was trained on."
        )
    if isinstance(channels, int) or not values.numel():
        return
    if bool((values.amax(0) >= torch.tensor(channels)).any()) or int(values.min()) < 0:
        raise InputError(
            f"a categorical {what} feature has a value that the model was not made for; categories "
            f"must lie below {list(channels)}."
        )
