"use strict";
/* What is under the pointer, in words beside it. */
const GsinaPointer = (() => {
  function start({ $, data, state, nodeName, pairName }) {
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
      return `${data.molecules || graph.drawing ? "Bond" : "Edge"} ${pairName(graph, pair)}${weight}${truth}`;
    }

    function nodeTip(graph, node) {
      const weight = graph.node && data.node !== "none" ? `: weight ${graph.node[node].toFixed(4)}` : "";
      const name = nodeName(graph, node), centre = node === graph.centre ? ", the predicted one" : "";
      const word = name === `node ${node}` ? "" : data.molecules || graph.drawing ? "Atom " : "Node ";
      return `${word}${name}${centre}${weight}`;
    }

    $("cards").addEventListener("pointermove", (event) => {
      const card = event.target.closest(".card");
      if (card && card.graph.canvas) hover(event, card.graph.canvas, card.graph, card.graph.view);
    });
    $("large-canvas").addEventListener("pointermove", (event) => hover(event, $("large-canvas"), state.open, state.largeView));
    for (const id of ["cards", "large-canvas"]) $(id).addEventListener("pointerleave", () => { $("tip").hidden = true; });
    document.addEventListener("scroll", () => { $("tip").hidden = true; }, { passive: true });
  }

  return { start };
})();
