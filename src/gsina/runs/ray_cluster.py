"""Joining a Ray cluster, for trainings on many machines."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from gsina.errors import InputError

#: Seconds to wait for a cluster to answer.
PATIENCE = 20
#: How often Ray starts a job again after its worker has died.
RETRIES = 3

_PROBE = "import ray, sys; ray.init(address=sys.argv[1], log_to_driver=False)"


def connect(address: str) -> Any:
    """Join a cluster and return the module ``ray``.

    Args:
        address: ``host:port``, ``ray://host:port``, or ``auto``: the cluster that runs on this
            machine, or else a new one of its cores.

    Raises:
        InputError: Ray is not installed, or nothing answers within 20 seconds.
    """
    try:
        import ray
    except ImportError:
        raise InputError("--ray needs Ray; install it with pip install 'gsina[cluster]'.") from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "auto":
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:
            ray.init(include_dashboard=False, **quiet)
        return ray
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE, address], capture_output=True, timeout=PATIENCE
        )
        answered = probe.returncode == 0
    except subprocess.TimeoutExpired:
        answered = False
    if not answered:
        raise InputError(
            f"no Ray cluster answers at {address} within {PATIENCE} s; check the address and the "
            "firewall, start one with: ray start --head, or run here with --jobs."
        )
    ray.init(address=address, **quiet)
    return ray


def device_there(ray: Any, device: str) -> str:
    """What a worker of the cluster calls the device that was asked for.

    Ray gives every training a GPU of its own, which it sees as the first: a number means nothing
    there. ``auto`` is a GPU if any machine of the cluster has one.
    """
    kind, _, _ = device.partition(":")
    if kind == "auto":
        return "cuda" if ray.cluster_resources().get("GPU") else "cpu"
    return kind


def needs(device: str) -> dict[str, int]:
    """What one training on a device takes of a cluster, as arguments of ``ray.remote``.

    Args:
        device: As :func:`device_there` gives it.
    """
    return {"num_cpus": 1, **({"num_gpus": 1} if device.startswith("cuda") else {})}


def places(ray: Any, device: str) -> int:
    """How many such trainings the cluster holds at a time.

    Raises:
        InputError: It has no such device.
    """
    there = ray.cluster_resources()
    if "num_gpus" not in needs(device):
        return max(1, int(there.get("CPU", 1)))
    if not there.get("GPU"):
        raise InputError(
            f"no machine of the Ray cluster has a GPU, so --device {device} cannot be had there; "
            "leave --device out."
        )
    return int(there["GPU"])
