"use strict";
/* The density of the weights: one curve, or one of the true edges and one of the rest. */
const GsinaDensity = (() => {
  const BINS = 50;

  const empty = () => [{ bins: new Float64Array(BINS), count: 0, pairs: 0, sum: 0 },
    { bins: new Float64Array(BINS), count: 0, pairs: 0, sum: 0 }];

  /** Add the weights of a graph to the curves [rest, true]. */
  function add(curves, graph) {
    for (let pair = 0; pair < graph.weights.length; pair++) {
      const curve = curves[graph.edgeTruth && graph.edgeTruth[pair] ? 1 : 0];
      const weight = graph.weights[pair], copies = graph.copies[pair];
      curve.bins[Math.min(BINS - 1, Math.floor(weight * BINS))] += copies;
      curve.count += copies;
      curve.pairs++;
      curve.sum += copies * weight;
    }
  }

  const mean = (curve) => (curve.count ? (curve.sum / curve.count).toFixed(3) : "none");

  /** The plot in one sentence. */
  function describe(curves, known, edgeWord, beyond = "") {
    if (!curves[0].count && !curves[1].count) return `No ${edgeWord} weights to plot.`;
    if (known) return `Mean weight ${mean(curves[1])} in the true part, else ${mean(curves[0])}.`;
    const count = `${curves[0].pairs} ${beyond ? "drawn " : ""}${edgeWord}${curves[0].pairs === 1 ? "" : "s"}`;
    return `Mean weight ${mean(curves[0])} over ${count}${beyond}.`;
  }

  function draw(canvas, curves, known, palette) {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const foot = height - 14, room = foot - 4;
    // A square root: near 0 and 1 the density towers above the rest, which would vanish.
    const tall = (curve) => Array.from(curve.bins, (bin) => Math.sqrt(bin / (curve.count || 1)));
    const heights = curves.map(tall);
    const most = Math.max(...heights[0], ...heights[1]) || 1;
    const blue = `rgb(${palette.strong})`;
    const styles = known ? [[palette.ink, 0.18], [palette.truth, 0.3]] : [[blue, 0.3]];
    styles.forEach(([color, opacity], which) => {
      ctx.beginPath();
      ctx.moveTo(0, foot);
      heights[which].forEach((share, bin) => {
        const y = foot - (room * share) / most;
        ctx.lineTo((bin * width) / BINS, y);
        ctx.lineTo(((bin + 1) * width) / BINS, y);
      });
      ctx.lineTo(width, foot);
      ctx.globalAlpha = opacity;
      ctx.fillStyle = color;
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.strokeStyle = color;
      ctx.lineWidth = 1.4;
      ctx.stroke();
    });
    ctx.fillStyle = palette.ink;
    ctx.font = "10px system-ui, sans-serif";
    ctx.textBaseline = "bottom";
    [["0", 0, "left"], ["0.5", width / 2, "center"], ["1", width, "right"]].forEach(([text, x, align]) => {
      ctx.textAlign = align;
      ctx.fillText(text, x, height);
    });
  }

  return { empty, add, describe, draw };
})();
