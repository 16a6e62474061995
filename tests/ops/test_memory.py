"""Memory that is used again."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys, torch
from gsina.ops.memory import reuse_memory
torch.set_num_threads(1)
accepted = reuse_memory() if sys.argv[1] == "reuse" else None
for _ in range(10):
    x = torch.ones(20_000_000); del x
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    x = torch.ones(20_000_000); del x
print(accepted, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc has the setting")
def test_freed_memory_is_used_again() -> None:
    def faults(how: str) -> tuple[str, int]:
        call = [sys.executable, "-c", FAULTS, how]
        accepted, count = subprocess.run(call, capture_output=True, text=True).stdout.split()
        return accepted, int(count)

    accepted, few = faults("reuse")
    if accepted == "False":
        pytest.skip("this C library does not have the setting")
    _, many = faults("default")
    assert few < many / 10
