"""Names of things: how people read them, and looking them up with an error that suggests."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Splits and metrics as people read them.
SPLITS = {
    "train": "training",
    "val": "validation",
    "id_test": "in-distribution test",
    "test": "test",
}
METRICS = {
    "accuracy": "accuracy",
    "roc_auc": "ROC-AUC",
    "mcc": "MCC",
    "f1": "F1",
    "rmse": "RMSE",
    "r2": "R2",
    "explanation_auc": "explanation ROC-AUC",
    "precision_at_5": "precision@5",
}


def check_name(name: str, known: Iterable[str], what: str) -> str:
    """Return ``name`` if it is one of ``known``; otherwise raise and suggest.

    Args:
        name: The name a user gave.
        known: All names that would be right.
        what: The kind of thing, for the message: ``"method"``, ``"dataset"``.

    Raises:
        ValueError: One sentence with the nearest name and the list of all.
    """
    names = sorted(known)
    if name in names:
        return name
    spelt = {one.lower(): one for one in names}
    near = difflib.get_close_matches(name.lower(), spelt, n=3, cutoff=0.5)
    # Of those, rather one with the same letters in another order.
    near.sort(key=lambda one: sorted(one) != sorted(name.lower()))
    hint = f" did you mean {spelt[near[0]]!r}?" if near else ""
    known_names = f"known: {', '.join(names)}" if names else "there are none"
    raise ValueError(f"unknown {what} {name!r};{hint} {known_names}.")
