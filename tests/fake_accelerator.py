"""Steps on a fake accelerator, which refuses to be read and to meet tensors of other devices.

A program, as the device can be registered once per process: ``python fake_accelerator.py``. torch's
place for devices that it does not know gets a device guard in Python, which is what a backward pass
asks for; the tensors have shapes and no numbers.
"""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from gsina.training.devices import WAITING
from test_devices import NETWORKS, STEPS, model_and_batch

NAME = "accel"
#: What cannot be told from a read: a number of the host, which is fake here as well.
ON_THE_HOST = {"gib": "draws by how many places to rotate", "final_temperature": "is kept there"}


def fake(value: Tensor) -> Tensor:
    return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=f"{NAME}:0")


def take_step(*what: Any) -> None:
    """Forward, backward, optimiser and evaluation."""
    method, batch = model_and_batch(*what)
    sizes = batch.to("meta")  # which counts on the host what has to be known there
    with FakeTensorMode():
        tensors = {
            field.name: fake(value)
            for field in fields(batch)
            if isinstance(value := getattr(batch, field.name), Tensor)
        }
        moved = replace(sizes, **tensors)
        for module in method.modules():
            for key, value in module._parameters.items():
                module._parameters[key] = None if value is None else nn.Parameter(fake(value))
            for key, value in module._buffers.items():
                module._buffers[key] = None if value is None else fake(value)
        method.train()
        terms = method.step(moved, torch.optim.Adam(method.parameters(), foreach=False), 1)
        assert {term.device.type for term in terms.values()} == {NAME}
        assert method.eval()(moved).logits.device.type == NAME


def main() -> int:
    """The number of steps that did not do what they should."""
    _setup_privateuseone_for_python_backend(NAME)
    wrong = 0
    networks = [("gsina", "graph", {}, backbone) for backbone in NETWORKS]
    for name, level, options, *network in [*STEPS, *networks]:
        if ON_THE_HOST.keys() & {name, *options}:
            continue
        try:
            take_step(name, level, options, *network)
            waited = False
        except (DataDependentOutputException, DynamicOutputShapeException):
            waited = True
        if waited != (name in WAITING):
            wrong += 1
            print(name, level, options, *network, "waited" if waited else "did not wait")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
