"""Search for good settings with Optuna: many trainings, scored on validation data only.

A :class:`Search` holds the training and the validation graphs and nothing else: test splits are
taken out before the first trial, and at node level the labels of all other nodes too. Every
finished trial is in the study's storage, so an interrupted search can be continued, and several
processes can share one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from gsina.errors import InputError
from gsina.files import refuse_link
from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.listeners import Listener, OnEpoch, Stopped
from gsina.models.model import fingerprint_of_graphs
from gsina.models.plan import first_epoch
from gsina.runs.baselines import without_graph_features
from gsina.runs.recipe import Recipe
from gsina.runs.run import run
from gsina.training import Diverged
from gsina.tuning.space import Knob, Setting, knobs_of, with_settings
from gsina.tuning.tracking import Tracking

#: Trials that run to the end before any is stopped early, and epochs that every trial gets.
START_TRIALS, START_EPOCHS = 4, 5
#: Trials with random settings before the sampler learns from them.
RANDOM_TRIALS = 6


@dataclass(frozen=True)
class Search:
    """What is searched; make it with :meth:`of`.

    Attributes:
        recipe: Where the search starts, and what all trials share.
        dataset: Training and validation graphs; there are no others.
        knobs: What varies.
        seed: Seed of the search and of every training.
    """

    recipe: Recipe
    dataset: Dataset
    knobs: tuple[Knob, ...]
    seed: int = 0

    @classmethod
    def of(
        cls, recipe: Recipe, dataset: Dataset, *, fixed: Collection[str] = (), seed: int = 0
    ) -> Search:
        """A search from a recipe; the settings named in ``fixed`` stay as they are."""
        if recipe.auto_ratio:
            raise InputError(
                "a search chooses the ratio itself; leave ratio=auto out, or give a number to keep."
            )
        return cls(recipe, without_test(recipe.judge(dataset)), knobs_of(recipe, fixed), seed)

    @property
    def task(self) -> Task:
        """The task of the dataset."""
        return self.dataset.task

    def identity(self) -> dict[str, Any]:
        """What must stay the same for trials to be comparable, as plain JSON."""
        shared = self.recipe.model_dump(exclude={"data", "run"})
        for part, name in (("optimiser", "class_weight"), ("selection", "metric")):
            if shared[part][name] is None:  # as it was before there was a choice
                del shared[part][name]
        if not shared["trees"]:  # likewise
            del shared["trees"]
        parts = {
            **shared,
            "vary": [knob.name for knob in self.knobs],
            "seed": self.seed,
            "data": [fingerprint_of_graphs(part) for part in self.dataset.splits.values()],
        }
        plain: dict[str, Any] = json.loads(json.dumps(parts))
        return plain


@dataclass(frozen=True)
class TrialResult:
    """A trial that has ended.

    Attributes:
        number: Counted from 0, in the order of their start.
        settings: What it was trained with.
        value: Validation metric of the selected epoch; ``None`` if it was stopped early.
        state: ``finished``, ``stopped`` (worse than the median) or ``diverged``.
        epochs: Epochs it was trained for.
        seconds: How long that took.
        last: The last validation metric of one that was stopped.
    """

    number: int
    settings: dict[str, Setting]
    value: float | None
    state: str
    epochs: int
    seconds: float
    last: float | None = None


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    Attributes:
        search: What was searched.
        trials: All trials that have ended, the best first.
    """

    search: Search
    trials: tuple[TrialResult, ...]

    @property
    def best(self) -> TrialResult | None:
        """The best trial, if one has finished."""
        return self.trials[0] if self.trials and self.trials[0].value is not None else None

    @property
    def recipe(self) -> Recipe:
        """The recipe with the best settings."""
        return with_settings(self.search.recipe, self.best.settings if self.best else {})


#: Called with the number and the settings of a trial that starts.
OnStart = Callable[[int, dict[str, Setting]], None]


