"""Settings of all tests: a cache of their own, one thread, and what to skip where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TRITON_INTERPRET", "1")  # before anything imports it: no GPU is needed

import pytest
import torch
from hypothesis import settings
from typer.testing import CliRunner, Result

from gsina.cli import app
from gsina.ops import compiled

Invoke = Callable[..., Result]

settings.register_profile("local", deadline=None)
# A failure on a build machine must come back on the next run, so examples are fixed there.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point the cache to a temporary folder and use one thread, here and in child processes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GSINA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=["compiled", "torch"])
def with_and_without_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a module's tests twice: with the compiled kernels, and by torch alone."""
    if request.param == "torch":
        with compiled.torch_alone():
            yield
    elif compiled.kernels() is None:
        pytest.skip("the kernels were not built; is there a C compiler?")
    else:
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, with the reason."""
    if item.get_closest_marker("data") and not os.environ.get("GSINA_DATA"):
        pytest.skip("needs the real datasets; set GSINA_DATA to their folder")
    if item.get_closest_marker("cuda") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device, and there is none")


@pytest.fixture
def gsina(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Call ``gsina("train", ...)`` in an empty folder; a bug in the program raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GSINA_DEBUG", raising=False)

    def invoke(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


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
