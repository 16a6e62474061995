"""Names of version 0.1 answer with a warning that says where they are now."""

from __future__ import annotations

import importlib

import pytest

from gsina import data
from gsina.datasets import spmotif
from gsina.graphs.batch import Batch
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task

MOVED = {"Batch": Batch, "PackedGraphs": PackedGraphs, "Task": Task, "spmotif": spmotif}


@pytest.mark.parametrize("name", MOVED)
def test_a_moved_name_is_the_new_one(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"gsina\.data\.{name} is gsina\.(.+)\.{name} now"):
        found = getattr(data, name)
    assert found is MOVED[name]
    assert name in dir(data)


def test_the_old_import_works() -> None:
    with pytest.warns(DeprecationWarning, match="goes away in version 0.3"):
        from gsina.data import PackedGraphs as Old

    assert Old is PackedGraphs
    assert importlib.import_module("gsina").data is data


def test_an_unknown_name_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Graph'"):
        data.Graph  # noqa: B018
