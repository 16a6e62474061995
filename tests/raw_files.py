"""The raw files of datasets, taken away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def no_raw_files() -> Iterator[None]:
    """No raw file is at hand or can be downloaded: what loads all the same is from the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GSINA_DATA", os.devnull)
        patch.setenv("GSINA_OFFLINE", "1")
        yield
