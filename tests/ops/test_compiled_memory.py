"""What has no memory never reaches the compiled kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gsina.ops.compiled import kernels


@pytest.mark.skipif(kernels() is None, reason="the kernels were not built")
def test_tensors_without_memory_are_left_to_torch() -> None:
    """In a process of its own, as the kernels would end it with a segmentation fault."""
    code = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from gsina.ops.compiled import Graphs, attend, solve
from gsina.ops.groups import Groups
groups = Groups(torch.tensor([0, 0, 1, 1]), 2, 4)
graphs = Graphs(groups, torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), None, 4)
more = dict(temperature=1.0, noise=None, sigma=1.0, eps=1e-6, near=1e-5, isolated=0.3)
real, share = torch.randn(4), torch.full((2,), 0.3).double()
assert attend(real, graphs, ratio=0.3, **more) is not None
with FakeTensorMode(allow_non_fake_inputs=True) as mode:
    fake = mode.from_tensor(real)
    for scores in (real, fake):
        assert attend(scores, graphs, ratio=0.3, **more) is None
        assert solve(scores.double(), share, groups, 1e-5) is None
assert attend(fake, graphs, ratio=0.3, **more) is None
torch.func.grad(lambda s: s.sum() if attend(s, graphs, ratio=0.3, **more) is None else None)(real)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
