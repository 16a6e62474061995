"""A running average of the weights over the steps of a training."""

from __future__ import annotations

import copy

import torch

from gsina.methods.base import Method


class Average:
    """A copy of a method whose weights follow those of the original slowly.

    After every step, ``w = decay w + (1 - decay) w_now`` for all parameters and for the buffers
    that are fractions (the statistics of batch norm, which so belong to the averaged weights);
    counters are copied. The copy is what is validated, selected and kept.

    Args:
        method: The method that is trained.
        decay: From above 0 to below 1; about the last ``1 / (1 - decay)`` steps count.
    """

    def __init__(self, method: Method, decay: float) -> None:
        self.decay = decay
        self.method = copy.deepcopy(method).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, method: Method) -> None:
        """Take in the weights after a step."""
        now = method.state_dict()
        pairs = [(old, now[name]) for name, old in self.method.state_dict().items()]
        slow = [(old, new) for old, new in pairs if old.is_floating_point()]
        torch._foreach_lerp_([old for old, _ in slow], [new for _, new in slow], 1 - self.decay)
        for old, new in pairs:
            if not old.is_floating_point():
                old.copy_(new)
