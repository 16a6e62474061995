"""Options in the lists are explained, by their docstrings."""

import io
from dataclasses import dataclass, fields
from functools import partial

import pytest

from gsina.cli.lists.datasets import _options
from gsina.cli.lists.option_docs import option_docs
from gsina.datasets.catalog import DATASETS
from gsina.methods import METHODS


@dataclass
class Parent:
    """One.

    Attributes:
        first: In the parent.
        second: Is said again below.
    """

    first: int = 0
    second: int = 0


@dataclass
class Child(Parent):
    """Two.

    Attributes:
        second: Over
            two lines, with ``code``.
        third: Short: with a colon.

    Example: none of these.
    """

    third: int = 0


def test_of_a_class_and_its_parents():
    assert option_docs(Child) == {
        "first": "In the parent.",
        "second": "Over two lines, with code.",
        "third": "Short: with a colon.",
    }


def test_of_a_function_with_some_arguments_given():
    def load(name, seed=0):
        """Load.

        Args:
            name: Which.
            seed: Of the split.

        Returns:
            nothing: at all.
        """

    assert option_docs(partial(load, "x")) == {"name": "Which.", "seed": "Of the split."}
    assert option_docs(lambda: None) == {}


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_option_of_a_dataset_is_explained(name):
    load = DATASETS[name].load
    assert set(_options(load)) <= set(option_docs(load))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_option_of_a_method_is_explained(name):
    config = METHODS[name].config
    assert {field.name for field in fields(config)} <= set(option_docs(config))


def test_brackets_in_names_are_no_markup() -> None:
    from rich.console import Console

    from gsina.cli import show

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(show.entries({"sizes=[red]": ["of [bold]layers"]}))
    assert "sizes=[red]" in console.export_text()
