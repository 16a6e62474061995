"""The kernels of this folder's other modules; importing this needs Triton."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def _excess(x, start, end, shift, dual, part, BLOCK: tl.constexpr):
    """Sum of the weights of a group and of their variances, in whole parts.

    Near a threshold, a shift by it leaves differences that are exact.
    """
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int64)
    slope = tl.zeros((BLOCK,), tl.int64)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        logits = (tl.load(x + first + lanes, mask=inside, other=0.0) + shift) + dual
        weights = tl.where(inside, tl.sigmoid(logits), 0.0)
        total += (weights * part).to(tl.int64)
        slope += ((weights - weights * weights) * part).to(tl.int64)
    return tl.sum(total, 0), tl.sum(slope, 0)


@triton.jit
def _solve(
    x,
    start,
    end,
    ratio,
    part,
    COARSE: tl.constexpr,
    FINE: tl.constexpr,
    NEWTON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The dual of one group in two parts, shift and rest: ``sigmoid((x + shift) + rest)``."""
    lanes = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    least = tl.full((BLOCK,), float("inf"), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        values = tl.load(x + first + lanes, mask=inside, other=0.0)
        most = tl.maximum(most, tl.where(inside, values, float("-inf")))
        least = tl.minimum(least, tl.where(inside, values, float("inf")))
    target = (ratio * part).to(tl.int64) * (end - start)
    logit = tl.log(ratio) - tl.log(1.0 - ratio)
    low = logit - tl.max(most, 0)
    high = logit - tl.min(least, 0)
    margin = 1e-6 * (1.0 + tl.abs(low) + tl.abs(high))
    low -= margin
    high += margin
    for _ in range(COARSE):
        middle = low + (high - low) * 0.5
        total, _slope = _excess(x, start, end, 0.0, middle, part, BLOCK)
        above = total > target
        low = tl.where(above, low, middle)
        high = tl.where(above, middle, high)
    shift = low + (high - low) * 0.5
    wide = 1e-3 + 4e-7 * tl.abs(shift)
    low = low - shift - wide
    high = high - shift + wide
    for _ in range(FINE):
        middle = low + (high - low) * 0.5
        total, _slope = _excess(x, start, end, shift, middle, part, BLOCK)
        above = total > target
        low = tl.where(above, low, middle)
        high = tl.where(above, middle, high)
    dual = low + (high - low) * 0.5
    best = dual
    smallest = tl.full((), 0x7FFFFFFFFFFFFFFF, tl.int64)
    for _ in range(NEWTON):
        total, slope = _excess(x, start, end, shift, dual, part, BLOCK)
        excess = total - target
        error = tl.abs(excess)
        best = tl.where(error < smallest, dual, best)
        smallest = tl.minimum(error, smallest)
        low = tl.where(excess < 0, dual, low)
        high = tl.where(excess > 0, dual, high)
        step = excess.to(tl.float32) / tl.maximum(slope, 1).to(tl.float32)
        dual = tl.minimum(tl.maximum(dual - step, low), high)
    return shift, best


@triton.jit
def _solve_and_store(
    x,
    order,
    start,
    end,
    given,
    weights,
    complements,
    part,
    COARSE: tl.constexpr,
    FINE: tl.constexpr,
    NEWTON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Weights ``sigmoid(x + dual)`` with mean ``given`` for one group, and their complements.

    ``x`` lies by places of the group, which hold the elements ``order``.
    """
    lanes = tl.arange(0, BLOCK)
    everything = given >= 1.0
    ratio = tl.where(everything, 0.5, given)
    shift, best = _solve(x, start, end, ratio, part, COARSE, FINE, NEWTON, BLOCK)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        element = tl.load(order + first + lanes, mask=inside, other=0)
        logits = (tl.load(x + first + lanes, mask=inside, other=0.0) + shift) + best
        one = tl.where(everything, 1.0, tl.sigmoid(logits))
        other = tl.where(everything, 0.0, tl.sigmoid(-logits))
        tl.store(weights + element, one, mask=inside)
        tl.store(complements + element, other, mask=inside)


@triton.jit
def _pull(order, start, end, weights, complements, grads, BLOCK: tl.constexpr):
    """``<v, g> / <v>`` of one group, with v the product of weight and complement."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    along = tl.zeros((BLOCK,), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        element = tl.load(order + first + lanes, mask=inside, other=0)
        v = _variance(weights, complements, element, inside)
        total += v
        along += v * tl.load(grads + element, mask=inside, other=0.0)
    return tl.sum(along, 0) / tl.maximum(tl.sum(total, 0), 1.1754944e-38)


@triton.jit
def _variance(weights, complements, element, inside):
    v = tl.load(weights + element, mask=inside, other=0.0)
    return v * tl.load(complements + element, mask=inside, other=0.0)


@triton.jit
def forward_kernel(
    x,
    order,
    ratios,
    bounds,
    weights,
    complements,
    part,
    COARSE: tl.constexpr,
    FINE: tl.constexpr,
    NEWTON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Soft top-r of one group."""
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    given = tl.load(ratios + group)
    _solve_and_store(
        x, order, start, end, given, weights, complements, part, COARSE, FINE, NEWTON, BLOCK
    )


@triton.jit
def backward_kernel(order, bounds, weights, complements, grads, found, BLOCK: tl.constexpr):
    """``v (g - <v, g> / <v>)`` for one group, with v the product of weight and complement."""
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    lanes = tl.arange(0, BLOCK)
    pull = _pull(order, start, end, weights, complements, grads, BLOCK)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        element = tl.load(order + first + lanes, mask=inside, other=0)
        v = _variance(weights, complements, element, inside)
        g = tl.load(grads + element, mask=inside, other=0.0)
        tl.store(found + element, v * (g - pull), mask=inside)


@triton.jit
def attend_kernel(
    scores,
    order,
    reverse,
    noise,
    ratios,
    bounds,
    standard,
    weights,
    complements,
    scales,
    x,
    part,
    sigma,
    factor,
    eps,
    COARSE: tl.constexpr,
    FINE: tl.constexpr,
    NEWTON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Attention of the edges of one group: all from their scores to their weights.

    Scores are made equal for both directions, standardised, and go less the noise, times
    ``factor``, through the soft top-r. Places of the group hold the edges ``order``; ``x`` is room
    to work, by places.
    """
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    lanes = tl.arange(0, BLOCK)
    count = (end - start).to(tl.float32)
    sums = tl.zeros((BLOCK,), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        edge = tl.load(order + first + lanes, mask=inside, other=0)
        other = tl.load(reverse + edge, mask=inside, other=0)
        both = tl.load(scores + edge, mask=inside, other=0.0)
        both = (both + tl.load(scores + other, mask=inside, other=0.0)) * 0.5
        tl.store(x + first + lanes, both, mask=inside)
        sums += tl.where(inside, both, 0.0)
    mean = tl.sum(sums, 0) / tl.maximum(count, 1.0)
    tl.debug_barrier()
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        centred = tl.load(x + first + lanes, mask=inside, other=0.0) - mean
        squares += tl.where(inside, centred * centred, 0.0)
    unit = 1.0 / tl.sqrt(tl.sum(squares, 0) / tl.maximum(count - 1.0, 1.0) + eps)
    tl.store(scales + group, unit)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        edge = tl.load(order + first + lanes, mask=inside, other=0)
        drawn = tl.minimum(edge, tl.load(reverse + edge, mask=inside, other=0))
        value = (tl.load(x + first + lanes, mask=inside, other=0.0) - mean) * unit
        tl.store(standard + edge, value, mask=inside)
        value = (value - sigma * tl.load(noise + drawn, mask=inside, other=0.0)) * factor
        tl.store(x + first + lanes, value, mask=inside)
    tl.debug_barrier()
    given = tl.load(ratios + group)
    _solve_and_store(
        x, order, start, end, given, weights, complements, part, COARSE, FINE, NEWTON, BLOCK
    )


@triton.jit
def node_max_kernel(ends, weights, nodes, edges, BLOCK: tl.constexpr):
    """Largest weight of the edges at every node, as the bits of a float, which order alike.

    ``ends`` holds all sources, then all targets; ``nodes`` begins as -1 everywhere.
    """
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < 2 * edges
    weight = tl.load(weights + place % edges, mask=inside, other=0.0)
    node = tl.load(ends + place, mask=inside, other=0)
    tl.atomic_max(nodes + node, weight.to(tl.int32, bitcast=True), mask=inside)


@triton.jit
def attend_backward_kernel(
    order,
    bounds,
    standard,
    weights,
    complements,
    scales,
    grads,
    found,
    factor,
    BLOCK: tl.constexpr,
):
    """Gradient of one group by its scores, before that of the two directions is shared.

    The sum of that of the soft top-r is 0, so one term of that of the standardised scores is none.
    """
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    lanes = tl.arange(0, BLOCK)
    pull = _pull(order, start, end, weights, complements, grads, BLOCK)
    along = tl.zeros((BLOCK,), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        edge = tl.load(order + first + lanes, mask=inside, other=0)
        v = _variance(weights, complements, edge, inside)
        d = v * (tl.load(grads + edge, mask=inside, other=0.0) - pull)
        along += d * tl.load(standard + edge, mask=inside, other=0.0)
    share = tl.sum(along, 0) / tl.maximum((end - start).to(tl.float32) - 1.0, 1.0)
    unit = factor * tl.load(scales + group)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        edge = tl.load(order + first + lanes, mask=inside, other=0)
        v = _variance(weights, complements, edge, inside)
        d = v * (tl.load(grads + edge, mask=inside, other=0.0) - pull)
        d -= share * tl.load(standard + edge, mask=inside, other=0.0)
        tl.store(found + edge, d * unit, mask=inside)