def without_test(dataset: Dataset) -> Dataset:
    """Training and validation graphs only; at node level also without the labels of other nodes."""
    parts = {split: _masked(dataset.splits[split], dataset.task) for split in ("train", "val")}
    return replace(dataset, splits=parts)


def _masked(graphs: PackedGraphs, task: Task) -> PackedGraphs:
    y = graphs.node_y
    if task.level != "node" or graphs.mask is None or y is None:
        return graphs
    mask = graphs.mask.view(-1, *[1] * (y.dim() - 1))
    missing = y.new_tensor(-1 if task.kind == "multiclass" else math.nan)
    return replace(graphs, node_y=torch.where(mask, y, missing))


def default_storage(out: Path) -> str:
    """An SQLite file in the folder."""
    file = out.resolve() / "study.db"
    refuse_link(file)
    return f"sqlite:///{file}"


def open_study(search: Search, storage: str, name: str) -> Any:
    """Open the study, or make it; the recipe's own settings are its first trial.

    Args:
        search: What is searched.
        storage: URL of an Optuna storage.
        name: Name of the study in it.

    Raises:
        InputError: Optuna is missing, the storage does not answer, or the study has trials of
            another search.
    """
    optuna = _optuna()
    if storage.startswith("sqlite:///"):
        Path(storage.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    try:
        study = optuna.create_study(
            study_name=name,
            storage=storage,
            direction="maximize" if search.task.larger_is_better else "minimize",
            pruner=_pruner(search),
            load_if_exists=True,
        )
    except Exception as error:  # every database has errors of its own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"the storage {hide_password(storage)} cannot be used ({hide_password(reason[0])}); "
            "check the URL, or leave it out for an SQLite file in the folder."
        ) from error
    mine, stored = search.identity(), study.user_attrs.get("search")
    if stored is None:
        study.set_user_attr("search", mine)
    elif stored != mine:
        changed = [part for part in mine if mine[part] != stored.get(part)]
        raise InputError(
            f"the study {name} in {hide_password(storage)} was started with other settings or "
            f"data ({', '.join(changed)}); choose another --out or --study."
        )
    if all(one.state == _state("FAIL") for one in study.get_trials(deepcopy=False)):
        start = {knob.name: knob.now(search.recipe) for knob in search.knobs}
        fits = {
            knob.name: start[knob.name] for knob in search.knobs if knob.holds(start[knob.name])
        }
        study.enqueue_trial(fits)
    return study


def ended(study: Any) -> int:
    """Number of trials that have ended, stopped ones included."""
    return len(study.get_trials(deepcopy=False, states=_ended()))


def run_trials(
    search: Search,
    study: Any,
    trials: int,
    *,
    timeout: float | None = None,
    on_start: OnStart | None = None,
    listeners: Sequence[Listener] = (),
    tracking: Tracking | None = None,
) -> Iterator[TrialResult]:
    """Run trials until the study has ``trials`` of them; yields each as it ends.

    Args:
        search: What is searched.
        study: From :func:`open_study`.
        trials: Total number in the study, with those of earlier calls and other processes.
        timeout: Seconds after which no trial starts.
        on_start: Called before every trial.
        listeners: Notified of every epoch.
        tracking: Who else hears of the trials, each as of a run.
    """
    began = time.monotonic()
    while ended(study) < trials:
        if timeout is not None and time.monotonic() - began >= timeout:
            return
        turn = len(study.get_trials(deepcopy=False))
        yield run_trial(
            search, study, turn, on_start=on_start, listeners=listeners, tracking=tracking
        )


