"""A Ray cluster for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    """Two places on this machine, even where another cluster is running."""
    ray = pytest.importorskip("ray")
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    with pytest.MonkeyPatch.context() as patch:
        # Ray's workers let all others go first: on a busy machine a job of seconds takes minutes.
        patch.setenv("RAY_worker_niceness", "0")
        ray.init("local", num_cpus=2, **quiet)
    yield
    ray.shutdown()
