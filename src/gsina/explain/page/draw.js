"use strict";
/* Draws one graph on a canvas. Weight is width and one hue; truth is an outline of another. */
const GsinaDraw = (() => {
  const RAMP = 64; // Shades between no weight and full weight.
  const PALETTES = {
    light: {
      paper: "#ffffff", ink: "#2b3442", text: "#1c2430", truth: "#c75f00", focus: "#111827", gone: "#b3261e",
      faint: [222, 227, 235], strong: [24, 84, 178], halo: [[238, 241, 246], [118, 168, 240]],
      elements: { N: "#17388f", O: "#c22c1d", S: "#8a6d00", P: "#b25c00", F: "#3a7d2c", Cl: "#2c7d3a",
        Br: "#8c3a1c", I: "#6b2fa0", B: "#a65353", Si: "#7a6a4a", Na: "#6b3fa0", K: "#6b3fa0" },
    },
    dark: {
      paper: "#1a2029", ink: "#c9d1dc", text: "#e6eaf0", truth: "#ffb066", focus: "#ffffff", gone: "#ff8a80",
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
    const reach = (x, y) => { right = Math.max(right, Math.abs(x)); up = Math.max(up, Math.abs(y)); };
    for (let i = 0; i < graph.places.length; i += 2) reach(graph.places[i], graph.places[i + 1]);
    for (const [, , x, y, size] of graph.drawing?.letters ?? []) {
      reach(x, y);
      reach(x + 0.7 * size, y + 0.7 * size);
    }
    const margin = graph.drawing ? (large ? 24 : 12) : large ? 36 : 20;
    const fit = Math.min((width / 2 - margin) / (right || 1), (height / 2 - margin) / (up || 1));
    const scale = Math.min(fit, (large ? 64 : 30) / grid);
    const at = (x, y) => [width / 2 + scale * x, height / 2 - scale * y];
    const points = new Float64Array(graph.places.length);
    for (let i = 0; i < points.length; i += 2) {
      [points[i], points[i + 1]] = at(graph.places[i], graph.places[i + 1]);
    }
    return { points, unit: scale * grid, at, scale };
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

  const isGone = (graph, pair) => Boolean(graph.edits) && (graph.edits.pairs.has(pair)
    || graph.edits.nodes.has(graph.ends[2 * pair]) || graph.edits.nodes.has(graph.ends[2 * pair + 1]));
  const nodeIsGone = (graph, node) => Boolean(graph.edits?.nodes.has(node));

  /** A removed edge: dashed, with a cross where it was cut; or a removed node. */
  function drawGone(ctx, view, graph, palette) {
    if (!graph.edits) return;
    const cross = (x, y, size) => {
      ctx.beginPath();
      for (const side of [-1, 1]) {
        ctx.moveTo(x - size, y - side * size);
        ctx.lineTo(x + size, y + side * size);
      }
      ctx.stroke();
    };
    ctx.strokeStyle = palette.gone;
    ctx.lineWidth = 1.6;
    for (let pair = 0; pair < graph.ends.length / 2; pair++) {
      if (!isGone(graph, pair)) continue;
      ctx.setLineDash([3, 4]);
      trace(ctx, view, graph, pair);
      ctx.stroke();
      ctx.setLineDash([]);
      if (!graph.edits.pairs.has(pair)) continue;
      const a = 2 * graph.ends[2 * pair], b = 2 * graph.ends[2 * pair + 1], { points } = view;
      cross((points[a] + points[b]) / 2, (points[a + 1] + points[b + 1]) / 2, Math.min(6, 0.15 * view.unit));
    }
    for (const node of graph.edits.nodes) cross(view.points[2 * node], view.points[2 * node + 1], Math.min(9, 0.22 * view.unit));
  }

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
    const pairs = Array.from({ length: graph.ends.length / 2 }, (_, pair) => pair).filter((pair) => !isGone(graph, pair));
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
      if (nodeIsGone(graph, node)) continue;
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

  /** A molecule: bands of weight below, and above them RDKit's own lines and letters. */
  function drawMolecule(ctx, view, graph, palette) {
    const { points, unit } = view;
    const widthOf = (pair) => unit * (graph.weights ? 0.06 + 0.52 * graph.weights[pair] : 0);
    if (graph.weights) {
      outlineTruth(ctx, view, graph, palette, widthOf);
      // All bands and discs from light to heavy: a heavy one is never covered by a light one.
      const marks = order(graph).map((pair) => [graph.weights[pair], pair]);
      for (let node = 0; node < graph.nodes; node++) if (!nodeIsGone(graph, node)) marks.push([graph.node[node], ~node]);
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
    for (const stroke of graph.drawing.strokes) drawStroke(ctx, view, graph, stroke, palette);
    ctx.textBaseline = "alphabetic";
    for (const [atom, text, x, y, size] of graph.drawing.letters) {
      if (nodeIsGone(graph, atom) || graph.relabelled?.has(atom)) continue;
      ctx.fillStyle = colourOf(graph.labels[atom], palette);
      const pixels = Math.max(6, size * view.scale);
      ctx.font = `${pixels}px ${FONT}`;
      const capital = /[A-Z]/.test(text); // In the middle of its place, which suits narrow ones too.
      ctx.textAlign = capital ? "center" : "left";
      // No wider than RDKit's letters, which other fonts would run into each other.
      ctx.fillText(text === "-" ? "−" : text, ...view.at(x + (capital ? 0.36 * size : 0), y), 0.74 * pixels);
    }
    ctx.textAlign = "left";
    for (const [atom, label] of graph.relabelled ?? []) {
      if (!nodeIsGone(graph, atom)) relabel(ctx, view, atom, label, palette);
    }
  }

  const FONT = "Arial, Helvetica, sans-serif"; // The letters that RDKit makes room for.
  const LINE = 0, HASH = 1;

  const colourOf = (label, palette) => palette.elements[label.match(/^[A-Z][a-z]?/)?.[0]] || palette.text;

  /** A line of a bond, a step of a hashed wedge, or a filled wedge: [kind, owner, x, y, ...]. */
  function drawStroke(ctx, view, graph, [kind, owner, ...corners], palette) {
    if (owner < 0 ? nodeIsGone(graph, ~owner) : isGone(graph, owner)) return;
    ctx.beginPath();
    for (let i = 0; i < corners.length; i += 2) ctx.lineTo(...view.at(corners[i], corners[i + 1]));
    const width = Math.max(0.8, Math.min(2.2, view.unit * 0.055));
    ctx.lineWidth = kind === LINE ? width : Math.min(width, 1.1);
    ctx.strokeStyle = ctx.fillStyle = palette.ink;
    if (kind > HASH) ctx.fill();
    ctx.stroke();
  }

  /** Another label than RDKit's, of an atom that was changed: the element and its hydrogens. */
  function relabel(ctx, view, atom, { symbol, hydrogens, charge }, palette) {
    const size = Math.max(8, 0.4 * view.unit), x = view.points[2 * atom], y = view.points[2 * atom + 1];
    ctx.fillStyle = palette.paper;
    ctx.beginPath();
    ctx.arc(x, y, 0.62 * size, 0, 7);
    ctx.fill();
    ctx.fillStyle = colourOf(symbol, palette);
    ctx.font = `bold ${size}px ${FONT}`;
    let at = x - ctx.measureText(symbol[0]).width / 2;
    const put = (text, share, raise) => {
      ctx.font = `bold ${share * size}px ${FONT}`;
      ctx.fillText(text, at, y + 0.36 * size - raise * size);
      at += ctx.measureText(text).width;
    };
    put(symbol, 1, 0);
    if (hydrogens) put("H", 1, 0);
    if (hydrogens > 1) put(`${hydrogens}`, 0.65, -0.2);
    if (charge) put(charge, 0.65, 0.4);
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
  function draw(canvas, graph, { theme, grid, large = false, marked = -1, chosen = -1 }) {
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
    if (graph.drawing) drawMolecule(ctx, view, graph, palette);
    else drawPlain(ctx, view, graph, palette, large);
    drawGone(ctx, view, graph, palette);
    if (marked >= 0) ring(ctx, view, graph, marked, palette.focus);
    if (chosen >= 0) {
      ctx.beginPath();
      ctx.arc(view.points[2 * chosen], view.points[2 * chosen + 1], Math.max(10, Math.min(20, 0.4 * view.unit)), 0, 7);
      ctx.strokeStyle = palette.focus;
      ctx.lineWidth = 2;
      ctx.stroke();
    }
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

  return { PALETTES, draw, nearest };
})();
