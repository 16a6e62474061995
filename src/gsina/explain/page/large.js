"use strict";
/* The large view: one graph, its answer, its strongest edges, and what happens if it is changed. */
const GsinaLarge = (() => {
  const MOST_EDGES = 60; // Edges listed in the large view.

  function start(page) {
    const { $, make, data, state, solvable, edgeWord, theme, short, solve, pairName, strongest, inWords, verdict } = page;
    const edit = GsinaEdit.start({ ...page, showAnswer, draw });

    function open(graph) {
      edit.leave(state.open);
      state.open = graph;
      state.marked = -1;
      page.focusable(state.shown.indexOf(graph));
      $("large-name").textContent = graph.name;
      if (!$("large").open) {
        if (solvable) $("sliders-large").append($("sliders"));
        $("large").showModal();
        $("edges").focus({ preventScroll: true });
      }
      showAnswer(graph);
      edit.enter(graph);
      draw();
    }

    /* ---- the answer ---- */

    /** Answer and outputs, beside those from before a change. */
    function showAnswer(graph) {
      const now = graph.part ? { ...graph, ...graph.part.answer, truth: "", right: undefined } : graph;
      const line = $("large-verdict");
      line.replaceChildren();
      for (const [what, text, mark] of verdict(now)) {
        line.append(make("span", "muted", what), make("b", "", text), mark);
      }
      showOutputs(now, graph.part ? graph : null);
      showScroll(now);
    }

    function showOutputs(graph, before) {
      const bars = graph.probabilities || graph.values || [];
      const names = graph.names === undefined ? [] : data.outputNames[graph.names];
      const shares = graph.probabilities || graph.confidence !== undefined;
      const old = before && (before.probabilities || before.values);
      const list = make("dl", "outputs");
      bars.forEach((value, i) => {
        const figure = make("dd", "", value === null ? "unknown" : short(value));
        if (shares && value !== null) {
          const bar = make("span", "bar");
          bar.style.width = `${Math.max(1, 100 * value)}%`;
          figure.append(bar);
        }
        const known = graph.targetTruth?.[i];
        if (old) figure.append(" ", make("span", "known", `was ${old[i] === null ? "unknown" : short(old[i])}`));
        else if (known !== undefined && bars.length > 1) {
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

    /* ---- the drawing and the list of edges ---- */

    function paint() {
      const options = { theme: theme(), grid: data.grid, large: true, marked: state.marked, chosen: edit.chosen() };
      state.largeView = GsinaDraw.draw($("large-canvas"), state.open, options);
    }

    function draw() {
      if (!state.open) return;
      const graph = solve(state.open);
      paint();
      $("large-canvas").setAttribute("aria-label", inWords(graph).join("") + edit.inWords(graph));
      const pairs = listed(graph);
      $("edges-title").hidden = $("edges").hidden = !pairs.length;
      $("edges-kind").textContent = graph.weights ? "Strongest " : "All ";
      $("edges").replaceChildren(...pairs.map((pair) => edgeOption(graph, pair)));
      const more = graph.ends.length / 2 - pairs.length;
      $("edges-more").textContent = pairs.length && more > 0 ? `and ${more} ${graph.weights ? "weaker" : "other"} ${edgeWord}${more === 1 ? "" : "s"}` : "";
      mark(state.marked, false);
    }

    /** Removed edges first, where they can be restored, then the strongest. */
    function listed(graph) {
      const gone = graph.edits ? [...graph.edits.pairs] : [];
      if (graph.weights) return [...gone, ...strongest(graph, MOST_EDGES)];
      if (!edit.active()) return [];
      const left = graph.part?.pairs ?? Array.from(graph.copies, (_, pair) => pair);
      return [...gone, ...left.slice(0, MOST_EDGES)];
    }

    function edgeOption(graph, pair) {
      const option = make("li", "edge"), gone = graph.edits?.pairs.has(pair);
      option.id = `edge-${pair}`;
      option.pair = pair;
      option.setAttribute("role", "option");
      const name = make("span", gone ? "edge-name gone" : "edge-name", pairName(graph, pair));
      if (graph.edgeTruth && graph.edgeTruth[pair]) name.append(make("span", "true", " true"));
      option.append(name);
      if (gone) option.append(make("span", "weight", "removed"));
      else if (graph.weights) {
        const bar = make("span", "bar");
        bar.style.width = `${100 * graph.weights[pair]}%`;
        option.prepend(bar);
        option.append(make("span", "weight", graph.weights[pair].toFixed(3)));
      }
      return option;
    }

    function mark(pair, redraw = true) {
      state.marked = pair;
      for (const option of $("edges").children) {
        option.setAttribute("aria-selected", String(option.pair === pair));
      }
      const option = $(`edge-${pair}`);
      if (option) {
        $("edges").setAttribute("aria-activedescendant", option.id);
        if (redraw) keepInSight(option);
      } else $("edges").removeAttribute("aria-activedescendant");
      if (redraw) paint();
    }

    /** Scroll only the list, so that the drawing stays on the screen. */
    function keepInSight(option) {
      const list = $("edges"), inner = option.getBoundingClientRect(), outer = list.getBoundingClientRect();
      if (inner.top < outer.top) list.scrollTop += inner.top - outer.top;
      if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
    }

    function onEdgeKey(event) {
      if (["Delete", "Backspace", " "].includes(event.key) && state.marked >= 0 && edit.active()) {
        event.preventDefault();
        edit.toggle({ pair: state.marked });
        return;
      }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const options = [...$("edges").children];
      const at = options.findIndex((option) => option.pair === state.marked) + step;
      if (options.length) mark(options[Math.max(0, Math.min(at, options.length - 1))].pair);
    }

    function turn(step) {
      const to = state.shown.indexOf(state.open) + step;
      if (to >= 0 && to < state.shown.length) open(state.shown[to]);
    }

    $("previous").addEventListener("click", () => turn(-1));
    $("next").addEventListener("click", () => turn(1));
    $("close").addEventListener("click", () => $("large").close());
    $("large").addEventListener("click", (event) => {
      if (event.target === $("large")) $("large").close(); // A click beside it, on the backdrop.
    });
    $("large").addEventListener("close", () => {
      const graph = state.open;
      edit.leave(graph);
      state.open = null;
      $("sliders-home").append($("sliders"));
      graph.open.focus();
    });
    $("large").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && !["INPUT", "SELECT"].includes(event.target.tagName)) turn(step);
    });
    $("edges").addEventListener("keydown", onEdgeKey);
    $("edges").addEventListener("click", (event) => {
      const option = event.target.closest("li");
      if (option) mark(option.pair);
    });
    return { open, draw, edit };
  }

  return { start };
})();
