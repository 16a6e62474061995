"use strict";
/* The page: cards, sliders, filters, the large view. All text enters through textContent. */
(() => {
  const SLICE = 12; // Milliseconds that the density may take before the page breathes again.
  const MOST_CLASSES = 30; // More different texts than this are no classes to filter by.
  const MOST_EDGES = 60; // Edges listed in the large view.

  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const graphs = data.graphs.map(prepare);
  const solvable = graphs.some((graph) => graph.scores);
  const nodeWord = data.molecules ? "atom" : "node", edgeWord = data.molecules ? "bond" : "edge";
  const cardWord = graphs.some((graph) => graph.centre !== undefined) ? "node" : "graph";
  const whole = data.whole && prepareWhole(data.whole); // The graph that the drawn ones are parts of.
  const counted = data.budget.count !== null; // Whether the budget is a number of edges, or a share.
  const given = counted ? data.budget.count : data.budget.share;
  const regulariser = GsinaSolver.REGULARISERS[data.regulariser];
  const state = {
    kept: given, tau: data.temperature, version: 0, shown: graphs, current: 0,
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
    if (graph.orders) graph.sides = GsinaDraw.bondSides(graph);
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
    const { scores, copies, weights, ends, node } = graph;
    const { tau } = state, ratio = share(whole ? whole.edges : scores.length);
    if (graph.own && atModel()) weights.set(graph.own);
    else if (whole) GsinaSolver.atDual(scores, wholeDual(), tau, weights, regulariser.weight);
    else graph.lambda = regulariser.solve(scores, copies, ratio, tau, weights, graph.lambda);
    if (graph.ownNode && atModel()) node.set(graph.ownNode);
    else GsinaSolver.nodeWeights(ends, copies, weights, ratio, data.node, node);
    graph.version = state.version;
    return graph;
  }

  function nodeName(graph, node) {
    if (!graph.labels) return `${node}`;
    if (!graph.labels[node]) return `node ${node}`;
    return graph.orders ? `${graph.labels[node]}${node}` : graph.labels[node];
  }

  function pairName(graph, pair) {
    const sign = graph.copies[pair] === 1 ? "→" : "–";
    const join = graph.labels && !graph.orders ? ` ${sign} ` : sign;
    return nodeName(graph, graph.ends[2 * pair]) + join + nodeName(graph, graph.ends[2 * pair + 1]);
  }

  function strongest(graph, most) {
    const pairs = Array.from(graph.weights, (_, pair) => pair);
    return pairs.sort((a, b) => graph.weights[b] - graph.weights[a] || a - b).slice(0, most);
  }

  /** What the drawing says, in words: its size, and its strongest edges. */
  function inWords(graph) {
    const parts = [[nodeWord, graph.nodes], [edgeWord, graph.ends.length / 2]];
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
    if (state.open) drawLarge();
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

  /* ---- filters and order ---- */

  function startFilters() {
    const texts = (key) => [...new Set(graphs.map((graph) => graph[key]).filter(Boolean))].sort();
    const groups = [["truth", "Truth"], ["predicted", "Predicted"]]
      .map(([key, label]) => [key, label, texts(key)])
      .filter(([key, , found]) => found.length && found.length <= MOST_CLASSES && isClass(key));
    $("class").append(new Option("All classes", ""));
    for (const [key, label, found] of groups) {
      const group = make("optgroup");
      group.label = label;
      for (const text of found) group.append(new Option(`${label} ${text}`, `${key}:${text}`));
      $("class").append(group);
    }
    $("class-field").hidden = !groups.length;
    $("right-field").hidden = !graphs.some((graph) => graph.right !== undefined);
    if (!graphs.some((graph) => graph.confidence !== undefined)) {
      for (const value of ["sure", "unsure"]) $("sort").querySelector(`[value=${value}]`).remove();
    }
    const given = $("sort").querySelector("[value=order]");
    given.textContent = data.order; // Where sorting starts, so no other option may say the same.
    for (const option of [...$("sort").options]) {
      if (option !== given && option.textContent === data.order) option.remove();
    }
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["search", "class", "right", "sort"]) $(id).addEventListener("input", filter);
  }

  const isClass = (key) => graphs.some((graph) => graph[key] && graph.confidence !== undefined);

  const ORDERS = {
    order: (a, b) => a.index - b.index,
    sure: (a, b) => (b.confidence ?? -1) - (a.confidence ?? -1) || a.index - b.index,
    unsure: (a, b) => (a.confidence ?? 2) - (b.confidence ?? 2) || a.index - b.index,
    name: (a, b) => a.name.localeCompare(b.name) || a.index - b.index,
  };

  function filter() {
    const search = $("search").value.toLowerCase(), right = $("right").value;
    const [key, ...rest] = $("class").value.split(":"), text = rest.join(":");
    state.shown = graphs.filter((graph) => graph.name.toLowerCase().includes(search)
      && (!key || graph[key] === text) && (!right || graph.right === (right === "right")));
    state.shown.sort(ORDERS[$("sort").value]);
    const shown = new Set(state.shown);
    for (const graph of graphs) graph.card.hidden = !shown.has(graph);
    $("cards").append(...state.shown.map((graph) => graph.card));
    focusable(0);
    $("nothing").hidden = state.shown.length > 0;
    $("count").textContent = shown.size === graphs.length
      ? `${graphs.length} ${cardWord}s` : `${shown.size} of ${graphs.length} ${cardWord}s`;
    say(() => $("count").textContent);
    refresh();
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

  /* ---- the large view ---- */

  function openLarge(graph) {
    state.open = graph;
    state.marked = -1;
    focusable(state.shown.indexOf(graph));
    $("large-name").textContent = graph.name;
    const line = $("large-verdict");
    line.replaceChildren();
    for (const [what, text, mark] of verdict(graph)) {
      line.append(make("span", "muted", what), make("b", "", text), mark);
    }
    showOutputs(graph);
    if (!$("large").open) {
      if (solvable) $("sliders-large").append($("sliders"));
      $("large").showModal();
      $("edges").focus({ preventScroll: true });
    }
    showScroll(graph);
    drawLarge();
  }

  function showOutputs(graph) {
    const bars = graph.probabilities || graph.values || [];
    const names = graph.names === undefined ? [] : data.outputNames[graph.names];
    const shares = graph.probabilities || graph.confidence !== undefined;
    const list = make("dl", "outputs");
    bars.forEach((value, i) => {
      const figure = make("dd", "", value === null ? "unknown" : short(value));
      if (shares && value !== null) {
        const bar = make("span", "bar");
        bar.style.width = `${Math.max(1, 100 * value)}%`;
        figure.append(bar);
      }
      if (graph.targetTruth) {
        const known = graph.targetTruth[i];
        figure.append(" ", make("span", "known", `true: ${known === null ? "unknown" : short(known)}`));
      }
      list.append(make("dt", "", names[i] ?? `${i}`), figure);
    });
    $("large-outputs").replaceChildren(...(bars.length ? [list] : []));
  }

  /** Say so where not all outputs fit, as a truncated list looks complete. */
  function showScroll(graph) {
    const list = $("large-outputs").firstChild;
    if (!list || list.scrollHeight <= list.clientHeight) return;
    list.classList.add("scrolls");
    list.tabIndex = 0;
    list.setAttribute("aria-label", "Outputs");
    const count = (graph.probabilities || graph.values).length;
    const what = graph.probabilities ? "classes" : "targets";
    $("large-outputs").append(make("p", "outputs-more", `${count} ${what}; scroll for the others`));
  }

  function drawLarge() {
    const graph = solve(state.open);
    const options = { theme: theme(), grid: data.grid, large: true, marked: state.marked };
    state.largeView = GsinaDraw.draw($("large-canvas"), graph, options);
    $("large-canvas").setAttribute("aria-label", inWords(graph).join(""));
    const pairs = graph.weights ? strongest(graph, MOST_EDGES) : [];
    $("edges-title").hidden = $("edges").hidden = !pairs.length;
    $("edges").replaceChildren(...pairs.map((pair) => edgeOption(graph, pair)));
    const more = graph.ends.length / 2 - pairs.length;
    $("edges-more").textContent = pairs.length && more > 0 ? `and ${more} weaker ${edgeWord}${more === 1 ? "" : "s"}` : "";
    markEdge(state.marked, false);
  }

  function edgeOption(graph, pair) {
    const option = make("li", "edge");
    option.id = `edge-${pair}`;
    option.pair = pair;
    option.setAttribute("role", "option");
    const bar = make("span", "bar");
    bar.style.width = `${100 * graph.weights[pair]}%`;
    const name = make("span", "edge-name", pairName(graph, pair));
    if (graph.edgeTruth && graph.edgeTruth[pair]) name.append(make("span", "true", " true"));
    option.append(bar, name, make("span", "weight", graph.weights[pair].toFixed(3)));
    return option;
  }

  function markEdge(pair, draw = true) {
    state.marked = pair;
    for (const option of $("edges").children) {
      option.setAttribute("aria-selected", String(option.pair === pair));
    }
    const option = $(`edge-${pair}`);
    if (option) {
      $("edges").setAttribute("aria-activedescendant", option.id);
      if (draw) keepInSight(option);
    } else $("edges").removeAttribute("aria-activedescendant");
    if (!draw) return;
    const options = { theme: theme(), grid: data.grid, large: true, marked: pair };
    state.largeView = GsinaDraw.draw($("large-canvas"), state.open, options);
  }

  /** Scroll only the list, so that the drawing stays on the screen. */
  function keepInSight(option) {
    const list = $("edges"), inner = option.getBoundingClientRect(), outer = list.getBoundingClientRect();
    if (inner.top < outer.top) list.scrollTop += inner.top - outer.top;
    if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
  }

  function onEdgeKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const options = [...$("edges").children];
    const at = options.findIndex((option) => option.pair === state.marked) + step;
    if (options.length) markEdge(options[Math.max(0, Math.min(at, options.length - 1))].pair);
  }

  function turn(step) {
    const to = state.shown.indexOf(state.open) + step;
    if (to >= 0 && to < state.shown.length) openLarge(state.shown[to]);
  }

  function startLarge() {
    $("previous").addEventListener("click", () => turn(-1));
    $("next").addEventListener("click", () => turn(1));
    $("close").addEventListener("click", () => $("large").close());
    $("large").addEventListener("click", (event) => {
      if (event.target === $("large")) $("large").close(); // A click beside it, on the backdrop.
    });
    $("large").addEventListener("close", () => {
      const graph = state.open;
      state.open = null;
      $("sliders-home").append($("sliders"));
      graph.open.focus();
    });
    $("large").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && event.target.tagName !== "INPUT") turn(step);
    });
    $("edges").addEventListener("keydown", onEdgeKey);
    $("edges").addEventListener("click", (event) => {
      const option = event.target.closest("li");
      if (option) markEdge(option.pair);
    });
  }

  /* ---- what is under the pointer ---- */

  function hover(event, canvas, graph, view) {
    const box = canvas.getBoundingClientRect();
    const found = view && GsinaDraw.nearest(view, graph, event.clientX - box.left, event.clientY - box.top);
    const tip = $("tip");
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found.pair === undefined ? nodeTip(graph, found.node) : pairTip(graph, found.pair);
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 12)}px`;
  }

  function pairTip(graph, pair) {
    const weight = graph.weights ? `: weight ${graph.weights[pair].toFixed(4)}` : "";
    const truth = graph.edgeTruth ? (graph.edgeTruth[pair] ? ", in the true part" : ", not in the true part") : "";
    return `${data.molecules || graph.orders ? "Bond" : "Edge"} ${pairName(graph, pair)}${weight}${truth}`;
  }

  function nodeTip(graph, node) {
    const weight = graph.node && data.node !== "none" ? `: weight ${graph.node[node].toFixed(4)}` : "";
    const name = nodeName(graph, node), centre = node === graph.centre ? ", the predicted one" : "";
    const word = name === `node ${node}` ? "" : data.molecules || graph.orders ? "Atom " : "Node ";
    return `${word}${name}${centre}${weight}`;
  }

  function startHover() {
    $("cards").addEventListener("pointermove", (event) => {
      const card = event.target.closest(".card");
      if (card && card.graph.canvas) hover(event, card.graph.canvas, card.graph, card.graph.view);
    });
    $("large-canvas").addEventListener("pointermove", (event) => hover(event, $("large-canvas"), state.open, state.largeView));
    for (const id of ["cards", "large-canvas"]) $(id).addEventListener("pointerleave", () => { $("tip").hidden = true; });
    document.addEventListener("scroll", () => { $("tip").hidden = true; }, { passive: true });
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

  /* ---- the head of the page ---- */

  /** Rows of text as a table with a header; nothing without rows. */
  function fillTable(place, rows, caption) {
    if (!rows.length) return;
    const table = make("table");
    if (caption) table.append(make("caption", "", caption));
    rows.forEach((row, i) => {
      const line = make("tr");
      row.forEach((cell, j) => {
        const element = make(i && j ? "td" : "th", "", cell);
        if (!i || !j) element.scope = i ? "row" : "col";
        line.append(element);
      });
      table.append(line);
    });
    place.append(table);
    place.hidden = false;
  }

  function startHead() {
    $("title").textContent = data.title;
    for (const [name, value] of data.summary) {
      const line = make("div");
      line.append(make("dt", "", name), make("dd", "", value));
      $("summary").append(line);
    }
    $("summary").hidden = !data.summary.length;
    fillTable($("scores"), data.table, data.caption);
    fillTable($("comparison"), data.comparison, "");
    fillTable($("evidence"), data.evidence, "");
    $("believed").hidden = !data.evidence.length;
    $("verdict").textContent = data.verdict;
    $("verdict").hidden = !data.verdict;
    $("notes").append(...data.notes.map((note) => make("li", "", note)));
    $("notes").hidden = !data.notes.length;
    const keys = solvable ? [["weight", `${edgeWord} weight 0 to 1`]] : [];
    if (known) keys.push(["truth", "true part"]);
    if (graphs.some((graph) => graph.centre !== undefined)) keys.push(["centre", "predicted node"]);
    for (const word of document.querySelectorAll(".edge-word")) word.textContent = `${edgeWord}s`;
    for (const [kind, text] of keys) {
      const key = make("span", "key", text);
      key.prepend(make("span", `swatch ${kind}`));
      $("legend").append(key);
    }
  }

  startHead();
  startSliders();
  startFilters();
  $("cards").append(...graphs.map(makeCard));
  $("cards").addEventListener("keydown", onCardKey);
  $("cards").addEventListener("click", (event) => {
    const card = event.target.closest(".card");
    if (card) openLarge(card.graph);
  });
  $("cards").addEventListener("focusin", (event) => {
    const card = event.target.closest(".card");
    if (card) focusable(state.shown.indexOf(card.graph));
  });
  startLarge();
  startHover();
  startTheme();
  filter();
  for (const graph of graphs) observer.observe(graph.card);
  new ResizeObserver(refresh).observe($("cards"));

  /* For tests and for the curious: the weights as they stand. */
  window.gsina = { state, graphs, visible, solver: GsinaSolver,
    weights: (index) => Array.from(solve(graphs[index]).weights || []),
    nodeWeights: (index) => Array.from(solve(graphs[index]).node || []) };
})();
