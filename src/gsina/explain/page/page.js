"use strict";
/* The page: cards and sliders. All text enters through textContent. */
(() => {
  const SLICE = 12; // Milliseconds that the density may take before the page breathes again.

  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const graphs = data.graphs.map(prepare);
  const solvable = graphs.some((graph) => graph.scores);
  const nodeWord = data.molecules ? "atom" : "node", edgeWord = data.molecules ? "bond" : "edge";
  const cardWord = graphs.some((graph) => graph.centre !== undefined) ? "node" : "graph";
  const whole = data.whole && prepareWhole(data.whole); // The graph that the drawn ones are parts of.
  const counted = data.budget.count !== null; // Whether the budget is a number of edges, or a share.
  const given = counted ? data.budget.count : data.budget.share;
  const certified = counted ? null : data.certified?.share ?? null; // A share of its own to start from.
  const regulariser = GsinaSolver.REGULARISERS[data.regulariser];
  const state = {
    kept: certified ?? given, tau: data.temperature, version: 0, shown: graphs, current: 0,
    open: null, marked: -1, stepMs: 0, densityMs: 0,
  };

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  /* ---- graphs and their weights ---- */

  function prepare(entry, index) {
    const pairs = entry.ends.length / 2;
    const graph = { ...entry, index, nodes: entry.places.length / 2, version: -1, lambda: NaN };
    graph.ends = Uint32Array.from(entry.ends);
    graph.copies = Array.isArray(entry.copies)
      ? Uint8Array.from(entry.copies) : new Uint8Array(pairs).fill(entry.copies);
    if (entry.scores) {
      graph.scores = Float64Array.from(entry.scores, data.single ? Math.fround : Number);
      graph.weights = new Float64Array(pairs);
      graph.node = new Float64Array(graph.nodes);
    }
    return graph;
  }

  function prepareWhole({ scores, counts, edges }) {
    const exact = Float64Array.from(scores, data.single ? Math.fround : Number);
    return { scores: exact, counts, edges, out: new Float64Array(scores.length), version: -1, lambda: NaN };
  }

  /** The share to keep of a graph with this many edges. */
  const share = (edges) => GsinaSolver.shareOf(state.kept, edges, counted);

  /** The lambda that holds the budget over the whole graph. */
  function wholeDual() {
    const { tau, version } = state, ratio = share(whole.edges);
    if (ratio >= 1) return Infinity;
    if (whole.version !== version) {
      whole.lambda = regulariser.solve(whole.scores, whole.counts, ratio, tau, whole.out, whole.lambda);
      whole.version = version;
    }
    return whole.lambda;
  }

  const atModel = () => state.kept === given && state.tau === data.temperature;

  function solve(graph) {
    if (!graph.scores || graph.version === state.version) return graph;
    const { part, weights, node } = graph;
    if (!part) solveOne(graph, graph, weights, node);
    else {
      const edge = new Float64Array(part.pairs.length), own = new Float64Array(part.nodes.length);
      solveOne(graph, editedProblem(graph), edge, own);
      weights.fill(0);
      node.fill(0);
      part.pairs.forEach((pair, i) => { weights[pair] = edge[i]; });
      part.nodes.forEach((member, i) => { node[member] = own[i]; });
    }
    graph.version = state.version;
    return graph;
  }

  /** Weights of pairs and nodes: the model's own, or solved for the sliders. */
  function solveOne(graph, { scores, copies, ends, own, ownNode }, weights, node) {
    const { tau } = state, ratio = share(whole ? whole.edges : scores.length);
    if (own && atModel()) weights.set(own);
    else if (whole) GsinaSolver.atDual(scores, wholeDual(), tau, weights, regulariser.weight);
    else graph.lambda = regulariser.solve(scores, copies, ratio, tau, weights, graph.lambda);
    if (ownNode && atModel()) node.set(ownNode);
    else GsinaSolver.nodeWeights(ends, copies, weights, ratio, data.node, node);
  }

  /** What is solved for an edited graph; without an attention, with the scores that it had. */
  function editedProblem(graph) {
    const { graph: { copies, ends }, pairs, nodes, found } = graph.part;
    const take = (values, rows) => values && rows.map((row) => values[row]);
    const logit = (weight) => Math.log(weight / (1 - weight)) / 2;
    const clipped = found.edge && Array.from(found.edge, (weight) => logit(Math.min(1 - 1e-4, Math.max(1e-4, weight))));
    return {
      copies, ends,
      scores: found.scores ?? clipped ?? take(graph.scores, pairs),
      own: graph.own && (found.edge ?? take(graph.own, pairs)),
      ownNode: graph.ownNode && (found.node ?? take(graph.ownNode, nodes)),
    };
  }

  const symbolOf = (graph, node) => graph.relabelled?.get(node)?.symbol ?? graph.labels[node];

  function nodeName(graph, node) {
    if (!graph.labels) return `${node}`;
    if (!graph.labels[node]) return `node ${node}`;
    return graph.drawing ? `${symbolOf(graph, node)}${node}` : graph.labels[node];
  }

  function pairName(graph, pair) {
    const sign = graph.copies[pair] === 1 ? "→" : "–";
    const join = graph.labels && !graph.drawing ? ` ${sign} ` : sign;
    return nodeName(graph, graph.ends[2 * pair]) + join + nodeName(graph, graph.ends[2 * pair + 1]);
  }

  function strongest(graph, most) {
    const pairs = graph.part ? [...graph.part.pairs] : Array.from(graph.weights, (_, pair) => pair);
    return pairs.sort((a, b) => graph.weights[b] - graph.weights[a] || a - b).slice(0, most);
  }

  /** What the drawing says, in words: its size, and its strongest edges. */
  function inWords(graph) {
    const { part } = graph;
    const parts = [[nodeWord, part?.nodes.length ?? graph.nodes], [edgeWord, part?.pairs.length ?? graph.ends.length / 2]];
    const size = parts.map(([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`).join(", ");
    if (!graph.weights || !graph.weights.length) return [`${size}.`, ""];
    const top = strongest(graph, 3).map((p) => `${pairName(graph, p)} ${graph.weights[p].toFixed(2)}`);
    return [`${size}. Strongest: `, `${top.join(", ")}.`];
  }

  /** Rows of what, text and a mark: the confidence, and whether it is right. */
  function verdict(graph) {
    const sure = make("span", "muted sure");
    if (graph.confidence !== undefined) {
      sure.append(make("span", "sure-word", "confidence "), `${Math.round(100 * graph.confidence)} %`);
      sure.title = "Confidence";
    }
    const mark = make("span", `mark ${graph.right ? "right" : "wrong"}`);
    if (graph.right !== undefined) mark.textContent = graph.right ? "✓ right" : "✕ wrong";
    const rows = [["Predicted", graph.predicted, sure], ["Truth", graph.truth, mark]];
    return rows.filter(([, text]) => text);
  }

  /* ---- cards ---- */

  function makeCard(graph) {
    const card = make("li", "card");
    const open = make("button", "open", graph.name);
    open.type = "button";
    open.title = graph.name;
    open.tabIndex = graph.index === 0 ? 0 : -1;
    const picture = make("div", "picture");
    const facts = make("p", "facts");
    facts.id = `facts-${graph.index}`;
    for (const [what, text, mark] of verdict(graph)) {
      const fact = make("span", "fact");
      fact.append(make("span", "muted", `${what} `), make("b", "", text), " ");
      fact.title = `${what} ${text}`;
      facts.append(fact, mark, " ");
    }
    const words = make("p", "words");
    words.id = `words-${graph.index}`;
    open.setAttribute("aria-describedby", `${facts.id} ${words.id}`);
    card.append(open, picture, facts, words);
    if (graph.faithfulness) card.append(make("p", "evidence", graph.faithfulness.words));
    Object.assign(graph, { card, open, picture, words, canvas: null });
    card.graph = graph;
    return card;
  }

  /** Only cards on or near the screen own a canvas; the others give theirs back. */
  const visible = new Set();
  const spare = [];
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const graph = target.graph;
      if (isIntersecting && !visible.has(graph)) {
        graph.canvas = spare.pop() || make("canvas");
        graph.canvas.setAttribute("aria-hidden", "true"); // The words beside it say the same.
        graph.picture.append(graph.canvas);
        visible.add(graph);
        refresh();
      } else if (!isIntersecting && visible.delete(graph)) {
        graph.canvas.remove();
        spare.push(graph.canvas);
        graph.canvas = null;
      }
    }
  }, { rootMargin: "200px" });

  function drawCard(graph) {
    solve(graph);
    graph.view = GsinaDraw.draw(graph.canvas, graph, { theme: theme(), grid: data.grid });
  }

  /** A graph was edited, or restored: its weights are found anew. */
  function onEdited(graph) {
    graph.version = -1;
    graph.lambda = NaN;
    refresh();
  }

  function writeWords(graph) {
    graph.words.replaceChildren(...inWords(graph).map((text) => make("span", "", text)));
  }

  /* ---- one step: solve and draw what is seen, then the density ---- */

  let asked = 0;
  function refresh() {
    if (!asked) asked = requestAnimationFrame(redraw);
  }

  function redraw() {
    asked = 0;
    const start = performance.now();
    // First all that asks for sizes, then all that changes text: in turns, the browser would lay
    // out the page anew for every card.
    visible.forEach(drawCard);
    restartDensity();
    large.draw();
    visible.forEach(writeWords);
    state.stepMs = performance.now() - start;
  }

  const known = graphs.some((graph) => graph.edgeTruth);
  let densityJob = 0;
  function restartDensity() {
    if (!solvable) return;
    const job = ++densityJob, curves = GsinaDensity.empty(), shown = state.shown;
    let next = 0;
    state.densityMs = 0;
    (function slice() {
      if (job !== densityJob) return; // A newer step has begun.
      const start = performance.now();
      while (next < shown.length && performance.now() - start < SLICE) {
        if (shown[next].scores) GsinaDensity.add(curves, solve(shown[next]));
        next++;
      }
      if (next >= shown.length) finishDensity(curves);
      else setTimeout(slice);
      state.densityMs += performance.now() - start;
    })();
  }

  function finishDensity(curves) {
    const sum = counted ? `the weights add up to ${Math.min(state.kept, whole?.edges)}` : "it is r";
    const beyond = whole ? `; over the whole graph ${sum}` : "";
    const text = GsinaDensity.describe(curves, known, edgeWord, beyond);
    GsinaDensity.draw($("density"), curves, known, GsinaDraw.PALETTES[theme()]);
    $("density").setAttribute("aria-label", `Density of the ${edgeWord} weights. ${text}`);
    $("density-text").textContent = text;
  }

  let spoken = 0;
  function say(text) {
    clearTimeout(spoken); // Only the last of a quick row of changes is worth saying.
    spoken = setTimeout(() => { $("live").textContent = text(); }, 400);
  }

  /* ---- sliders ---- */

  function setSolve(kept, tau) {
    if (!(kept > 0 && kept <= (counted ? Number.MAX_VALUE : 1) && tau > 0 && Number.isFinite(tau))) return;
    Object.assign(state, { kept, tau, version: state.version + 1 });
    showSliders();
    refresh();
    say(() => `${counted ? `${edgeWord}s kept` : "r"} ${keptText()}, tau ${short(state.tau)}. ${$("density-text").textContent}`);
  }

  const short = (value) => `${Number(value.toPrecision(3))}`;
  const keptText = () => (counted ? `${state.kept}` : short(state.kept));

  function showSliders() {
    $("ratio").value = state.kept;
    $("tau").value = Math.log10(state.tau);
    $("tau").setAttribute("aria-valuetext", short(state.tau));
    for (const [id, text] of [["ratio-number", keptText()], ["tau-number", short(state.tau)]]) {
      if (document.activeElement !== $(id)) $(id).value = text;
    }
    $("reset").disabled = atModel();
    const whose = data.explainer ? `those of ${data.explainer}` : "the model’s";
    const promised = state.kept === certified && state.tau === data.temperature;
    if (promised && !atModel()) {
      $("whose").textContent = `Shown is the certified share of the ${edgeWord}s, ${short(certified)}; the model keeps ${short(given)}.`;
      return;
    }
    $("whose").textContent = !atModel()
      ? `Shown are weights for this ${counted ? "budget" : "r"} and τ${whole ? " over the whole graph" : ""}, not ${whose}.`
      : data.explainer ? `Shown are the weights of ${data.explainer}.` : "Shown are the model’s own weights.";
  }

  function startSliders() {
    $("solve").hidden = !solvable;
    $("without").hidden = solvable || !graphs.length;
    if (data.explainer) $("reset").textContent = `Reset to ${data.explainer}’s`;
    if (counted) {
      const most = whole ? whole.edges : Math.max(1, ...graphs.map((graph) => graph.ends.length / 2));
      $("ratio").labels[0].textContent = `Number of ${edgeWord}s kept per graph`;
      $("ratio-number").setAttribute("aria-label", `Number of ${edgeWord}s kept, as a number`);
      Object.assign($("ratio"), { min: 1, max: most, step: 1 });
      Object.assign($("ratio-number"), { min: 0, max: "", step: "any" });
    }
    $("ratio").addEventListener("input", () => setSolve($("ratio").valueAsNumber, state.tau));
    $("tau").addEventListener("input", () => setSolve(state.kept, Number((10 ** $("tau").valueAsNumber).toPrecision(6))));
    $("ratio-number").addEventListener("input", () => setSolve($("ratio-number").valueAsNumber, state.tau));
    $("tau-number").addEventListener("input", () => setSolve(state.kept, $("tau-number").valueAsNumber));
    for (const id of ["ratio-number", "tau-number"]) $(id).addEventListener("blur", showSliders);
    $("reset").addEventListener("click", () => setSolve(given, data.temperature));
    showSliders();
  }

  /* ---- keyboard: one stop for Tab, arrows within ---- */

  function focusable(position) {
    for (const graph of graphs) graph.open.tabIndex = -1;
    state.current = Math.max(0, Math.min(position, state.shown.length - 1));
    if (state.shown.length) state.shown[state.current].open.tabIndex = 0;
  }

  function columns() {
    const top = (graph) => graph.card.offsetTop;
    const first = state.shown.length ? top(state.shown[0]) : 0;
    const end = state.shown.findIndex((graph) => top(graph) !== first);
    return end < 0 ? state.shown.length : end;
  }

  function onCardKey(event) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(), ArrowUp: -columns(),
      Home: -state.current, End: state.shown.length - 1 - state.current };
    const to = state.current + (moves[event.key] ?? NaN);
    if (Number.isNaN(to) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (to < 0 || to >= state.shown.length) return;
    focusable(to);
    state.shown[to].open.focus();
  }

  /* ---- light and dark ---- */

  const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme || (darkSystem.matches ? "dark" : "light");

  function startTheme() {
    const show = () => {
      $("theme").textContent = theme() === "dark" ? "Light" : "Dark";
      refresh();
    };
    $("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
      show();
    });
    darkSystem.addEventListener("change", show);
    show();
  }

  const page = { $, make, data, graphs, state, solvable, known, nodeWord, edgeWord, cardWord, theme, short, say, refresh,
    solve, nodeName, pairName, strongest, inWords, verdict, focusable, onEdited };
  const large = GsinaLarge.start(page);
  const filter = GsinaFilters.start(page);
  GsinaHead.start(page);
  startSliders();
  $("cards").append(...graphs.map(makeCard));
  $("cards").addEventListener("keydown", onCardKey);
  $("cards").addEventListener("click", (event) => {
    const card = event.target.closest(".card");
    if (card) large.open(card.graph);
  });
  $("cards").addEventListener("focusin", (event) => {
    const card = event.target.closest(".card");
    if (card) focusable(state.shown.indexOf(card.graph));
  });
  GsinaPointer.start(page);
  startTheme();
  filter();
  for (const graph of graphs) observer.observe(graph.card);
  new ResizeObserver(refresh).observe($("cards"));

  /* For tests and for the curious: the weights as they stand. */
  window.gsina = { state, graphs, visible, large, solver: GsinaSolver,
    weights: (index) => Array.from(solve(graphs[index]).weights || []),
    nodeWeights: (index) => Array.from(solve(graphs[index]).node || []) };
})();
