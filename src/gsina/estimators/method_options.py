"""The settings of an estimator that go to its method."""

from __future__ import annotations

from typing import Any

from gsina.errors import InputError
from gsina.models.plan import check_budget, own_data_options


def method_options(estimator: Any, level: str) -> dict[str, Any]:
    """The settings of its method: those of the estimator, and defaults that suit own data.

    Args:
        estimator: The estimator; its parameters are checked here first.
        level: Whether it predicts whole graphs (``graph``) or nodes (``node``).

    Raises:
        InputError: A parameter has the wrong type, or two of them contradict each other.
    """
    if isinstance(estimator.ratio, str) and estimator.ratio != "auto":
        raise InputError(f'ratio must be a number or "auto", got {estimator.ratio!r}.')
    if not isinstance(estimator.method, str):
        raise InputError(f"method must be a name, got {estimator.method!r}.")
    names = ("ratio", "budget", "temperature")
    given = {
        name: getattr(estimator, name) for name in names if getattr(estimator, name) is not None
    }
    options = given | (estimator.method_options or {})
    check_budget(estimator.method, options)
    if estimator.ratio == "auto":
        del options["ratio"]
    return own_data_options(estimator.method, options, level)
