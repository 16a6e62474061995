"""An estimator in a notebook: its settings and, once fitted, its data and scores, as HTML."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from html import escape
from typing import Any

from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label, metric_text
from gsina.models.answers import class_names
from gsina.models.model import Model

#: Classes that are named one by one.
NAMED = 8
STYLE = "border-collapse:collapse;margin:.3em 0 .6em;font:13px/1.4 system-ui,sans-serif"
CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"

Rows = list[tuple[str, str]]


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
    shown: Rows = [
        (key, f"<b>{_text(value)}</b>" if key in changed else _text(value))
        for key, value in settings.items()
    ]
    if model is None:
        return f"<div><b>{escape(name)}</b> (not fitted){_table(shown)}</div>"
    return (
        f"<div><b>{escape(name)}</b> (fitted){_table(_data(model))}"
        f"{_table(_scores(model, history))}"
        f"<details><summary>settings</summary>{_table(shown)}</details></div>"
    )


def _data(model: Model) -> Rows:
    sizes = model.data.get("sizes") or {}
    counts = ", ".join(f"{count:,} {SPLITS.get(part, part)}" for part, count in sizes.items())
    found: Rows = [
        ("reads", _text(model.featuriser.get("kind", "graphs"))),
        (f"{model.task.level}s", _text(counts or "unknown")),
    ]
    if model.task.kind == "regression":
        return [*found, ("targets", _text(", ".join(model.target_names) or model.task.outputs))]
    classes = class_names(model)
    more = f" and {len(classes) - NAMED} more" if len(classes) > NAMED else ""
    return [*found, ("classes", _text(", ".join(classes[:NAMED]) + more))]


def _scores(model: Model, history: Iterable[dict[str, Any]]) -> Rows:
    """Scores of the model's splits; of one that was just fitted, of the epoch that was kept."""
    scores = model.metrics
    if not scores:
        best = model.training.get("best_epoch", -1)
        kept = [one["val"] for one in history if one["epoch"] == best]
        scores = {"val": kept[0]} if kept else {}
    return [
        (
            f"{SPLITS.get(split, split)} score",
            _text(", ".join(f"{metric_label(key)} {metric_text(row[key], key)}" for key in row)),
        )
        for split, row in scores.items()
    ]


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and repr(value) == repr(usual)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return escape(text if len(text) <= 200 else f"{text[:200]} ...")


def _table(rows: Rows) -> str:
    body = "".join(
        f'<tr><th style="{CELL}">{escape(key)}</th><td style="{CELL}">{value}</td></tr>'
        for key, value in rows
    )
    return f'<table style="{STYLE}">{body}</table>' if rows else ""
