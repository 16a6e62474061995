"""The compiled kernels: soft top-r, attention and messages of small graphs, on the CPU.

A training step on small graphs is a few hundred calls into torch on short vectors, where the calls
cost more than the numbers. The kernels in ``kernels.c``, ``messages.c`` and ``products.c`` make one
call of them, and that in ``trees.c`` one of a forest. They are built when the package is installed,
if there is a C compiler; without them, on other devices, and for large groups, all is computed by
torch, to rounding the same. What is odd is left to torch, too, which says what is wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Parameter

from gsina.ops.groups import Groups, Runs
from gsina.ops.host import at_hand, is_transformed
from gsina.ops.once import once

VERSION = 8
#: Mean number of elements per group beyond which torch, with wider vectors and threads, is faster.
LARGE = 10_000
#: Number of edges beyond which torch, with several threads, sends messages and scores pairs.
MANY_EDGES = 50_000
#: Number of torch's threads beyond which they make a matrix product sooner than one thread does.
FEW_THREADS = 2

_INT, _REAL, _POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
_SIGNATURES = {
    "gsina_solve": [_INT, _INT, *[_POINTER] * 3, _REAL, *[_POINTER] * 2],
    "gsina_attend": [_INT, _INT, *[_POINTER] * 4, _REAL, _POINTER, _INT, *[_REAL] * 3]
    + [_POINTER] * 6,
    "gsina_node_max": [_INT, _INT, *[_POINTER] * 3, _INT, *[_POINTER] * 2],
    "gsina_attend_backward": [_INT, *[_POINTER] * 11, _REAL, *[_POINTER] * 2],
    "gsina_message_sum": [*[_INT] * 3, *[_POINTER] * 6],
    "gsina_message_sum_backward": [*[_INT] * 3, *[_POINTER] * 9],
    "gsina_pair_scores": [*[_INT] * 3, *[_POINTER] * 4],
    "gsina_pair_scores_backward": [*[_INT] * 3, *[_POINTER] * 7],
    "gsina_forest_sum": [*[_INT] * 6, *[_POINTER] * 7],
    "gsina_product": [*[_INT] * 3, *[_POINTER, _INT, _INT] * 2, *[_POINTER] * 2],
}
_ALONE: ContextVar[bool] = ContextVar("gsina_torch_alone", default=False)


@contextmanager
def torch_alone() -> Iterator[None]:
    """Do without the kernels in the block, in this thread."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def is_torch_alone() -> bool:
    """Whether this is inside :func:`torch_alone`."""
    return _ALONE.get()


def kernels() -> Any:
    """The library; ``None`` if it is not to be had, or not to be used."""
    return None if _ALONE.get() else _library()


def backward_kernels() -> Any:
    """The library that a forward pass used, also where it is not to be used now."""
    return _library()


@cache
def _library() -> Any:
    """The library, or ``None`` if it was not built, or of another version of the source."""
    found = PathFinder.find_spec("_kernels", [str(Path(__file__).parent)])
    if found is None or found.origin is None:
        return None
    try:
        library = ctypes.CDLL(found.origin)
        library.gsina_version.restype = _INT
        if library.gsina_version() != VERSION:
            return None
    except (OSError, AttributeError):
        return None
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = None if name.endswith("_backward") else _INT
    return library


def solve(x: Tensor, ratio: Tensor, groups: Groups, near: float) -> tuple[Tensor, int] | None:
    """The dual of every group ``[G]`` and the evaluations it took; ``None`` to leave it to torch.

    Args:
        x: Logits ``[N]``, float64, the groups end to end.
        ratio: Shares ``[G]``, float64, in (0, 1].
        groups: Group of every element.
        near: Newton steps as short as this are the last.
    """
    library = kernels_for_memory()
    if library is None or not _suited(groups):
        return None
    if not (is_plain(x, torch.float64, groups.size) and is_plain(ratio, torch.float64, groups.num)):
        return None
    x, ratio, index = x.contiguous(), ratio.contiguous(), _contiguous(groups.index)
    bounds, dual = x.new_empty(groups.num + 1, dtype=torch.long), torch.empty_like(ratio)
    used = library.gsina_solve(
        groups.size, groups.num, *pointers(index, x, ratio), near, *pointers(bounds, dual)
    )
    return None if used < 0 else (dual, used)


