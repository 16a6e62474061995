"""Who hears of the training of an estimator: a log, a bar in a notebook, trackers."""

from __future__ import annotations

import logging
from typing import Any

from gsina.graphs.dataset import Dataset
from gsina.listeners import Beginning, Listener, OnEpoch
from gsina.listeners.base import flat
from gsina.listeners.notebook import NotebookBar, in_notebook
from gsina.listeners.trackers import Listeners, as_listeners
from gsina.models.plan import Plan
from gsina.models.train import Trained

log = logging.getLogger("gsina")
#: Letters of a parameter that is no number and no text.
LETTERS = 200


def log_epoch(record: dict[str, Any]) -> None:
    """Log an epoch; on the terminal if the program has not said where to."""
    if not log.hasHandlers():
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)
    values = ", ".join(f"{name} {value:.4f}" for name, value in record["val"].items())
    loss = sum(record["train"].values())
    log.info("epoch %d: training loss %.4f; validation: %s", record["epoch"] + 1, loss, values)


def listeners_of(given: Listeners, verbose: bool) -> list[Listener]:
    """Those that were given and, if progress is to be shown, a bar or the log."""
    found = as_listeners(given)
    if verbose:
        found.append(NotebookBar() if in_notebook() else OnEpoch(log_epoch))
    return found


def beginning(estimator: Any, dataset: Dataset, plan: Plan) -> Beginning:
    """What listeners hear before an estimator trains on a dataset."""
    settings = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    del settings["listeners"], settings["verbose"]
    return Beginning(
        name=plan.method,
        data=dataset.name,
        epochs=plan.settings.epochs,
        metric=dataset.task.metric,
        settings=flat(settings) | {"estimator": type(estimator).__name__, "seed": plan.seed},
    )


def kept_scores(trained: Trained) -> dict[str, dict[str, float]]:
    """The scores of the epoch that was kept, on validation data."""
    best = trained.progress.best_epoch
    return {} if best < 0 else {"val": trained.records[best]["val"]}


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; of others, such as networks, what Python calls them."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    plain = isinstance(value, bool | int | float | str) or value is None
    return value if plain else repr(value)[:LETTERS]
