"""The states that a method predicts from: what the last layer takes, and what is pooled into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from torch import Tensor

from gsina.errors import InputError
from gsina.methods.base import Method
from gsina.nn.predictor import Predictor

#: States to keep: of what is predicted, or of the nodes of graphs that are.
Level = Literal["label", "node"]


class Seen:
    """What passed in the last forward pass; of several draws in one, the mean.

    Attributes:
        states: Input of the last layer ``[G, H]``; at node level ``[N, H]``.
        nodes: Node states before they are pooled ``[N, H]``, times their node attention.
    """

    states: Tensor | None = None
    nodes: Tensor | None = None

    def __init__(self) -> None:
        self._passes = {"states": 0, "nodes": 0}

    def keep(self, name: Literal["states", "nodes"], values: Tensor) -> None:
        """One more pass through the layer."""
        before: Tensor | None = getattr(self, name)
        self._passes[name] = 1 if before is None else self._passes[name] + 1
        mean = values if before is None else before + (values - before) / self._passes[name]
        setattr(self, name, mean)

    def take(self, rows: int, nodes: int) -> tuple[Tensor | None, Tensor | None]:
        """Both, ``None`` if they are not one per row and one per node, and forget them."""
        found = (self.states, rows), (self.nodes, nodes)
        self.states = self.nodes = None
        states, inner = (
            None if values is None or len(values) != count else values for values, count in found
        )
        return states, inner


@contextmanager
def watch_states(method: Method, level: Level | None) -> Iterator[Seen]:
    """See the states of every forward pass of a method inside the block.

    Args:
        method: The method.
        level: Which states; ``None`` for none, which costs nothing. None are seen of a method that
            does not say what its last layer is.

    Raises:
        InputError: The method has no states of nodes.
    """
    seen = Seen()
    with ExitStack() as hooks:
        if level == "label" and method.last_layer is not None:
            hook = method.last_layer.register_forward_pre_hook(_keep_states(seen))
            hooks.callback(hook.remove)
        elif level == "node":
            predictor = getattr(method, "predictor", None)
            if not isinstance(predictor, Predictor) or predictor.readout is None:
                raise no_node_states(method)
            for handle in _watch_nodes(predictor, seen):
                hooks.callback(handle.remove)
        yield seen


def no_states(method: Method) -> InputError:
    """What to say of a method whose last layer is not known, where its states are wanted."""
    return InputError(
        f"{type(method).__name__} does not say which layer makes its logits, so its states are "
        "not known; give it a Predictor with a head, or a property `last_layer`."
    )


def no_node_states(method: Method) -> InputError:
    """What to say of a method that does not predict from all nodes of a graph."""
    return InputError(
        f"{type(method).__name__} does not pool one state per node, so there are no node states; "
        "take those of the graphs."
    )


def _keep_states(seen: Seen) -> Any:
    def keep(module: Any, given: tuple[Any, ...]) -> None:
        seen.keep("states", given[0].detach())

    return keep


def _watch_nodes(predictor: Predictor, seen: Seen) -> list[Any]:
    """Hooks that keep the node states of a predictor, which is given its attention."""
    weight: list[Tensor | None] = []

    def start(module: Any, given: tuple[Any, ...]) -> None:
        attention = given[1] if len(given) > 1 else None
        weight.append(None if attention is None else attention.node)

    def keep(module: Any, given: Any, states: Tensor) -> None:
        if weight:  # not in a pass of the network for something else
            node = weight.pop()
            found = states.detach()
            seen.keep("nodes", found if node is None else found * node.unsqueeze(-1))

    return [
        predictor.register_forward_pre_hook(start),
        predictor.network.register_forward_hook(keep),
    ]
