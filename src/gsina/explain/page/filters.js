"use strict";
/* Which cards are shown, and in which order. */
const GsinaFilters = (() => {
  const MOST_CLASSES = 30; // More different texts than this are no classes to filter or sort by.

  const byIndex = (a, b) => a.index - b.index;

  /** Largest first; graphs without a value last. */
  const descending = (value) => (a, b) => (value(b) ?? -Infinity) - (value(a) ?? -Infinity) || byIndex(a, b);
  const ascending = (value) => (a, b) => (value(a) ?? Infinity) - (value(b) ?? Infinity) || byIndex(a, b);

  const ORDERS = {
    order: byIndex,
    sure: descending((graph) => graph.confidence),
    unsure: ascending((graph) => graph.confidence),
    name: (a, b) => a.name.localeCompare(b.name) || byIndex(a, b),
  };

  function error(graph, i) {
    const right = graph.targetTruth?.[i], guess = graph.values?.[i];
    return right == null || guess == null ? null : Math.abs(guess - right);
  }

  /** Orders by the outputs of the model: [text, compare] for classes, targets and figures. */
  function byOutput(data, graphs) {
    const first = graphs.find((graph) => graph.probabilities || graph.values);
    const names = first && first.names !== undefined ? data.outputNames[first.names] : [];
    if (names.length > MOST_CLASSES) return [];
    if (graphs.some((graph) => graph.confidence !== undefined)) {
      return names.map((name, i) => [`Probability of ${name}`, descending((graph) => (graph.probabilities ?? graph.values)?.[i])]);
    }
    const figures = first?.values ? names : [];
    return figures.flatMap((name, i) => {
      const of = figures.length > 1 ? ` of ${name}` : "", value = (graph) => graph.values?.[i];
      const orders = [[`Largest prediction${of}`, descending(value)], [`Smallest prediction${of}`, ascending(value)]];
      if (!graphs.some((graph) => error(graph, i) !== null)) return orders;
      const far = (graph) => error(graph, i);
      return [...orders, [`Largest error${of}`, descending(far)], [`Smallest error${of}`, ascending(far)]];
    });
  }

  /** Fill the controls; returns what filters and sorts anew. */
  function start({ $, make, data, graphs, state, cardWord, focusable, refresh, say }) {
    const orders = { ...ORDERS };

    function startClasses() {
      const texts = (key) => [...new Set(graphs.map((graph) => graph[key]).filter(Boolean))].sort();
      const isClass = (key) => graphs.some((graph) => graph[key] && graph.confidence !== undefined);
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
    }

    function startOrders() {
      if (!graphs.some((graph) => graph.confidence !== undefined)) {
        for (const value of ["sure", "unsure"]) $("sort").querySelector(`[value=${value}]`).remove();
      }
      byOutput(data, graphs).forEach(([text, compare], i) => {
        orders[`output-${i}`] = compare;
        $("sort").append(new Option(text, `output-${i}`));
      });
      const given = $("sort").querySelector("[value=order]");
      given.textContent = data.order; // Where sorting starts, so no other option may say the same.
      for (const option of [...$("sort").options]) {
        if (option !== given && option.textContent === data.order) option.remove();
      }
    }

    function filter() {
      const search = $("search").value.toLowerCase(), right = $("right").value;
      const [key, ...rest] = $("class").value.split(":"), text = rest.join(":");
      state.shown = graphs.filter((graph) => graph.name.toLowerCase().includes(search)
        && (!key || graph[key] === text) && (!right || graph.right === (right === "right")));
      state.shown.sort(orders[$("sort").value]);
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

    startClasses();
    startOrders();
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["search", "class", "right", "sort"]) $(id).addEventListener("input", filter);
    return filter;
  }

  return { start };
})();
