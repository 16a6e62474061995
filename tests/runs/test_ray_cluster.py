"""What a training takes of a cluster; the cluster is a stand-in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gsina.errors import InputError
from gsina.runs.ray_cluster import device_there, needs, places


def cluster(**resources: float) -> SimpleNamespace:
    return SimpleNamespace(cluster_resources=lambda: resources)


def test_a_training_takes_a_core_and_on_cuda_a_gpu() -> None:
    assert needs("cpu") == {"num_cpus": 1}
    assert needs("cuda") == {"num_cpus": 1, "num_gpus": 1}


@pytest.mark.parametrize(
    ("asked", "with_gpus", "without"),
    [("cpu", "cpu", "cpu"), ("cuda:1", "cuda", "cuda"), ("auto", "cuda", "cpu")],
)
def test_a_worker_sees_one_gpu_whatever_its_number(
    asked: str, with_gpus: str, without: str
) -> None:
    assert device_there(cluster(CPU=8.0, GPU=2.0), asked) == with_gpus
    assert device_there(cluster(CPU=8.0), asked) == without


def test_as_many_as_there_are_cores_or_gpus() -> None:
    assert places(cluster(CPU=8.0, GPU=2.0), "cpu") == 8
    assert places(cluster(CPU=8.0, GPU=2.0), "cuda") == 2
    assert places(cluster(), "cpu") == 1


def test_a_cluster_without_gpus_says_so() -> None:
    with pytest.raises(InputError, match="no machine of the Ray cluster has a GPU"):
        places(cluster(CPU=8.0), "cuda")
