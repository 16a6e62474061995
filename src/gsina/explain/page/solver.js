"use strict";
/* The soft top-r of gsina.soft_top_r, for one graph, in double precision. */
const GsinaSolver = (() => {
  const MOST_STEPS = 200; // A bracket of width 1e9 is halved to rounding in 100 steps.

  const logit = (p) => Math.log(p / (1 - p));

  /** The share of a graph's edges that is kept: itself, or given as a number of edges. */
  const shareOf = (kept, edges, counted) => (counted ? Math.min(1, kept / edges) : kept);

  /**
   * Weights sigmoid(2 s / tau + lambda) with a mean of `ratio` over the stored edges.
   *
   * @param {ArrayLike<number>} scores one score per pair
   * @param {ArrayLike<number>} copies how many stored edges a pair stands for
   * @param {number} ratio share r in (0, 1]
   * @param {number} tau temperature above 0
   * @param {Float64Array} out receives the weights
   * @param {number} guess a first lambda, such as that of the step before; NaN for none
   * @returns {number} lambda; NaN if there is none (no pairs, or all weights are 1)
   */
  function softTopR(scores, copies, ratio, tau, out, guess = NaN) {
    const count = scores.length;
    if (count === 0) return NaN;
    if (ratio >= 1) {
      out.fill(1);
      return NaN;
    }
    const scale = 2 / tau;
    let total = 0, sum = 0, least = Infinity, most = -Infinity;
    for (let i = 0; i < count; i++) {
      const x = scale * scores[i];
      total += copies[i];
      sum += copies[i] * x;
      if (x < least) least = x;
      if (x > most) most = x;
    }
    const target = logit(ratio);
    const margin = 1e-9 * (1 + Math.abs(least) + Math.abs(most));
    let low = target - most - margin, high = target - least + margin;
    let lambda = guess > low && guess < high ? guess : target - sum / total;
    let last = Infinity;
    for (let step = 0; step < MOST_STEPS; step++) {
      let mean = 0, slope = 0;
      for (let i = 0; i < count; i++) {
        const weight = 1 / (1 + Math.exp(-(scale * scores[i] + lambda)));
        out[i] = weight;
        mean += copies[i] * weight;
        slope += copies[i] * weight * (1 - weight);
      }
      mean /= total;
      slope /= total;
      if (Math.abs(mean - ratio) <= 1e-14) break;
      // On the logit scale the mean is nearly linear, so Newton's steps are short and few.
      const gap = target - logit(mean);
      if (gap > 0) low = lambda;
      else high = lambda;
      const newton = lambda + (gap * mean * (1 - mean)) / slope;
      const trusted = newton > low && newton < high && Math.abs(gap) <= 0.5 * last;
      last = Math.abs(gap);
      const next = trusted ? newton : (low + high) / 2;
      if (next === lambda || high - low <= 1e-15 * Math.abs(lambda)) break;
      lambda = next;
    }
    return lambda;
  }

  /**
   * Weights clip(s / tau + lambda, 0, 1) with a mean of `ratio`: those of the quadratic regulariser.
   *
   * The arguments and the result are those of `softTopR`.
   */
  function quadraticTopR(scores, copies, ratio, tau, out, guess = NaN) {
    const count = scores.length;
    if (count === 0) return NaN;
    if (ratio >= 1) {
      out.fill(1);
      return NaN;
    }
    let total = 0, least = Infinity, most = -Infinity;
    for (let i = 0; i < count; i++) {
      total += copies[i];
      least = Math.min(least, scores[i] / tau);
      most = Math.max(most, scores[i] / tau);
    }
    let low = -most, high = 1 - least, last = Infinity;
    let lambda = guess > low && guess < high ? guess : (low + high) / 2;
    for (let step = 0; step < MOST_STEPS; step++) {
      let mean = 0, slope = 0;
      for (let i = 0; i < count; i++) {
        const raised = scores[i] / tau + lambda;
        out[i] = Math.min(1, Math.max(0, raised));
        mean += copies[i] * out[i];
        if (raised === out[i]) slope += copies[i];
      }
      const gap = ratio - mean / total;
      if (Math.abs(gap) <= 1e-14) break;
      if (gap > 0) low = lambda;
      else high = lambda;
      // The mean is a broken line: on the right piece of it Newton's step ends the search.
      const newton = lambda + (gap * total) / slope;
      const trusted = newton > low && newton < high && Math.abs(gap) <= 0.5 * last;
      last = Math.abs(gap);
      const next = trusted ? newton : (low + high) / 2;
      if (next === lambda || high - low <= 1e-15 * Math.abs(lambda)) break;
      lambda = next;
    }
    return lambda;
  }

  /** What the model's regulariser makes of scores; how the weights follow from a known lambda. */
  const REGULARISERS = {
    entropic: { solve: softTopR, weight: (x, lambda) => 1 / (1 + Math.exp(-(2 * x + lambda))) },
    quadratic: { solve: quadraticTopR, weight: (x, lambda) => Math.min(1, Math.max(0, x + lambda)) },
  };

  /** Weights for a lambda that is known: that of a larger graph. */
  function atDual(scores, lambda, tau, out, weight = REGULARISERS.entropic.weight) {
    for (let i = 0; i < scores.length; i++) out[i] = weight(scores[i] / tau, lambda);
    return out;
  }

  /**
   * Weights of the nodes: the largest, or the mean, over the edges that start or end there.
   *
   * @param {ArrayLike<number>} ends the two nodes of every pair, one behind the other
   * @param {ArrayLike<number>} copies how many stored edges a pair stands for
   * @param {ArrayLike<number>} weights one weight per pair
   * @param {number} isolated weight of a node without edges
   * @param {"max"|"mean"|"none"} how
   * @param {Float64Array} out receives one weight per node
   */
  function nodeWeights(ends, copies, weights, isolated, how, out) {
    if (how === "none") return out.fill(isolated);
    const seen = new Float64Array(out.length);
    out.fill(0);
    for (let i = 0; i < ends.length; i++) {
      const node = ends[i], pair = i >> 1;
      seen[node] += copies[pair];
      if (how === "mean") out[node] += copies[pair] * weights[pair];
      else if (weights[pair] > out[node]) out[node] = weights[pair];
    }
    for (let node = 0; node < out.length; node++) {
      if (seen[node] === 0) out[node] = isolated;
      else if (how === "mean") out[node] /= seen[node];
    }
    return out;
  }

  return { REGULARISERS, shareOf, softTopR, atDual, nodeWeights };
})();
if (typeof module !== "undefined") module.exports = GsinaSolver;
