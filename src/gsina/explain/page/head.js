"use strict";
/* The head of the page: what the model predicts, its scores, notes, and what the colours mean. */
const GsinaHead = (() => {
  function start({ $, make, data, graphs, solvable, known, edgeWord }) {
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

  return { start };
})();
