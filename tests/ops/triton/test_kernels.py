"""The kernels for GPUs, compiled for some that are not here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

PROGRAM = """
import inspect
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from gsina.ops.triton import kernels

targets = {"ptx": ("cuda", 80, 32), "cubin": ("cuda", 90, 32), "amdgcn": ("hip", "gfx90a", 64)}
steps = {"COARSE": 34, "FINE": 12, "NEWTON": 5, "BLOCK": 1024}
whole = dict.fromkeys(("bounds", "order", "reverse", "ends"), "*i64")
others = whole | dict.fromkeys(("part", "sigma", "factor", "eps"), "fp32")
others |= {"nodes": "*i32", "edges": "i64"} | dict.fromkeys(steps, "constexpr")
made_kernels = [one for name, one in vars(kernels).items() if name.endswith("_kernel")]
assert len(made_kernels) == 5
for made, target in targets.items():
    for kernel in made_kernels:
        names = inspect.signature(kernel.fn).parameters
        kinds = {name: others.get(name, "*fp32") for name in names}
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
