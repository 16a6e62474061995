"""The states of graphs (or nodes) before a network's last layer: its embedding of them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from torch import Tensor, nn
from torch_geometric.nn import Linear


class LastStates:
    """Remembers, while it is entered, what the linear layers of a network are given.

    ::

        with LastStates(method) as last:
            logits = method(batch).logits
            states = last.take(logits)  # [G, H], what the last layer made the logits of

    It asks nothing of the network, which may be any.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self._given: list[Tensor] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> Self:
        for module in self.network.modules():
            if isinstance(module, nn.Linear | Linear):
                self._hooks.append(module.register_forward_pre_hook(self._remember))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._given.clear()

    def _remember(self, _module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs:
            self._given.append(inputs[0])

    def take(self, logits: Tensor) -> Tensor:
        """The input of the last layer that had a row for each of the logits ``[G, outputs]``.

        Without such a layer, the logits themselves.
        """
        rows = [given for given in self._given if given.dim() == 2 and len(given) == len(logits)]
        self._given.clear()
        return rows[-1] if rows else logits
