"""Sentences about settings and names that are wrong."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from gsina.errors import RANGES, InputError, check_name, check_range, is_installed, reason_of

#: For every range, the numbers nearest to its ends that are in it, and those that are not.
ENDS = {
    "be 0 or more": ((0, 0.5), (-1e-9,)),
    "be 1 or more": ((1, 2), (0, 0.99)),
    "be above 0": ((1e-9, 3), (0, -1)),
    "lie in (0, 1]": ((1e-9, 1), (0, 1.01)),
    "lie in [0, 1)": ((0, 0.99), (-0.01, 1)),
    "lie in [0.5, 1]": ((0.5, 1), (0.49, 1.01)),
    "lie between 0 and 1": ((0.01, 0.99), (0, 1)),
}


@pytest.mark.parametrize("must", RANGES)
def test_a_number_at_the_end_of_its_range(must: str) -> None:
    inside, outside = ENDS[must]
    for value in inside:
        check_range(SimpleNamespace(drop=value), must, "drop")
    for value in (*outside, math.nan):
        with pytest.raises(InputError) as error:
            check_range(SimpleNamespace(drop=value), must, "drop")
        assert str(error.value) == f"drop must {must}, got {value}."


def test_the_first_setting_that_is_wrong_is_named() -> None:
    with pytest.raises(InputError, match=r"^beta must be above 0, got 0\.$"):
        check_range(SimpleNamespace(alpha=1, beta=0, gamma=-1), "be above 0", "alpha", "beta")


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    assert check_name("gin", ("gcn", "gin"), "backbone") == "gin"
    with pytest.raises(InputError, match=r"unknown backbone 'GIM'; did you mean 'gin'\?"):
        check_name("GIM", ("gcn", "gin"), "backbone")


def test_reasons_are_one_short_line() -> None:
    assert reason_of(KeyError("a\nb")) == "KeyError: 'a\\nb'"
    assert reason_of(ValueError("a\n  b \ud800")) == "ValueError: a b \\ud800"
    assert len(reason_of(ValueError("x" * 1000))) == 203


def test_a_folder_in_the_working_folder_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "wandb_runs").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("wandb_runs")
    assert not is_installed("no_such_package_anywhere")
    assert is_installed("json")
