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
