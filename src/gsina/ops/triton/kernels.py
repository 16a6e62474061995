"""The kernels of :mod:`gsina.ops.triton.weights`; importing this needs Triton."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def _excess(x, start, end, dual, part, BLOCK: tl.constexpr):
    """Sum of the weights of a group and of their variances, in whole parts."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int64)
    slope = tl.zeros((BLOCK,), tl.int64)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        logits = tl.load(x + first + lanes, mask=inside, other=0.0) + dual
        weights = tl.where(inside, tl.sigmoid(logits), 0.0)
        total += (weights * part).to(tl.int64)
        slope += ((weights - weights * weights) * part).to(tl.int64)
    return tl.sum(total, 0), tl.sum(slope, 0)


@triton.jit
def _excess_shifted(x, start, end, shift, dual, part, BLOCK: tl.constexpr):
    """The same around a threshold: near it, the shift leaves differences that are exact."""
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
def forward_kernel(
    x,
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
    """Weights ``sigmoid(x + dual)`` with mean ``ratio`` for one group, and their complements."""
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    lanes = tl.arange(0, BLOCK)
    given = tl.load(ratios + group)
    everything = given >= 1.0
    ratio = tl.where(everything, 0.5, given)
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
        total, _slope = _excess(x, start, end, middle, part, BLOCK)
        above = total > target
        low = tl.where(above, low, middle)
        high = tl.where(above, middle, high)
    shift = low + (high - low) * 0.5
    wide = 1e-3 + 4e-7 * tl.abs(shift)
    low = low - shift - wide
    high = high - shift + wide
    for _ in range(FINE):
        middle = low + (high - low) * 0.5
        total, _slope = _excess_shifted(x, start, end, shift, middle, part, BLOCK)
        above = total > target
        low = tl.where(above, low, middle)
        high = tl.where(above, middle, high)
    dual = low + (high - low) * 0.5
    best = dual
    smallest = tl.full((), 0x7FFFFFFFFFFFFFFF, tl.int64)
    for _ in range(NEWTON):
        total, slope = _excess_shifted(x, start, end, shift, dual, part, BLOCK)
        excess = total - target
        error = tl.abs(excess)
        best = tl.where(error < smallest, dual, best)
        smallest = tl.minimum(error, smallest)
        low = tl.where(excess < 0, dual, low)
        high = tl.where(excess > 0, dual, high)
        step = excess.to(tl.float32) / tl.maximum(slope, 1).to(tl.float32)
        dual = tl.minimum(tl.maximum(dual - step, low), high)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        logits = (tl.load(x + first + lanes, mask=inside, other=0.0) + shift) + best
        one = tl.where(everything, 1.0, tl.sigmoid(logits))
        other = tl.where(everything, 0.0, tl.sigmoid(-logits))
        tl.store(weights + first + lanes, one, mask=inside)
        tl.store(complements + first + lanes, other, mask=inside)


@triton.jit
def backward_kernel(weights, complements, grads, bounds, found, BLOCK: tl.constexpr):
    """``v (g - <v, g> / <v>)`` for one group, with v the product of weight and complement."""
    group = tl.program_id(0)
    start = tl.load(bounds + group)
    end = tl.load(bounds + group + 1)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    along = tl.zeros((BLOCK,), tl.float32)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        v = tl.load(weights + first + lanes, mask=inside, other=0.0)
        v *= tl.load(complements + first + lanes, mask=inside, other=0.0)
        total += v
        along += v * tl.load(grads + first + lanes, mask=inside, other=0.0)
    pull = tl.sum(along, 0) / tl.maximum(tl.sum(total, 0), 1.1754944e-38)
    for first in range(start, end, BLOCK):
        inside = first + lanes < end
        v = tl.load(weights + first + lanes, mask=inside, other=0.0)
        v *= tl.load(complements + first + lanes, mask=inside, other=0.0)
        g = tl.load(grads + first + lanes, mask=inside, other=0.0)
        tl.store(found + first + lanes, v * (g - pull), mask=inside)