def run_trial(
    search: Search,
    study: Any,
    turn: int,
    *,
    on_start: OnStart | None = None,
    listeners: Sequence[Listener] = (),
    tracking: Tracking | None = None,
) -> TrialResult:
    """One trial: choose settings, train, and report the outcome to the study.

    Args:
        search: What is searched.
        study: Where other trials are.
        turn: A different number for every trial, which seeds the choice of settings.
        on_start: Called with number and settings before the training.
        listeners: Notified of every epoch.
        tracking: Who else hears of it.
    """
    optuna = _optuna()
    study.sampler = optuna.samplers.TPESampler(
        seed=search.seed + turn, n_startup_trials=RANDOM_TRIALS
    )
    trial = study.ask()
    settings = {knob.name: knob.suggest(trial) for knob in search.knobs}
    metric, values = search.task.metric, list[float]()

    def report(record: dict[str, Any]) -> None:
        values.append(record["val"][metric])
        trial.report(values[-1], record["epoch"])
        if trial.should_prune():
            raise Stopped

    try:
        if on_start is not None:
            on_start(trial.number, settings)
        # Trees are the same in all trials, and what is reported is the network's.
        recipe = with_settings(search.recipe, settings).changed(trees=False)
        told = () if tracking is None else tracking.listeners(trial.number)
        heard = [*listeners, *told, OnEpoch(report)]
        seen = without_graph_features(search.dataset) if search.recipe.trees else search.dataset
        best = run(recipe, search.seed, dataset=seen, listeners=heard).result["best_epoch"]
        if best < 0:
            raise InputError(
                f"no epoch of {search.dataset.name} could be selected: its validation {metric} is "
                "never a number, or --epochs is too small; choose another split or more epochs."
            )
        # SQLite may hand one trial to two workers; the first to end has reported it.
        study.tell(trial, values[best], skip_if_finished=True)
    except Stopped:
        study.tell(trial, state=_state("PRUNED"))
    except Diverged as error:
        # A result too, from which the sampler learns.
        trial.set_user_attr("diverged", str(error))
        study.tell(trial, state=_state("PRUNED"))
    except BaseException:
        study.tell(trial, state=_state("FAIL"))
        raise
    return _result(search, study.get_trials(deepcopy=False)[trial.number])


def summary(search: Search, study: Any) -> SearchResult:
    """All trials that have ended, the best first and stopped ones last."""
    found = [_result(search, one) for one in study.get_trials(deepcopy=False, states=_ended())]
    sign = -1 if search.task.larger_is_better else 1
    found.sort(key=lambda one: math.inf if one.value is None else sign * one.value)
    return SearchResult(search, tuple(found))


def hide_password(url: str) -> str:
    """The URL of a database without its password."""
    before, at, host = url.rpartition("@")
    scheme, slashes, login = before.partition("://")
    user, colon, _ = login.partition(":")
    return f"{scheme}{slashes}{user}:***@{host}" if at and slashes and colon else url


def _result(search: Search, trial: Any) -> TrialResult:
    known = {knob.name: knob for knob in search.knobs}
    done = trial.state.name == "COMPLETE"
    steps = trial.intermediate_values
    return TrialResult(
        number=trial.number,
        settings={
            name: known[name].tidy(trial.params[name]) for name in known if name in trial.params
        },
        value=trial.value if done else None,
        state="finished" if done else "diverged" if "diverged" in trial.user_attrs else "stopped",
        epochs=len(steps),
        seconds=0.0 if trial.duration is None else trial.duration.total_seconds(),
        last=steps[max(steps)] if steps else None,
    )


def _pruner(search: Search) -> Any:
    """Stops trials below the median, once epochs may be selected."""
    recipe = search.recipe
    first = first_epoch(recipe.method.name, recipe.method.options)
    warm = max(START_EPOCHS, recipe.selection.first_epoch, first)
    return _optuna().pruners.MedianPruner(n_startup_trials=START_TRIALS, n_warmup_steps=warm)


def _ended() -> tuple[Any, ...]:
    return _state("COMPLETE"), _state("PRUNED")


def _state(name: str) -> Any:
    return _optuna().trial.TrialState[name]


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError(
            "gsina tune needs Optuna; install it with pip install 'gsina[tune]'."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the command reports progress itself
    return optuna
