"""The kernels for GPUs, compiled for some that are not here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

PROGRAM = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from gsina.ops.triton.kernels import backward_kernel, forward_kernel

targets = {"ptx": ("cuda", 80, 32), "cubin": ("cuda", 90, 32), "amdgcn": ("hip", "gfx90a", 64)}
steps = {"COARSE": 34, "FINE": 12, "NEWTON": 5, "BLOCK": 1024}
pointers = {"bounds": "*i64"} | dict.fromkeys(("x", "ratios", "weights", "complements"), "*fp32")
forward = pointers | {"part": "fp32"} | dict.fromkeys(steps, "constexpr")
backward = {"bounds": "*i64", "BLOCK": "constexpr"}
backward |= dict.fromkeys(("weights", "complements", "grads", "found"), "*fp32")
for made, target in targets.items():
    for kernel, kinds in ((forward_kernel, forward), (backward_kernel, backward)):
        numbers = {name: steps[name] for name, kind in kinds.items() if kind == "constexpr"}
        source = ASTSource(kernel, kinds, constexprs=numbers)
        assert made in triton.compile(source, target=GPUTarget(*target)).asm
"""


def test_it_compiles_for_gpus_that_are_not_here(tmp_path: Path) -> None:
    """In a process of its own, as the interpreter is chosen when kernels are made."""
    chosen = {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    call = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, **chosen})
    assert done.returncode == 0, done.stderr[-2000:]
