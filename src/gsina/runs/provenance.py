"""What a run is made with: commit, versions and hardware."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from gsina.errors import Note
from gsina.ops.compiled import kernels
from gsina.training.devices import device_name
from gsina.training.versions import versions


def provenance(device: torch.device | None = None, processes: int = 1) -> dict[str, Any]:
    """What a run is made with: commit, versions and hardware."""
    made_on = hardware(device) | {"processes": processes}
    return {"commit": commit(), "versions": versions(), "hardware": made_on}


def hardware(device: torch.device | None = None) -> dict[str, Any]:
    """What the run was made on; by default the CPU."""
    device = torch.device("cpu") if device is None else device
    return {
        "machine": platform.machine(),
        "cpu": _cpu(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "accelerator": device_name(device),
        "kernels": kernels() is not None,  # of small groups on the CPU; else it is torch
        "mkl": mkl(),
    }


#: What decides in which order numbers are summed, and so how they are rounded.
ROUNDING = ("device", "threads", "kernels", "cpu", "mkl", "processes")


def note_other_rounding(before: Iterable[dict[str, Any]], now: dict[str, Any]) -> None:
    """Say so if a run goes on where numbers are rounded in another way than where it began.

    Args:
        before: What has happened in its trainings so far, as their checkpoints have it.
        now: The session that goes on.
    """
    kept = [progress.get("sessions") for progress in before]  # of a file that may hold anything
    sessions = [one for part in kept if isinstance(part, list) for one in part]
    last = sessions[-1].get("hardware") if sessions and isinstance(sessions[-1], dict) else None
    old = last if isinstance(last, dict) else {}
    new = now["hardware"]
    changed = [
        f"{name} {old[name]}, now {new[name]}"
        for name in ROUNDING
        if name in old and old[name] != new[name]
    ]
    if changed:
        text = "; ".join(changed)
        elsewhere = "device" in old and _kind(old) != _kind(new)
        how = "in noise and rounding" if elsewhere else "by rounding"
        warnings.warn(
            Note(
                f"the run was started under other conditions ({text}), so its numbers differ {how} "
                "from those of an uninterrupted run."
            ),
            stacklevel=2,
        )


@cache
def mkl() -> str | None:
    """For which processors MKL, of which torch asks its products, takes this one.

    ``"for Intel"`` or ``"for others"``: then it uses no vectors of 16 numbers, also where there are
    any, and rounds in another way. ``None`` if there is no MKL, or it does not say.
    """
    torch_library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    for library in (None, str(torch_library)):  # what was loaded before torch goes first
        try:
            return "for Intel" if ctypes.CDLL(library).mkl_serv_intel_cpu_true() else "for others"
        except (OSError, AttributeError, TypeError):  # Windows has no library of the process
            continue
    return None


def _kind(hardware: dict[str, Any]) -> str:
    return str(hardware["device"]).split(":")[0]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str:
    """The commit of the package's source, with ``+`` if it has changes; empty if it has none."""
    package = Path(__file__).parents[1]
    try:
        _git(package, "ls-files", "--error-unmatch", str(Path(__file__)))
        dirty = _git(package, "status", "--porcelain", "--", str(package))
        return _git(package, "rev-parse", "HEAD") + ("+" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return ""  # not a checkout, or installed inside somebody else's


def _git(folder: Path, *arguments: str) -> str:
    call = ["git", *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def short_commit(commit: str) -> str:
    """The first ten digits; the ``+`` of changed source stays."""
    return commit[:10] + "+" * commit.endswith("+")
