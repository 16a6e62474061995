"""An estimator in a notebook: its settings and, once fitted, its data and scores, as HTML."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from html import escape
from typing import Any

from gsina.display import facts, text
from gsina.models.display import data_rows, scores_html
from gsina.models.model import Model
from gsina.models.train import Scores


class DisplayMixin:
    """Shows an estimator in notebooks."""

    def _repr_html_(self) -> str:
        """Settings and, once fitted, data and scores."""
        parameters = inspect.signature(type(self)).parameters
        usual = {name: one.default for name, one in parameters.items()}
        model, history = getattr(self, "model_", None), getattr(self, "history_", ())
        settings = {name: getattr(self, name) for name in parameters}
        return estimator_html(type(self).__name__, settings, usual, model, history)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def estimator_html(
    name: str,
    settings: dict[str, Any],
    usual: dict[str, Any],
    model: Model | None = None,
    history: Iterable[dict[str, Any]] = (),
) -> str:
    """A small piece of HTML that needs nothing else; all text in it is escaped.

    Args:
        name: Class of the estimator.
        settings: Its parameters by name.
        usual: Their defaults; those that differ are shown in bold.
        model: What it has learnt; ``None`` if it is not fitted.
        history: The record of every epoch, for scores on validation data.
    """
    changed = {key for key, value in settings.items() if not _same(value, usual.get(key))}
    shown = [
        (key, f"<b>{text(value)}</b>" if key in changed else text(value))
        for key, value in settings.items()
    ]
    if model is None:
        return f"<div><b>{escape(name)}</b> (not fitted){facts(shown)}</div>"
    return (
        f"<div><b>{escape(name)}</b> (fitted){facts(data_rows(model))}"
        f"{scores_html(_scores(model, history))}"
        f"<details><summary>settings</summary>{facts(shown)}</details></div>"
    )


def _scores(model: Model, history: Iterable[dict[str, Any]]) -> Scores:
    """Scores of the model's splits; of one that was just fitted, of the epoch that was kept."""
    if model.metrics:
        return model.metrics
    best = model.training.get("best_epoch", -1)
    kept = [one["val"] for one in history if one["epoch"] == best]
    return {"val": kept[0]} if kept else {}


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and repr(value) == repr(usual)
