"""Options against signatures; what recipes say of wrong ones is in test_recipe.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from gsina.runs.options import changed_options, check_options


@dataclass(frozen=True)
class Settings:
    """Some."""

    size: int = 3
    kind: Literal["small", "large"] = "small"


def test_options_of_anything_with_keywords_are_not_judged() -> None:
    def load(**options: Any) -> None:
        """Takes whatever comes."""

    check_options(load, {"anything": 1}, "dataset open")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sise": 4}, "unknown option of method m 'sise'; did you mean"),
        ({"size": "4"}, "option size of method m: .*valid integer, got '4'"),
        ({"kind": "larg"}, "unknown value of option kind of method m 'larg'; did you mean"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_options(Settings, options, "method m")


def test_changed_options_are_those_that_differ_from_their_defaults() -> None:
    assert changed_options(Settings, {"size": 3, "kind": "large", "own": 1}) == {
        "kind": "large",
        "own": 1,
    }
