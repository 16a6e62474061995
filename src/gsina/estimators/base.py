"""What all estimators share: parameters, training, saving and loading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gsina.errors import InputError
from gsina.estimators.display import DisplayMixin
from gsina.estimators.hearing import beginning, kept_scores, listeners_of, log
from gsina.estimators.inputs import (
    check_answers,
    check_features,
    check_mask,
    feature_kinds,
    hold_out,
    read_graphs,
    with_labels,
    with_reading,
)
from gsina.estimators.loaded import parameters_of
from gsina.estimators.method_options import method_options
from gsina.estimators.networks import OwnBackbone, make_spec, own_spec
from gsina.formats.objects import ReadObjects, read_objects
from gsina.graphs.classes import Classes, Numbers, as_array, only
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.pyg import is_one_graph
from gsina.graphs.task import Level, Task
from gsina.listeners import told
from gsina.listeners.trackers import Listeners
from gsina.models.architecture import Architecture
from gsina.models.folder import load_model, save_model
from gsina.models.imbalance import (
    AUTO,
    check_class_weight,
    check_metric,
    chooses_threshold,
    judged,
    with_sample_weight,
)
from gsina.models.model import Model
from gsina.models.plan import Plan, first_epoch
from gsina.models.pyg import PygModel
from gsina.models.train import train_model
from gsina.models.uncertainty.answers import coverage_notes, domain_percentiles, reference_of
from gsina.models.uncertainty.shift import Shift, find_shift
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings
from gsina.training.evaluate import Predictions
from gsina.training.selection import StrictBest
from gsina.training.states import Level as StatesLevel

#: Parameters of the network, which PyG's networks call the same.
SIZES = ("hidden_channels", "num_layers", "dropout")


class GraphEstimator(DisplayMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters and the common part of the estimators.

    Args:
        method: Name of a method; ``gsina methods`` lists them.
        backbone: Name of a network; or a PyG network, its class, or a function that makes one. A
            class or function is called with those of ``in_channels``, ``out_channels``,
            ``edge_channels`` and the sizes below that it names; its network has ``out_channels``.
        ratio: Share of the edges that the subgraph holds, by default the method's own (GSINA's is
            0.5); ``"auto"`` trains with a few and keeps the best on validation data.
        budget: Number of edges of every graph in place of a share; both directions count once.
        temperature: Softness of the attention, for methods that have one; by default their own.
        hidden_channels: Width of the network.
        num_layers: Its depth.
        dropout: Dropout after every layer, if the network has any.
        epochs: Largest number of epochs.
        batch_size: Graphs per step.
        learning_rate: Of Adam.
        patience: Stop after so many epochs without a better one; ``None``: never.
        method_options: Further settings of the method by name.
        random_state: Seed, NumPy generator, or ``None`` for another result every time.
        verbose: Whether to show progress: a bar in a notebook, elsewhere a line per epoch in the
            log (logger ``gsina``).
        class_weight: What classes count in the loss: ``"balanced"``, a dict, or by default all 1.
        metric: Which metric selects on validation data, also the threshold of two classes;
            ``"auto"`` takes PR-AUC (of more than two classes balanced accuracy) where a class is
            rare, and says so; else ROC-AUC (accuracy, RMSE) and a threshold of one half.
        features: Features of whole molecules beside the graph: ``"quick"``, ``"counts"``,
            ``"rdkit"``, ``"morgan"``, a tuple of some, or ``None``; ``"auto"`` is the first two.
        ensemble: Members, with one seed after the other; answers are their means.
        trees: Whether boosted trees (on counts a forest) on the ``features`` answer beside the
            network (``False``: they are the network's), of other graphs on descriptors of them;
            ``"auto"``: for all graphs but molecules without features.
        device: Where to compute: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu`` or ``auto``.
        listeners: Who hears of the training: names of trackers (``"tensorboard"``, ``"mlflow"``,
            ``"wandb"``, ``"trackio"``), :class:`~gsina.listeners.Listener` objects, or several.

    Attributes:
        model_: The trained :class:`~gsina.models.model.Model`.
        history_: Losses and validation scores of every epoch; errors in the units of the target.
        best_ratio_: The ratio that was used, ``None`` for methods without and with a budget.
        notes_: What was decided that one may not expect, such as another metric.
    """

    _level: Level = "graph"
    _coding: type[Classes] | type[Numbers]

    def __init__(
        self,
        method: str = "gsina",
        backbone: str | OwnBackbone = "gin",
        ratio: float | str | None = None,
        temperature: float | None = None,
        hidden_channels: int = 64,
        num_layers: int = 3,
        dropout: float = 0.3,
        epochs: int = 100,
        batch_size: int | None = 64,
        learning_rate: float = 1e-3,
        patience: int | None = 20,
        method_options: dict[str, Any] | None = None,
        random_state: Any = 0,
        verbose: bool = False,
        budget: float | None = None,
        class_weight: str | dict[Any, float] | None = None,
        metric: str | None = AUTO,
        features: str | Sequence[str] | None = AUTO,
        ensemble: int = 1,
        trees: bool | str = "auto",
        device: str = "cpu",
        listeners: Listeners = None,
    ) -> None:
        self.method = method
        self.backbone = backbone
        self.ratio = ratio
        self.temperature = temperature
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.method_options = method_options
        self.random_state = random_state
        self.verbose = verbose
        self.budget = budget
        self.class_weight = class_weight
        self.metric = metric
        self.features = features
        self.ensemble = ensemble
        self.trees = trees
        self.device = device
        self.listeners = listeners

    def fit(self, graphs: Any, y: Any = None, val: Any = None, sample_weight: Any = None) -> Self:
        """Train, and stop by validation data.

        Args:
            graphs: SMILES, RDKit molecules, NetworkX graphs or PyG ``Data`` objects, in a list, a
                PyG or torch dataset or a loader; ``PackedGraphs``; or a ``Dataset`` which brings
                labels and validation data along. Of nodes one ``Data`` or several, see
                :class:`~gsina.estimators.node.NodeEstimator` for their masks. A molecule that
                cannot be read is an error that names its position, here and in predictions.
            y: One label per graph (or node), ``None`` or NaN if missing; or ``[G, targets]`` of
                numbers, for classifiers of 0 and 1. By default the graphs' own ``y``.
            val: Validation graphs with labels of their own, or a pair of graphs and labels. By
                default a tenth of the graphs.
            sample_weight: What every graph (or node) counts in the loss ``[G]``, 0 or more; of a
                ``Dataset`` those of its training split. Validation does not weight.
        """
        if isinstance(graphs, Dataset):
            if self.features not in (None, AUTO) and graphs.train.graph_attr is None:
                raise InputError(
                    "got a dataset without features of whole molecules, expected "
                    f"{self.features!r}; read its file with features=, or leave them out here."
                )
            train = with_sample_weight(graphs.train, sample_weight, self._level)
            dataset = replace(graphs, splits={**graphs.splits, "train": train})
        else:
            dataset = self._dataset(graphs, y, val, sample_weight)
        self._check_task(dataset.task, "dataset")
        self._train(dataset)
        return self

    def explain(self, graphs: Any, explainer: Any = None, **options: Any) -> Any:
        """What the answers rest on, in PyG's type; a list of them for several graphs.

        ``explanation.edge_mask`` has the weight of every edge, ``explanation.top(0.2)`` keeps the
        largest, and notebooks show the picture. See :meth:`gsina.models.model.Model.explain` for
        the parameters.
        """
        found = self._model.explain(self._read(graphs), explainer, **options)
        check_answers(Predictions(torch.cat([one.prediction for one in found])))
        return found[0] if is_one_graph(graphs) else found

    def as_pyg(self, returns: Literal["raw", "probs"] = "raw") -> PygModel:
        """A frozen copy of the network for PyG's explainers; see ``Model.as_pyg``."""
        return self._model.as_pyg(returns)

    def domain(self, graphs: Any) -> NDArray[np.float32]:
        """How far graphs (or nodes) are from the training data ``[G]``, in percent.

        It is the share of the validation data that is nearer, in the model's own space of states:
        any value is as likely as another for data of the same kind, and much near 100 is a warning.
        """
        return domain_percentiles(self._model, self._predict(graphs, "label").places).numpy()

    def transform(self, graphs: Any, nodes: bool = False) -> NDArray[np.float32]:
        """The states that the network predicts from, with attention applied, for other tools.

        One row per graph ``[G, H]``; of estimators of nodes, and with ``nodes``, one per node
        ``[N, H]``. So an estimator can be a step of a scikit-learn pipeline.
        """
        return self._model.embed(self._read(graphs), nodes=nodes)

    def spread(self, graphs: Any) -> NDArray[np.float32]:
        """How far members of an ensemble are apart ``[G]``; of several targets ``[G, targets]``.

        Standard deviations over members, of the predicted number or of the probability of the
        predicted class.
        """
        found = self._model.spread(self._predict(graphs)).numpy()
        return found[:, 0] if found.shape[1] == 1 else found

    def save(self, folder: Path | str) -> None:
        """Write a model folder: weights, description and model card."""
        save_model(folder, self._model)

    @classmethod
    def load(
        cls, folder: Path | str, backbone: OwnBackbone | None = None, device: str = "cpu"
    ) -> Self:
        """Read a model folder, of :meth:`save` or of ``gsina train``.

        Args:
            folder: The folder.
            backbone: The network of a model that was fitted with one of the user's own.
            device: Where to compute; where the model was trained does not matter.
        """

        def own(made: Architecture) -> NetworkSpec:
            assert backbone is not None
            widths = made.node_channels, made.edge_channels
            return own_spec(backbone, *widths, made.backbone_options, made.seen_channels)

        model = load_model(folder, None if backbone is None else own, device=device)
        cls._check_task(model.task, "model")
        params = parameters_of(model, cls._get_param_names()) | {"device": device}
        estimator = cls(**params if backbone is None else params | {"backbone": backbone})
        estimator._keep(model, [])
        return estimator

    @classmethod
    def _check_task(cls, task: Task, what: str) -> None:
        """Refuse a model or dataset that is for another of the four estimators."""
        numbers = task.kind == "regression"
        if task.level != cls._level or numbers != (cls._coding is Numbers):
            right = f"{task.level.title()}{'Regressor' if numbers else 'Classifier'}"
            raise InputError(
                f"this {what} is for {task.kind} at {task.level} level; use {right} instead of "
                f"{cls.__name__}."
            )

    @property
    def _model(self) -> Model:
        check_is_fitted(self, "model_")
        model: Model = self.model_
        return model

    def _read(self, graphs: Any) -> PackedGraphs:
        packed = self._model.read(graphs)  # not fitted is told before graphs are looked at
        check_features(packed, self._model.featuriser)
        return packed

    def _predict(self, graphs: Any, states: StatesLevel | None = None) -> Predictions:
        return check_answers(self._model.predict(self._read(graphs), states=states))

    def _with_shift(
        self, graphs: Any, shift: bool, coverage: float
    ) -> tuple[Tensor, Shift | None, Tensor]:
        """Logits, the shift of these graphs from validation data if wanted, and states.

        What the coverage cannot promise, as validation data are too few, goes to the log.
        """
        known = reference_of(self._model)
        for note in coverage_notes(self._model, coverage):
            log.warning(note)
        found = self._predict(graphs, "label")
        ratio = find_shift(known.states, found.places) if shift else None
        return found.logits, ratio, found.places

    def _dataset(self, graphs: Any, y: Any, val: Any, sample_weight: Any = None) -> Dataset:
        """Labels of any kind as those of a task, in a training and a validation split."""
        found = read_graphs(
            graphs,
            features=feature_kinds(self.features, self.method, self.trees),
            if_molecules=self.features == AUTO,
        )
        packed = found.graphs
        values = self._values(packed, y)
        coding = self._coding.of(values)
        train = with_labels(packed, coding.encode(values))
        train = with_sample_weight(train, sample_weight, "graph")
        if val is not None:
            others, labels = val if isinstance(val, tuple) and len(val) == 2 else (val, None)
            held = read_graphs(others, reading=found.reading or None).graphs
            held = with_labels(held, coding.encode(self._values(held, labels)))
        else:
            assert train.y is not None
            rows, rest = self._hold_out(train.y)
            train, held = train[rows], train[rest]
        splits = {"train": train, "val": held}
        dataset = Dataset("graphs", coding.task, splits, class_names=coding.names)
        return with_reading(dataset, found)

    def _hold_out(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Rows to train on and rows to validate on, the classes of one target in proportion."""
        alike = self._coding is Classes and y.numel() == len(y)
        seed = self.random_state if isinstance(self.random_state, int) else 0
        return hold_out(y.flatten().nan_to_num(-1) if alike else None, len(y), seed)

    def _values(self, graphs: PackedGraphs, y: Any) -> NDArray[Any]:
        """Labels of any kind ``[G]`` or ``[G, targets]``: those given, or the graphs' own."""
        y, what = graphs.labels(self._level) if y is None else y, f"{self._level}s"
        if y is None:
            raise InputError(f"these {what} have no labels; give them as y, or as `y` of a graph.")
        return as_array(y, graphs.x.size(0) if what == "nodes" else len(graphs), what)

    def _truth(self, graphs: Any, y: Any, mask: Any) -> tuple[PackedGraphs, NDArray[Any]]:
        """Graphs, and the labels to score them by; those that do not count are missing."""
        found = read_objects(graphs, self._level, self._model.reading)
        packed, values = found.graphs, self._values(found.graphs, y)
        mask = self._default_mask(found) if mask is None else mask
        if mask is None:
            return packed, values
        return packed, only(values, check_mask(mask, "mask", len(values), self._level).numpy())

    def _default_mask(self, found: ReadObjects) -> Tensor | None:
        """What counts in a score if nothing is said ``[G]``, bool; ``None`` for everything."""
        return None

    def _train(self, dataset: Dataset) -> None:
        """Train on a dataset and keep the model."""
        before, dataset = dataset.notes, judged(dataset, check_metric(self.metric))
        for note in dataset.notes[len(before) :]:
            log.warning(note)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if isinstance(self.random_state, int | np.integer):
            seed = int(self.random_state)
        if not (isinstance(self.epochs, int | np.integer) and self.epochs >= 1):
            raise InputError(f"epochs must be a whole number, 1 or more, got {self.epochs!r}.")
        options = method_options(self, self._level)
        trees = getattr(self, "trees", False)
        if trees == "auto":
            reading = dataset.origin.reading
            trees = "descriptors" in reading or reading.get("kind") != "molecules"
        plan = Plan(
            spec=make_spec(self.backbone, dataset, {name: getattr(self, name) for name in SIZES}),
            method=self.method,
            options=options,
            auto_ratio=self.ratio == "auto",
            settings=self._settings(),
            selection=StrictBest(self.patience, first_epoch(self.method, options)),
            seed=seed,
            threshold=chooses_threshold(dataset, self.metric),
            ensemble=self.ensemble,
            trees=bool(trees),
        )
        heard = listeners_of(self.listeners, self.verbose)
        with told(heard, beginning(self, dataset, plan)) as ending:
            trained = train_model(dataset, plan, device=self.device, listeners=heard)
            ending.metrics = kept_scores(trained)
        self._keep(trained.model, trained.records)
        self.notes_ = dataset.notes

    def _settings(self) -> Settings:
        assert self.batch_size is not None
        return Settings(
            self.epochs,
            self.batch_size,
            self.learning_rate,
            class_weight=check_class_weight(self.class_weight),
        )

    def _keep(self, model: Model, history: list[dict[str, Any]]) -> None:
        self.model_ = model
        self.history_ = history
        config = model.method.config
        counted = getattr(config, "budget", None) is not None
        self.best_ratio_ = None if counted else getattr(config, "ratio", None)
