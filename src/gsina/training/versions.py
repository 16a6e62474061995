"""Versions of what numbers depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from gsina.ops.compiled import kernels

PACKAGES = ("gsina", "torch", "torch-geometric", "numpy", "scikit-learn", "rdkit")


def versions() -> dict[str, str]:
    """Versions of Python and the packages that numbers depend on, and who computes attention."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    found["kernels"] = "compiled" if kernels() else "torch"
    return found
