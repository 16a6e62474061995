"use strict";
/* The trained network: answers and attention of one graph, as gsina computes them, in doubles. */
const GsinaNetwork = (() => {
  const solver = typeof module !== "undefined" ? require("./solver.js") : GsinaSolver;
  const NORM_EPS = 1e-5; // Of the instance norm in a scorer.

  /** Numbers from base64: single precision, or 16-bit whole numbers times a unit per matrix. */
  function decode({ bits, shapes, units, numbers }) {
    const bytes = Uint8Array.from(atob(numbers), (sign) => sign.charCodeAt(0));
    const wanted = shapes.reduce((sum, [rows, columns]) => sum + rows * columns, 0);
    if (bytes.length !== (wanted * bits) / 8) throw new Error("the numbers of the network are damaged");
    const view = new DataView(bytes.buffer);
    let at = 0;
    return shapes.map(([rows, columns], matrix) => {
      const values = new Float64Array(rows * columns);
      for (let i = 0; i < values.length; i++, at += bits / 8) {
        values[i] = bits === 16 ? units[matrix] * view.getInt16(at, true) : view.getFloat32(at, true);
      }
      return { values, rows, columns };
    });
  }

  /** Floating-point features from base64, or whole numbers as they are. */
  function features(given) {
    if (typeof given !== "string") return Float64Array.from(given);
    const bytes = Uint8Array.from(atob(given), (sign) => sign.charCodeAt(0));
    return Float64Array.from(new Float32Array(bytes.buffer));
  }

  /** The network of a page, with its matrices in place of their numbers. */
  function load(described) {
    const matrices = decode(described.store);
    const fill = (value, key) => {
      if (Array.isArray(value)) return value.map((one) => fill(one, key));
      if (["matrix", "bias", "start"].includes(key)) return typeof value === "number" ? matrices[value] : null;
      if (value === null || typeof value !== "object") return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, name)]));
    };
    return { ...described, store: null, members: fill(described.members, "") };
  }

  /* ---- maps ---- */

  /** `x A + b` of every row; for categories the sum of the rows of A that they choose. */
  function apply({ matrix, bias, sizes }, x, rows) {
    const wide = matrix.columns, width = sizes ? sizes.length : matrix.rows;
    const a = matrix.values, out = new Float64Array(rows * wide);
    if (x.length !== rows * width) throw new Error("the features of a graph do not fit the network");
    const from = new Int32Array(width + 3), factor = new Float64Array(width + 3);
    for (let row = 0; row < rows; row++) {
      const to = row * wide;
      if (bias) out.set(bias.values, to);
      let used = 0; // Rows of A that count: after a relu about half of them do not.
      for (let i = 0, first = 0; i < width; i++) {
        const value = x[row * width + i];
        if (!sizes && value === 0) continue;
        from[used] = (sizes ? first + value : i) * wide;
        factor[used++] = sizes ? 1 : value;
        if (sizes) first += sizes[i];
      }
      factor.fill(0, used, used + 3);
      for (let i = 0; i < used; i += 4) { // Four at a time: the sums are loaded and stored less often.
        const f = from[i], g = from[i + 1], h = from[i + 2], l = from[i + 3];
        const p = factor[i], q = factor[i + 1], r = factor[i + 2], s = factor[i + 3];
        for (let k = 0; k < wide; k++) out[to + k] += p * a[f + k] + q * a[g + k] + r * a[h + k] + s * a[l + k];
      }
    }
    return out;
  }

  function relu(values) {
    for (let i = 0; i < values.length; i++) if (values[i] < 0) values[i] = 0;
    return values;
  }

  /** Maps with relu between them. */
  const chain = (maps, x, rows) => maps.reduce((h, map, i) => apply(map, i ? relu(h) : h, rows), x);

  /** Mean 0 and variance 1 of every column, then relu. */
  function normRelu(z, rows) {
    const wide = rows ? z.length / rows : 0;
    for (let k = 0; k < wide; k++) {
      let mean = 0, spread = 0;
      for (let i = k; i < z.length; i += wide) mean += z[i];
      mean /= rows;
      for (let i = k; i < z.length; i += wide) spread += (z[i] - mean) ** 2;
      const scale = 1 / Math.sqrt(spread / rows + NORM_EPS);
      for (let i = k; i < z.length; i += wide) z[i] = Math.max(0, (z[i] - mean) * scale);
    }
    return z;
  }

  /* ---- backbones ---- */

  /** Stored edges: calls `visit(source, target, pair, back)` for each. */
  function eachEdge({ ends, copies }, visit) {
    for (let pair = 0; pair < copies.length; pair++) {
      visit(ends[2 * pair], ends[2 * pair + 1], pair, false);
      if (copies[pair] === 2) visit(ends[2 * pair + 1], ends[2 * pair], pair, true);
    }
  }

  /** Sums of weighted messages at every node. */
  function gather(layer, graph, sent, wide, weights) {
    const { nodes } = graph, pairs = graph.copies.length;
    const symmetric = layer.norm === "symmetric", out = new Float64Array(nodes * wide);
    const degree = new Float64Array(nodes).fill(symmetric ? 1 : 0);
    eachEdge(graph, (source, target) => { if (!symmetric || source !== target) degree[target]++; });
    const ahead = layer.edge && apply(layer.edge, graph.edge, pairs);
    const behind = layer.edge && (graph.back ? apply(layer.edge, graph.back, pairs) : ahead);
    eachEdge(graph, (source, target, pair, back) => {
      if (symmetric && source === target) return; // Its own self-loop takes that one's place.
      let share = weights ? weights[pair] : 1;
      if (layer.norm === "mean") share /= degree[target];
      if (symmetric) share /= Math.sqrt(degree[source] * degree[target]);
      const term = back ? behind : ahead, from = source * wide, to = target * wide, at = pair * wide;
      for (let k = 0; k < wide; k++) {
        let value = sent[from + k];
        if (term) value += term[at + k];
        if (layer.gate && value < 0) value = 0;
        out[to + k] += share * value;
      }
    });
    if (symmetric) {
      for (let i = 0; i < out.length; i++) out[i] += sent[i] / degree[Math.floor(i / wide)];
    }
    return out;
  }

  function runLayer(layer, graph, h, weights) {
    const { nodes } = graph;
    const sent = layer.message ? apply(layer.message, h, nodes) : h;
    const wide = nodes ? sent.length / nodes : 0;
    const z = gather(layer, graph, sent, wide, weights);
    if (layer.own) for (let i = 0; i < z.length; i++) z[i] += layer.own * h[i];
    if (layer.ownMap) apply(layer.ownMap, h, nodes).forEach((value, i) => { z[i] += value; });
    if (layer.bias) for (let i = 0; i < z.length; i++) z[i] += layer.bias.values[i % wide];
    const states = chain(layer.maps, z, nodes);
    return layer.relu ? relu(states) : states;
  }

  /** States of the nodes from features, with messages multiplied by weights of pairs if given. */
  function embed(network, graph, x, weights) {
    const { nodes } = graph;
    let h = network.encode ? apply(network.encode, x, nodes) : x;
    let state = network.start ? network.start.values : null;
    network.layers.forEach((layer, depth) => {
      if (state) h = h.map((value, i) => value + state[i % state.length]);
      const before = h;
      h = runLayer(layer, graph, h, weights);
      if (!state || depth === network.layers.length - 1) return;
      const sum = Float64Array.from(state);
      before.forEach((value, i) => { sum[i % sum.length] += value; });
      state = relu(chain(network.virtual[depth], sum, 1));
    });
    return h;
  }

  function readout(h, nodes, how, weights) {
    const wide = nodes ? h.length / nodes : 0, out = new Float64Array(wide);
    let total = 0;
    for (let node = 0; node < nodes; node++) {
      const weight = weights ? weights[node] : 1;
      total += weight;
      for (let k = 0; k < wide; k++) {
        const value = weight * h[node * wide + k];
        if (how === "max") out[k] = node ? Math.max(out[k], value) : value;
        else out[k] += value;
      }
    }
    return how === "mean" && total !== 0 ? out.map((value) => value / total) : out;
  }

  function predict(predictor, graph, x, edge, node, extra) {
    const h = embed(predictor.network, graph, x, edge);
    const wide = predictor.head[0].matrix.rows;
    const pooled = graph.nodes ? readout(h, graph.nodes, predictor.readout, node) : new Float64Array(wide);
    if (extra) for (let k = 0; k < wide; k++) pooled[k] += extra[k];
    return chain(predictor.head, pooled, 1);
  }

  /* ---- attention ---- */

  /** One score per pair, the mean of its two directions; or one per node. */
  function score(scorer, graph, h) {
    const { nodes } = graph;
    const finish = (z, rows) => {
      const hidden = scorer.second
        ? normRelu(apply(scorer.second, normRelu(z, rows), rows), rows) : relu(z);
      return apply(scorer.last, hidden, rows);
    };
    const own = apply(scorer.first, h, nodes);
    if (scorer.of === "node") return finish(own, nodes);
    const wide = scorer.first.matrix.columns, sources = apply(scorer.source, h, nodes);
    const rows = graph.copies.reduce((sum, copies) => sum + copies, 0);
    const z = new Float64Array(rows * wide);
    let to = 0;
    eachEdge(graph, (source, target) => {
      for (let k = 0; k < wide; k++, to++) z[to] = sources[source * wide + k] + own[target * wide + k];
    });
    const each = finish(z, rows), scores = new Float64Array(graph.copies.length);
    let at = 0;
    eachEdge(graph, (source, target, pair) => { scores[pair] += each[at++] / graph.copies[pair]; });
    return { scores, each };
  }

  /** Mean 0 and unbiased variance 1 over the stored edges. */
  function standardise(scores, copies, eps) {
    let count = 0, mean = 0, spread = 0;
    scores.forEach((value, i) => { count += copies[i]; mean += copies[i] * value; });
    mean /= count || 1;
    scores.forEach((value, i) => { spread += copies[i] * (value - mean) ** 2; });
    const scale = 1 / Math.sqrt(spread / Math.max(1, count - 1) + eps);
    return scores.map((value) => (value - mean) * scale);
  }

  function sinkhornAttention({ attention, scorer }, graph, h) {
    const { ends, copies } = graph, { budget, temperature, regulariser } = attention;
    const scores = standardise(score(scorer, graph, h).scores, copies, attention.eps);
    const ratio = solver.shareOf(budget.count ?? budget.share, copies.length, budget.count !== null);
    const edge = new Float64Array(copies.length);
    solver.REGULARISERS[regulariser].solve(scores, copies, ratio, temperature, edge);
    const node = attention.node === "none" ? null
      : solver.nodeWeights(ends, copies, edge, ratio, attention.node, new Float64Array(graph.nodes));
    return { edge, node, scores };
  }

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  /** What GSAT multiplies messages by; its readout is not weighted. */
  function stochasticAttention({ scorer }, graph, h) {
    const { ends, copies } = graph;
    if (scorer.of === "node") {
      const node = score(scorer, graph, h).map(sigmoid);
      return { edge: Float64Array.from(copies, (_, i) => node[ends[2 * i]] * node[ends[2 * i + 1]]), node, scores: null };
    }
    const { scores, each } = score(scorer, graph, h), edge = new Float64Array(copies.length);
    let at = 0;
    eachEdge(graph, (source, target, pair) => { edge[pair] += sigmoid(each[at++]) / copies[pair]; });
    return { edge, node: null, scores };
  }

  /* ---- methods ---- */

  const METHODS = {
    plain: ({ predictor }, graph, extra) => ({ logits: predict(predictor, graph, graph.x, null, null, extra) }),
    gsat(member, graph, extra) {
      const found = stochasticAttention(member, graph, embed(member.predictor.network, graph, graph.x, null));
      return { ...found, logits: predict(member.predictor, graph, graph.x, found.edge, null, extra) };
    },
    gsina(member, graph, extra) {
      const h = embed(member.extractor, graph, graph.x, null);
      const found = sinkhornAttention(member, graph, h), x = member.embedding ? h : graph.x;
      return { ...found, logits: predict(member.predictor, graph, x, found.edge, found.node, extra) };
    },
  };

  const mean = (parts) => parts[0].map((_, i) => parts.reduce((sum, part) => sum + part[i], 0) / parts.length);
  const logSigmoid = (x) => (x > 0 ? -Math.log1p(Math.exp(-x)) : x - Math.log1p(Math.exp(x)));
  const logSum = (values) => {
    const most = Math.max(...values);
    return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
  };

  /** Logits of the mean probabilities of members, or their mean values. */
  function meanLogits(each, task) {
    if (each.length === 1 || task === "regression") return mean(each);
    if (task === "multiclass") {
      const logs = each.map((logits) => logits.map((value) => value - logSum(logits)));
      return each[0].map((_, i) => logSum(logs.map((row) => row[i])) - Math.log(each.length));
    }
    return each[0].map((_, i) => logSum(each.map((row) => logSigmoid(row[i])))
      - logSum(each.map((row) => logSigmoid(-row[i]))));
  }

  /** The mean of what a network and trees say, of which the former has a share; of several classes,
   * of their log probabilities. */
  function besideTrees(logits, trees, task, share) {
    if (!trees) return logits;
    const shift = (row) => (task === "multiclass" ? row.map((value) => value - logSum(row)) : row);
    const [ours, theirs] = [shift(Array.from(logits)), shift(trees)];
    return ours.map((value, i) => share * value + (1 - share) * theirs[i]);
  }

  /** Features without units, in single precision as the model got them. */
  function scaled(values, moments) {
    if (!moments || !values) return values;
    const { mean: middle, scale } = moments, width = middle.length;
    return values.map((value, i) => Math.fround((value - middle[i % width]) / scale[i % width]));
  }

  /**
   * Answer and attention of one graph.
   *
   * @param network from `load`
   * @param graph `nodes`, `ends` and `copies` of the pairs, `x` features of the nodes, `edge` those
   *   of the pairs and `back` those of their opposite directions if they differ, `extra` what is
   *   added to the state of the graph, one row per member, `trees` what the trees beside the
   *   network say, which stays as it is
   * @returns {{logits, edge, node, scores}} logits (or values in their units); weights of pairs and
   *   nodes, and the scores behind them, where there are such
   */
  function run(network, graph) {
    const { task, scaling, scale } = network, count = network.members.length;
    const given = { ...graph, x: scaled(graph.x, scaling.node),
      edge: scaled(graph.edge, scaling.edge), back: scaled(graph.back, scaling.edge) };
    const wide = graph.extra ? graph.extra.length / count : 0;
    const found = network.members.map((member, i) => METHODS[member.kind](
      member, given, graph.extra && graph.extra.subarray(i * wide, (i + 1) * wide)));
    const ours = meanLogits(found.map((one) => one.logits), task);
    let logits = besideTrees(ours, graph.trees, task, network.share);
    if (scale) logits = logits.map((value, i) => value * scale.std[i] + scale.mean[i]);
    const all = (name) => found.every((one) => one[name]);
    return {
      logits,
      edge: all("edge") ? mean(found.map((one) => one.edge)) : null,
      node: all("node") ? mean(found.map((one) => one.node)) : null,
      scores: count === 1 ? found[0].scores ?? null : null,
    };
  }

  return { load, run, features };
})();
if (typeof module !== "undefined") module.exports = GsinaNetwork;
