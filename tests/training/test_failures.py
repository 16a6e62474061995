"""A full device ends a training in one sentence, and what was saved stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from gsina.graphs.batch import Batch
from gsina.methods import build_method
from gsina.methods.erm import ERM
from gsina.nn.predictor import NetworkSpec
from gsina.training import OutOfMemory, Settings, fit, make_selection
from gsina.training.checkpoint import FILE, read_progress
from gsina.training.failures import memory_errors

SPEC = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})


class Full(ERM):
    """Out of memory from the second epoch on."""

    def loss(self, batch: Batch, epoch: int = 0) -> dict[str, Any]:
        if epoch:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().loss(batch, epoch)


def test_a_full_device_keeps_the_checkpoint_and_says_what_to_do(tmp_path: Path) -> None:
    method = Full.build(SPEC, tiny.CLASSES, build_method("erm", SPEC, tiny.CLASSES, {}).config)
    with pytest.raises(OutOfMemory) as found:
        fit(
            method,
            tiny.dataset(4),
            Settings(epochs=3, batch_size=8),
            make_selection("strict-best", None),
            out=tmp_path,
        )
    said = str(found.value)
    assert "cpu ran out of memory in epoch 2 with --batch-size 8" in said
    assert f"1 whole epochs are saved in {tmp_path}" in said
    assert "--batch-size 4" in said
    assert "--recompute" in said
    assert "GiB" not in said
    assert read_progress(tmp_path / FILE)["epoch"] == 1


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("MPS backend out of memory (MPS allocated: 17 GB)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_every_device_says_it_in_its_own_words(error: Exception) -> None:
    device = torch.device("cpu")
    with pytest.raises(OutOfMemory), memory_errors(device, 8, 0, "nothing was saved"):
        raise error


def test_other_errors_stay_bugs() -> None:
    with (
        pytest.raises(RuntimeError, match="shape"),
        memory_errors(torch.device("cpu"), 8, 0, "nothing was saved"),
    ):
        raise RuntimeError("shape mismatch")
