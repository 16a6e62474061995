"use strict";
/* What if: the answer for a graph without some edges or nodes, or with other features. */
const GsinaWhatIf = (() => {
  const inNode = typeof module !== "undefined";
  const network = inNode ? require("./network.js") : GsinaNetwork;
  const answers = inNode ? require("./answers.js") : GsinaAnswers;
  const DRAWS = 3; // Random choices that an explanation is compared with.

  /** What the network is given of a graph of the page. */
  function input({ places, ends, copies, input: given }) {
    const nodes = places.length / 2, pairs = ends.length / 2;
    const { x, edge, back, extra, trees } = given;
    return {
      nodes,
      ends: Uint32Array.from(ends),
      copies: typeof copies === "number" ? new Uint8Array(pairs).fill(copies) : Uint8Array.from(copies ?? []),
      x: network.features(x),
      edge: edge && network.features(edge),
      back: back && network.features(back),
      extra: extra && network.features(extra),
      trees,
    };
  }

  /** Removed pairs and nodes, and rows of features that replace those of nodes. */
  const noEdits = () => ({ pairs: new Set(), nodes: new Set(), rows: new Map() });
  const copy = ({ pairs, nodes, rows }) => ({ pairs: new Set(pairs), nodes: new Set(nodes), rows: new Map(rows) });

  const rowsOf = (values, kept, count) => {
    if (!values) return values;
    const width = count ? values.length / count : 0, out = new Float64Array(kept.length * width);
    kept.forEach((row, i) => out.set(values.subarray(row * width, (row + 1) * width), i * width));
    return out;
  };

  /** The graph after the edits, and which nodes and pairs of the whole one it has. */
  function cut(graph, edits) {
    const place = new Int32Array(graph.nodes).fill(-1), nodes = [], pairs = [], ends = [];
    for (let node = 0; node < graph.nodes; node++) if (!edits.nodes.has(node)) place[node] = nodes.push(node) - 1;
    for (let pair = 0; pair < graph.copies.length; pair++) {
      const a = place[graph.ends[2 * pair]], b = place[graph.ends[2 * pair + 1]];
      if (edits.pairs.has(pair) || a < 0 || b < 0) continue;
      pairs.push(pair);
      ends.push(a, b);
    }
    const x = rowsOf(graph.x, nodes, graph.nodes), width = graph.nodes ? graph.x.length / graph.nodes : 0;
    for (const [node, row] of edits.rows) if (place[node] >= 0) x.set(row, place[node] * width);
    const part = {
      nodes: nodes.length,
      ends: Uint32Array.from(ends),
      copies: Uint8Array.from(pairs, (pair) => graph.copies[pair]),
      x,
      edge: rowsOf(graph.edge, pairs, graph.copies.length),
      back: rowsOf(graph.back, pairs, graph.copies.length),
      extra: graph.extra,
      trees: graph.trees,
    };
    return { graph: part, nodes, pairs };
  }

  /** Answer and attention of a graph after the edits: {graph, nodes, pairs, found, answer}. */
  function ask(net, graph, edits, names) {
    const part = cut(graph, edits), found = network.run(net, part.graph);
    return { ...part, found, answer: answers.answer(net, found.logits, names) };
  }

  /** Edits besides which these pairs are removed, and the nodes that so lose their last edge. */
  function without(graph, edits, removed) {
    const more = copy(edits), before = cut(graph, edits);
    removed.forEach((pair) => more.pairs.add(pair));
    const touched = (part) => new Set(part.pairs.flatMap((pair) => [graph.ends[2 * pair], graph.ends[2 * pair + 1]]));
    const left = touched(cut(graph, more));
    for (const node of touched(before)) if (!left.has(node)) more.nodes.add(node);
    return more;
  }

  /** Random numbers that are the same every time. */
  function seeded(seed) {
    let state = seed >>> 0;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
  }

  function shuffled(values, random) {
    const out = [...values];
    for (let i = out.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }

  /**
   * How far the answer moves without the heaviest edges, and with nothing else.
   *
   * Removed are edges, and with them the nodes that lose their last one. Random choices of as many
   * edges are the measure of that. A generator: it yields after every answer, so that the page can
   * breathe.
   *
   * @param here what `ask` says of the edited graph
   * @param {(pair: number) => number} weight of every pair of the edited graph
   * @param {number} count how many edges are marked
   * @param {number} index the class or target that the numbers are about
   * @returns {{marked, now, without, only, randomWithout, randomOnly}} or null for too few edges
   */
  function* faithfulness(net, graph, edits, names, here, weight, count, index) {
    const { pairs } = here;
    if (pairs.length < 2 || count >= pairs.length || count < 1) return null;
    const value = (removed) => answers.value(ask(net, graph, without(graph, edits, removed), names).answer, index);
    function* both(chosen) {
      const inside = new Set(chosen), gone = value(chosen);
      yield;
      const only = value(pairs.filter((pair) => !inside.has(pair)));
      yield;
      return [gone, only];
    }
    const marked = [...pairs].sort((a, b) => weight(b) - weight(a) || a - b).slice(0, count);
    const [gone, only] = yield* both(marked);
    const random = seeded(pairs.length), draws = [];
    for (let draw = 0; draw < DRAWS; draw++) draws.push(yield* both(shuffled(pairs, random).slice(0, count)));
    const mean = (which) => draws.reduce((sum, draw) => sum + draw[which], 0) / DRAWS;
    return { marked, now: answers.value(here.answer, index), without: gone, only,
      randomWithout: mean(0), randomOnly: mean(1) };
  }

  /**
   * The fewest removals of edges that change the answer, found greedily.
   *
   * In every step the edge goes whose removal brings the answer nearest to a change. At the end,
   * edges that were not needed come back. A generator: it yields the number of edges that are
   * removed so far after every answer, so that the page can breathe, and returns the pairs, or null
   * if the answer never changes.
   */
  function* counterfactual(net, graph, edits, names, index) {
    const before = ask(net, graph, edits, names), gone = [];
    const after = (removed) => {
      const more = copy(edits);
      removed.forEach((pair) => more.pairs.add(pair));
      return ask(net, graph, more, names).answer;
    };
    const left = new Set(before.pairs);
    for (let flipped = false; !flipped;) {
      let best = -1, least = Infinity;
      for (const pair of left) {
        const now = after([...gone, pair]), far = answers.margin(before.answer, now, index);
        if (far < least) [best, least, flipped] = [pair, far, answers.changed(before.answer, now, index)];
        yield gone.length + 1;
      }
      if (best < 0) return null;
      gone.push(best);
      left.delete(best);
    }
    let needed = gone;
    for (const pair of gone) {
      const fewer = needed.filter((one) => one !== pair);
      if (fewer.length && answers.changed(before.answer, after(fewer), index)) needed = fewer;
      yield needed.length;
    }
    return needed;
  }

  /** What a generator returns, all at once. */
  function finish(steps) {
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  }

  return { input, noEdits, ask, faithfulness, counterfactual, finish, load: network.load };
})();
if (typeof module !== "undefined") module.exports = GsinaWhatIf;