class Graphs(NamedTuple):
    """What the attention has to know of a batch.

    Attributes:
        groups: The edges that share one constraint.
        edge_index: Edges ``[2, E]``.
        reverse: Opposite of every edge ``[E]``, or ``None``.
        num_nodes: Number of nodes N.
    """

    groups: Groups
    edge_index: Tensor
    reverse: Tensor | None
    num_nodes: int


class _Solution(NamedTuple):
    """What the forward pass found, for the backward pass; shapes as in ``kernels.c``."""

    bounds: Tensor
    edge_index: Tensor
    reverse: Tensor | None
    standard: Tensor
    edge: Tensor
    complement: Tensor
    scale: Tensor
    node: Tensor | None
    ties: Tensor | None


def attend(
    scores: Tensor,
    graphs: Graphs,
    *,
    ratio: float | Tensor,
    temperature: float,
    noise: Tensor | None,
    sigma: float,
    eps: float,
    near: float,
    isolated: float | Tensor | None,
) -> tuple[Tensor, Tensor | None, Tensor] | None:
    """Weights of edges and nodes from scores; ``None`` to leave it to torch.

    Scores are made equal for both directions of an edge and standardised; ``sigma`` times the noise
    is subtracted, and the soft top-r taken. Differentiable once by the scores.

    Args:
        scores: Scores of the edges ``[E]``.
        graphs: The graphs.
        ratio: Share r in (0, 1], or one per group ``[G]``, float64.
        temperature: Softness tau.
        noise: Negative noise ``[E]``, of which both directions get that of the first; or ``None``.
        sigma: Factor of the noise.
        eps: Added to the variance.
        near: Newton steps as short as this are the last.
        isolated: Weight of a node without edges, or one per node ``[N]``, float64; others have the
            largest weight of their edges. ``None`` for no weights of nodes.

    Returns:
        Weights of the edges ``[E]``; of the nodes ``[N]``, or ``None``; the standardised scores
        ``[E]``, without gradient.
    """
    library, edges, groups = kernels_for_memory(), scores.numel(), graphs.groups.num
    if library is None or not _suited(graphs.groups) or graphs.groups.size != edges:
        return None
    if not all(is_plain(values, torch.float32, edges) for values in (scores, noise)):
        return None
    reverse, edge_index = graphs.reverse, graphs.edge_index
    if not (is_plain(reverse, torch.long, edges) and is_plain(edge_index, torch.long, 2, edges)):
        return None
    if not (_fits(ratio, groups) and _fits(isolated, graphs.num_nodes)):
        return None
    index, reverse = _contiguous(graphs.groups.index), _contiguous(reverse)
    edge_index, plain = edge_index.contiguous(), scores.detach().contiguous()
    noise, bounds = _contiguous(noise), plain.new_empty(groups + 1, dtype=torch.long)
    standard, edge, complement = (torch.empty_like(plain) for _ in range(3))
    scale, x = plain.new_empty(groups), plain.new_empty(edges, dtype=torch.float64)
    failed = library.gsina_attend(
        edges,
        groups,
        *pointers(index, plain, reverse, noise),
        sigma,
        *_numbers(ratio),
        2 / temperature,
        eps,
        near,
        *pointers(bounds, standard, edge, complement, scale, x),
    )
    if failed:
        return None
    node = ties = None
    if isolated is not None:
        node, ties = plain.new_empty(graphs.num_nodes), plain.new_empty(graphs.num_nodes)
        failed = library.gsina_node_max(
            edges,
            graphs.num_nodes,
            *pointers(edge_index, edge),
            *_numbers(isolated),
            *pointers(node, ties),
        )
        if failed:
            return None
    found = _Solution(bounds, edge_index, reverse, standard, edge, complement, scale, node, ties)
    gradient = partial(_gradient, factor=2 / temperature)
    return *known_attention(scores, found, gradient), standard


