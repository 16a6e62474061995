"use strict";
/* Draws one graph on a canvas. Weight is width and one hue; truth is an outline of another. */
const GsinaDraw = (() => {
  const RAMP = 64; // Shades between no weight and full weight.
  const PALETTES = {
    light: {
      paper: "#ffffff", ink: "#2b3442", text: "#1c2430", truth: "#c75f00", focus: "#111827",
      faint: [222, 227, 235], strong: [24, 84, 178], halo: [[238, 241, 246], [118, 168, 240]],
      elements: { N: "#2456c4", O: "#c22c1d", S: "#8a6d00", P: "#b25c00", F: "#3a7d2c", Cl: "#2c7d3a",
        Br: "#8c3a1c", I: "#6b2fa0", B: "#a65353", Si: "#7a6a4a", Na: "#6b3fa0", K: "#6b3fa0" },
    },
    dark: {
      paper: "#1a2029", ink: "#c9d1dc", text: "#e6eaf0", truth: "#ffb066", focus: "#ffffff",
      faint: [52, 61, 76], strong: [128, 190, 255], halo: [[36, 43, 55], [44, 100, 176]],
      elements: { N: "#8fb6ff", O: "#ff8f80", S: "#e6cc5a", P: "#ffb266", F: "#93d67f", Cl: "#7fd68f",
        Br: "#e79a78", I: "#c79af0", B: "#f0a8a8", Si: "#cdbb93", Na: "#c4a4f0", K: "#c4a4f0" },
    },
  };
  const ramp = ([from, to]) => Array.from({ length: RAMP + 1 }, (_, step) => {
    const mixed = from.map((value, i) => Math.round(value + ((to[i] - value) * step) / RAMP));
    return `rgb(${mixed})`;
  });
  for (const palette of Object.values(PALETTES)) {
    palette.edge = ramp([palette.faint, palette.strong]);
    palette.halo = ramp(palette.halo);
  }
  const shade = (shades, weight) => shades[Math.round(RAMP * Math.min(1, Math.max(0, weight)))];

  /** Where a graph lies on a canvas of the given size: coordinates in pixels and their unit. */
  function project(graph, width, height, grid, large) {
    let right = 0, up = 0;
    for (let i = 0; i < graph.places.length; i += 2) {
      right = Math.max(right, Math.abs(graph.places[i]));
      up = Math.max(up, Math.abs(graph.places[i + 1]));
    }
    const margin = large ? 36 : 20;
    const fit = Math.min((width / 2 - margin) / (right || 1), (height / 2 - margin) / (up || 1));
    const scale = Math.min(fit, (large ? 64 : 30) / grid);
    const points = new Float64Array(graph.places.length);
    for (let i = 0; i < points.length; i += 2) {
      points[i] = width / 2 + scale * graph.places[i];
      points[i + 1] = height / 2 - scale * graph.places[i + 1];
    }
    return { points, unit: scale * grid };
  }

  function line(ctx, x1, y1, x2, y2) {
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  }

  /** The path of a pair: a line, or a small loop at its node. */
  function trace(ctx, view, graph, pair) {
    const a = graph.ends[2 * pair], b = graph.ends[2 * pair + 1], { points, unit } = view;
    ctx.beginPath();
    if (a === b) {
      const radius = Math.max(5, Math.min(12, unit / 4));
      ctx.arc(points[2 * a], points[2 * a + 1] - radius, radius, 0, 2 * Math.PI);
    } else {
      ctx.moveTo(points[2 * a], points[2 * a + 1]);
      ctx.lineTo(points[2 * b], points[2 * b + 1]);
    }
  }

  const weightOf = (graph, pair) => (graph.weights ? graph.weights[pair] : 0.45);

  /** Outlines of the true edges, all below all edges, so that they join to one shape. */
  function outlineTruth(ctx, view, graph, palette, widthOf) {
    if (!graph.edgeTruth) return;
    for (const [color, extra] of [[palette.truth, 5], [palette.paper, 2]]) {
      ctx.strokeStyle = color;
      graph.edgeTruth.forEach((true_, pair) => {
        if (!true_) return;
        ctx.lineWidth = widthOf(pair) + extra;
        trace(ctx, view, graph, pair);
        ctx.stroke();
      });
    }
  }

  /** Pairs from the lightest to the heaviest, so that what matters is on top. */
  function order(graph) {
    const pairs = Array.from({ length: graph.ends.length / 2 }, (_, pair) => pair);
    return graph.weights ? pairs.sort((a, b) => graph.weights[a] - graph.weights[b]) : pairs;
  }

  function drawPlain(ctx, view, graph, palette, large) {
    const crowd = Math.max(0.35, Math.min(1, view.unit / (large ? 44 : 24)));
    const widthOf = (pair) => (0.8 + (large ? 7 : 4.2) * weightOf(graph, pair)) * crowd;
    outlineTruth(ctx, view, graph, palette, widthOf);
    for (const pair of order(graph)) {
      ctx.strokeStyle = shade(palette.edge, weightOf(graph, pair));
      ctx.lineWidth = widthOf(pair);
      trace(ctx, view, graph, pair);
      ctx.stroke();
      if (large && graph.copies[pair] === 1) arrow(ctx, view, graph, pair, widthOf(pair));
    }
    for (let node = 0; node < graph.nodes; node++) {
      const weight = graph.node ? graph.node[node] : 0.45;
      const radius = Math.max(0.9, (large ? 9 : 5.4) * Math.sqrt(0.12 + 0.88 * weight) * crowd);
      ctx.beginPath();
      ctx.arc(view.points[2 * node], view.points[2 * node + 1], radius, 0, 2 * Math.PI);
      ctx.fillStyle = shade(palette.edge, 0.25 + 0.75 * weight);
      ctx.fill();
      ctx.lineWidth = 1;
      ctx.strokeStyle = palette.paper;
      ctx.stroke();
    }
    if (graph.centre !== undefined) circleCentre(ctx, view, graph, palette, large);
    if (graph.labels) words(ctx, view, graph, palette, large);
  }

  /** A head on an edge that has no opposite. */
  function arrow(ctx, view, graph, pair, width) {
    const a = graph.ends[2 * pair], b = graph.ends[2 * pair + 1];
    if (a === b) return;
    const [x1, y1, x2, y2] = [a, b].flatMap((n) => [view.points[2 * n], view.points[2 * n + 1]]);
    const angle = Math.atan2(y2 - y1, x2 - x1), size = 4 + width;
    const x = x1 + 0.68 * (x2 - x1), y = y1 + 0.68 * (y2 - y1);
    ctx.beginPath();
    for (const turn of [0, 2.5, -2.5]) {
      ctx.lineTo(x + size * Math.cos(angle + turn), y + size * Math.sin(angle + turn));
    }
    ctx.fillStyle = ctx.strokeStyle;
    ctx.fill();
  }

  /** Around the node that the prediction is about. */
  function circleCentre(ctx, view, graph, palette, large) {
    ctx.beginPath();
    ctx.arc(view.points[2 * graph.centre], view.points[2 * graph.centre + 1], large ? 12 : 7.5, 0, 2 * Math.PI);
    ctx.lineWidth = 2;
    ctx.strokeStyle = palette.text;
    ctx.stroke();
  }

  /** Labels of the nodes; that of the centre in bold, above the others, and on a card alone. */
  function words(ctx, view, graph, palette, large) {
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.lineJoin = "round";
    const central = graph.centre !== undefined;
    const all = graph.nodes <= (large ? 200 : central ? 0 : 28);
    const nodes = all ? [...graph.labels.keys()].filter((node) => node !== graph.centre) : [];
    if (central) nodes.push(graph.centre);
    nodes.forEach((node) => {
      const label = graph.labels[node], bold = node === graph.centre;
      ctx.font = `${bold ? "bold " : ""}${(large ? 13 : 10.5) + (bold ? 2 : 0)}px system-ui, sans-serif`;
      const text = label.length > 14 ? `${label.slice(0, 13)}…` : label;
      const x = view.points[2 * node], y = view.points[2 * node + 1] + (large ? 9 : 6) + (bold ? 4 : 0);
      ctx.lineWidth = 3;
      ctx.strokeStyle = palette.paper;
      ctx.strokeText(text, x, y);
      ctx.fillStyle = palette.text;
      ctx.fillText(text, x, y);
    });
  }

  /** A molecule: bands of weight below, and above them the drawing that chemists know. */
  function drawMolecule(ctx, view, graph, palette, large) {
    const { points, unit } = view;
    const widthOf = (pair) => unit * (graph.weights ? 0.06 + 0.52 * graph.weights[pair] : 0);
    if (graph.weights) {
      outlineTruth(ctx, view, graph, palette, widthOf);
      // All bands and discs from light to heavy: a heavy one is never covered by a light one.
      const marks = order(graph).map((pair) => [graph.weights[pair], pair]);
      for (let node = 0; node < graph.nodes; node++) marks.push([graph.node[node], ~node]);
      marks.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
      for (const [weight, what] of marks) {
        if (what >= 0) {
          ctx.strokeStyle = shade(palette.halo, weight);
          ctx.lineWidth = widthOf(what);
          trace(ctx, view, graph, what);
          ctx.stroke();
        } else {
          ctx.fillStyle = shade(palette.halo, weight);
          ctx.beginPath();
          ctx.arc(points[2 * ~what], points[2 * ~what + 1], unit * (0.06 + 0.28 * weight), 0, 7);
          ctx.fill();
        }
      }
    }
    ctx.strokeStyle = palette.ink;
    ctx.lineWidth = Math.max(0.8, Math.min(2.2, unit * 0.055));
    graph.orders.forEach((bond, pair) => drawBond(ctx, view, graph, pair, bond));
    ctx.font = `600 ${Math.max(7, Math.min(large ? 20 : 13, unit * 0.46))}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (let node = 0; node < graph.nodes; node++) {
      const label = symbol(graph, node);
      if (!label) continue;
      const element = label.match(/^[A-Z][a-z]?/);
      ctx.fillStyle = palette.elements[element && element[0]] || palette.text;
      ctx.fillText(label, points[2 * node], points[2 * node + 1] + 0.5);
    }
  }

  /** The letters of an atom; plain carbon has none, except where it stands alone. */
  const symbol = (graph, node) => (graph.labels[node] === "C" && graph.ends.length ? "" : graph.labels[node]);

  function drawBond(ctx, view, graph, pair, bond) {
    const { points, unit } = view;
    const a = graph.ends[2 * pair], b = graph.ends[2 * pair + 1];
    let [x1, y1, x2, y2] = [points[2 * a], points[2 * a + 1], points[2 * b], points[2 * b + 1]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const room = 0.27 * unit;
    if (symbol(graph, a)) { x1 += room * dx; y1 += room * dy; }
    if (symbol(graph, b)) { x2 -= room * dx; y2 -= room * dy; }
    const gap = Math.max(2.2, unit * 0.13);
    const beside = (shift, cut) => line(ctx, x1 - dy * shift + dx * cut, y1 + dx * shift + dy * cut,
      x2 - dy * shift - dx * cut, y2 + dx * shift - dy * cut);
    const side = graph.sides[pair];
    if (bond === 2 && side === 0) {
      beside(gap / 2, 0);
      beside(-gap / 2, 0);
      return;
    }
    line(ctx, x1, y1, x2, y2);
    if (bond === 2) beside(side * gap, 0.1 * unit);
    if (bond === 1.5) {
      ctx.setLineDash([unit * 0.12, unit * 0.08]);
      beside((side || 1) * gap, 0.1 * unit);
      ctx.setLineDash([]);
    }
    if (bond === 3) {
      beside(gap, 0);
      beside(-gap, 0);
    }
  }

  /** On which side of each bond the other neighbours lie: there the second line belongs. */
  function bondSides(graph) {
    const neighbours = Array.from({ length: graph.nodes }, () => []);
    for (let i = 0; i < graph.ends.length; i += 2) {
      neighbours[graph.ends[i]].push(graph.ends[i + 1]);
      neighbours[graph.ends[i + 1]].push(graph.ends[i]);
    }
    const at = (node) => [graph.places[2 * node], -graph.places[2 * node + 1]];
    return graph.orders.map((_, pair) => {
      const a = graph.ends[2 * pair], b = graph.ends[2 * pair + 1];
      const [ax, ay] = at(a), [bx, by] = at(b);
      let balance = 0;
      for (const other of [...neighbours[a], ...neighbours[b]]) {
        const [x, y] = at(other);
        const cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
        if (other !== a && other !== b && Math.abs(cross) > 200) balance += Math.sign(cross);
      }
      return Math.sign(balance);
    });
  }

  /** A ring around one edge. */
  function ring(ctx, { points, unit }, graph, pair, color) {
    const a = 2 * graph.ends[2 * pair], b = 2 * graph.ends[2 * pair + 1];
    const dx = points[b] - points[a], dy = points[b + 1] - points[a + 1];
    const round = Math.max(8, Math.min(20, 0.34 * unit));
    ctx.save();
    ctx.translate(points[a], points[a + 1]);
    ctx.rotate(Math.atan2(dy, dx));
    ctx.beginPath();
    ctx.roundRect(-round, -round, Math.hypot(dx, dy) + 2 * round, 2 * round, round);
    ctx.strokeStyle = color;
    ctx.lineWidth = 2;
    ctx.stroke();
    ctx.restore();
  }

  /**
   * Draw a graph on a canvas of its own size, in the ratio of the screen.
   *
   * @returns {{points: Float64Array, unit: number}} where it lies, for `nearest`
   */
  function draw(canvas, graph, { theme, grid, large = false, marked = -1 }) {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
      [canvas.width, canvas.height] = pixels;
    }
    const ctx = canvas.getContext("2d");
    const palette = PALETTES[theme];
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.lineCap = "round";
    const view = project(graph, width, height, grid, large);
    if (graph.orders) drawMolecule(ctx, view, graph, palette, large);
    else drawPlain(ctx, view, graph, palette, large);
    if (marked >= 0) ring(ctx, view, graph, marked, palette.focus);
    return view;
  }

  /** The node or pair next to a point: {node} or {pair}, or null if all are far. */
  function nearest(view, graph, x, y) {
    const { points } = view;
    let best = null, least = 7;
    for (let node = 0; node < graph.nodes; node++) {
      const far = Math.hypot(x - points[2 * node], y - points[2 * node + 1]);
      if (far < Math.min(least, 0.3 * view.unit)) [best, least] = [{ node }, far];
    }
    if (best) return best;
    for (let pair = 0; pair < graph.ends.length / 2; pair++) {
      const a = 2 * graph.ends[2 * pair], b = 2 * graph.ends[2 * pair + 1];
      const dx = points[b] - points[a], dy = points[b + 1] - points[a + 1];
      const along = ((x - points[a]) * dx + (y - points[a + 1]) * dy) / (dx * dx + dy * dy || 1);
      const t = Math.min(1, Math.max(0, along));
      const far = Math.hypot(x - points[a] - t * dx, y - points[a + 1] - t * dy);
      if (far < least) [best, least] = [{ pair }, far];
    }
    return best;
  }

  return { PALETTES, draw, nearest, bondSides };
})();