def known_attention(
    scores: Tensor, found: Any, gradient: Callable[..., Tensor]
) -> tuple[Tensor, Tensor | None]:
    """Weights of edges and nodes that are known, as functions of the scores, differentiable once.

    Args:
        scores: Scores of the edges ``[E]``.
        found: A named tuple of tensors, among them the weights ``edge`` and ``node``; it is kept.
        gradient: ``(found, of_edge, of_node)`` to the gradient by the scores ``[E]``, from those by
            the weights, of which one may be ``None``.
    """
    return _KnownAttention.apply(scores, found, gradient)  # type: ignore[no-any-return,no-untyped-call]


class _KnownAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, found: Any, gradient: Callable[..., Tensor]
    ) -> tuple[Tensor, Tensor | None]:
        ctx.save_for_backward(*found)
        ctx.kind, ctx.gradient = type(found), gradient
        ctx.set_materialize_grads(False)
        return found.edge, found.node

    @staticmethod
    @once
    def backward(
        ctx: Any, of_edge: Tensor | None, of_node: Tensor | None
    ) -> tuple[Tensor | None, None, None]:
        if of_edge is None and of_node is None:
            return None, None, None
        return ctx.gradient(ctx.kind(*ctx.saved_tensors), of_edge, of_node), None, None


def _gradient(
    found: _Solution, of_edge: Tensor | None, of_node: Tensor | None, *, factor: float
) -> Tensor:
    of_edge, of_node = _contiguous(of_edge), _contiguous(of_node)
    work, of_scores = torch.empty_like(found.edge), torch.empty_like(found.edge)
    backward_kernels().gsina_attend_backward(
        found.scale.numel(),
        *pointers(found.bounds, found.edge_index, found.reverse),
        *pointers(found.standard, found.edge, found.complement, found.scale),
        *pointers(found.node, found.ties, of_edge, of_node),
        factor,
        *pointers(work, of_scores),
    )
    return of_scores


def product(a: Tensor, b: Tensor, begin: Tensor | None = None) -> Tensor:
    """``a b``, and ``begin`` added to every row: ``[M, K], [K, N], [N] -> [M, N]``, float32.

    By the kernel where processor and sizes are right for it, else by torch; no gradient.
    """
    library, (rows, depth), columns = kernels_for_memory(), a.shape, b.size(1)
    if library is not None and torch.get_num_threads() <= FEW_THREADS:
        found = a.new_empty(rows, columns)
        factors = (part for one in (a, b) for part in (one.data_ptr(), *one.stride()))
        if not library.gsina_product(rows, depth, columns, *factors, *pointers(begin, found)):
            return found
    return a @ b if begin is None else torch.addmm(begin, a, b)


def kernels_for_memory() -> Any:
    """The kernels, if new tensors have memory."""
    return kernels() if have_memory() else None


def have_memory() -> bool:
    """Whether new tensors have memory, and nobody writes down what is computed.

    That is, no mode (fake tensors), no transform and no compiler is on.
    """
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return False
    return not torch._C._len_torch_dispatch_stack() and not is_transformed()


def _suited(groups: Groups) -> bool:
    """Whether groups are small on average, of this process alone, and may be ascending."""
    known = type(groups) in (Groups, Runs) and is_plain(groups.index, torch.long, groups.size)
    return known and groups.size <= LARGE * groups.num


def is_plain(tensor: Tensor | None, dtype: torch.dtype, *shape: int) -> bool:
    """Whether the kernels can read a tensor: in plain memory, as expected; or ``None``."""
    if tensor is None:
        return True
    plain = type(tensor) in (Tensor, Parameter) and tensor.layout == torch.strided
    return plain and at_hand(tensor) and tensor.dtype == dtype and tensor.shape == shape


def _fits(values: float | Tensor | None, size: int) -> bool:
    """Whether the kernels can read numbers: one for all, or one each."""
    return not isinstance(values, Tensor) or is_plain(values, torch.float64, size)


def _numbers(values: float | Tensor) -> tuple[Any, int]:
    """Where numbers begin, and the step to the next: 0 if there is one for all."""
    if isinstance(values, Tensor):
        return values.data_ptr(), values.stride(0)
    return ctypes.byref(ctypes.c_double(values)), 0


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()


def pointers(*tensors: Tensor | None) -> list[int | None]:
    """Where tensors begin; they have to be contiguous."""
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]
