"use strict";
/* What if, by hand: remove and restore edges and nodes, change features, look for the fewest cuts. */
const GsinaEdit = (() => {
  const SLICE = 30; // Milliseconds of a search before the page breathes again.
  const FAR = 0.05; // A network that is further off than this share is not the model's.
  const PLAIN = { temperature: [1], offset: [], cut: [] }; // Of a network alone: as it answers itself.

  function start(page) {
    const { $, make, data, state, nodeWord, edgeWord, short, say, nodeName, pairName, showAnswer, onEdited } = page;
    const features = data.network?.features;
    let net = null, damaged = "", input = null, intact = null, job = 0, usable = false, node = 0, picked = false;

    const active = () => usable;
    const chosen = () => (usable && picked ? node : -1);
    const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const names = (graph) => (graph.names === undefined ? [] : data.outputNames[graph.names]);

    function load() {
      if (net || damaged) return;
      try {
        net = GsinaWhatIf.load(data.network);
      } catch {
        damaged = "The network in this page is damaged, so it cannot be asked; write the page again.";
      }
    }

    /** The answer of the network alone, as the trees beside it cannot be asked anew here. */
    const askAlone = (graph, edits) => GsinaWhatIf.ask(...alone(), edits, names(graph)).answer;
    const alone = () => [{ ...net, calibration: PLAIN }, { ...input, trees: undefined }];
    const sure = (one) => (one.confidence === undefined ? "" : ` (${Math.round(100 * one.confidence)} %)`);

    /* ---- in and out ---- */

    function enter(graph) {
      $("whatif").hidden = !data.network;
      $("faithful").textContent = graph.faithfulness?.words ?? "";
      usable = picked = false;
      node = 0;
      if (!data.network) return;
      load();
      let hint = damaged;
      if (!hint && !graph.input) hint = "To stay small, this page leaves out the features of this graph, so it cannot be changed here.";
      if (!hint) {
        try {
          input = GsinaWhatIf.input(graph);
          intact = GsinaWhatIf.ask(net, input, GsinaWhatIf.noEdits(), names(graph));
          hint = compare(graph, intact.found);
        } catch {
          hint = "The features of this graph are damaged, so it cannot be changed; write the page again.";
        }
      }
      $("whatif-hint").textContent = hint;
      $("whatif-tools").hidden = !usable;
      $("large-canvas").classList.toggle("live", usable);
      if (!usable) return;
      fillNodes(graph);
      fillTargets(graph);
      showValue();
      showAlone(graph);
      judge(graph);
      tell("");
    }

    /** What the network alone says of the graph as it is now, beside trees that keep their answer. */
    function showAlone(graph) {
      $("whatif-alone").hidden = !data.network.trees;
      if (!data.network.trees) return;
      const now = askAlone(graph, graph.edits ?? GsinaWhatIf.noEdits());
      $("whatif-alone").textContent = `The network alone says ${now.predicted}${sure(now)}.`;
    }

    /** What to do, if the network answers as the model did; else why not. */
    function compare(graph, found) {
      const off = graph.input.logits.map((value, i) => Math.abs(value - found.logits[i]));
      const size = 1 + Math.max(...graph.input.logits.map(Math.abs));
      const most = Math.max(...off);
      if (!(most <= FAR * size)) {
        return "In this page the network answers otherwise than the model did, so it cannot be asked; write the page again.";
      }
      usable = true;
      const parts = [`Click ${edgeWord === "edge" ? "an edge" : "a bond"} or ${nodeWord === "atom" ? "an atom" : "a node"} in the drawing to remove it, again to restore it; in the list below, press Delete.`];
      if (data.explainer) parts.push(`The weights stay those of ${data.explainer} for the graph as it was.`);
      if (data.network.fixed) parts.push("Features of the whole graph stay as they are.");
      if (data.network.trees) parts.push("The trees beside the network cannot be asked anew in this page, so they keep their part of the answer.");
      if (data.network.store.bits < 32) {
        parts.push(`The network is rounded to ${data.network.store.bits} bits, which moves its output here by ${short(most)}.`);
      }
      return parts.join(" ");
    }

    /** Leave a graph as it was found. */
    function leave(graph) {
      job++;
      if (graph && graph.edits) restore(graph);
    }

    function restore(graph) {
      Object.assign(graph, { edits: null, part: null, relabelled: null });
      onEdited(graph);
    }

    /* ---- edits ---- */

    /** Change the edits of the open graph, and ask the network. */
    function change(apply, what) {
      const graph = state.open, begun = performance.now();
      const edits = graph.edits ?? GsinaWhatIf.noEdits();
      job++;
      apply(edits);
      const empty = !edits.pairs.size && !edits.nodes.size && !edits.rows.size;
      graph.edits = empty ? null : edits;
      graph.part = empty ? null : GsinaWhatIf.ask(net, input, edits, names(graph));
      graph.relabelled = empty ? null : new Map([...edits.rows].map(([one, row]) => [one, labelOf(row)]).filter(([, label]) => label));
      onEdited(graph); // It is drawn in the next frame.
      showAnswer(graph);
      fillNodes(graph);
      showValue();
      showAlone(graph);
      state.answerMs = performance.now() - begun;
      judge(graph);
      tell(typeof what === "function" ? what(graph.part.answer) : what);
    }

    function toggle({ pair, node: one }) {
      const graph = state.open;
      if (pair === undefined) {
        const gone = graph.edits?.nodes.has(one);
        if (!gone && (graph.part?.nodes.length ?? graph.nodes) < 2) return tell(`The last ${nodeWord} stays.`);
        return change((edits) => { if (!edits.nodes.delete(one)) edits.nodes.add(one); },
          `${gone ? "Restored" : "Removed"} ${nodeWord} ${nodeName(graph, one)}.`);
      }
      const ends = [graph.ends[2 * pair], graph.ends[2 * pair + 1]];
      const gone = graph.edits && (graph.edits.pairs.has(pair) || ends.some((end) => graph.edits.nodes.has(end)));
      return change((edits) => {
        if (!gone) edits.pairs.add(pair);
        else {
          edits.pairs.delete(pair);
          ends.forEach((end) => edits.nodes.delete(end));
        }
      }, `${gone ? "Restored" : "Removed"} ${edgeWord} ${pairName(graph, pair)}.`);
    }

    const width = () => input.x.length / input.nodes;
    const original = (one) => input.x.slice(one * width(), (one + 1) * width());
    const current = (one) => state.open.edits?.rows.get(one) ?? original(one);

    function setFeature(column, value) {
      const row = current(node).slice(), { element } = features;
      const before = row[column];
      row[column] = value;
      if (element && column === element.column) addHydrogens(row, before, value, element);
      const same = original(node).every((old, i) => old === row[i]);
      change((edits) => (same ? edits.rows.delete(node) : edits.rows.set(node, row)), "");
    }

    /** As many hydrogens as the other element needs; they count as neighbours. */
    function addHydrogens(row, before, now, { hydrogens, degree, valences }) {
      if (valences[before] === undefined || valences[now] === undefined) return;
      const most = features.columns[hydrogens].values.length - 1;
      const count = Math.max(0, Math.min(most, row[hydrogens] + valences[now] - valences[before]));
      const last = features.columns[degree].values.length - 1;
      row[degree] = Math.max(0, Math.min(last, row[degree] + count - row[hydrogens]));
      row[hydrogens] = count;
    }

    /** How a changed atom is written in the drawing; nothing for other nodes. */
    function labelOf(row) {
      const { element, columns } = features;
      if (!element) return null;
      const symbol = columns[element.column].values[row[element.column]];
      const charge = columns[3].values[row[3]].replace(/^([+-])1$/, "$1").replace(/^([+-])(\d)$/, "$2$1");
      const hydrogens = symbol === "C" ? 0 : row[element.hydrogens];
      return { symbol, hydrogens, charge: charge === "0" ? "" : charge.replace("-", "−") };
    }

    /* ---- the chosen node and its features ---- */

    function fillNodes(graph) {
      const { options } = $("node");
      options.length = graph.nodes;
      for (let one = 0; one < graph.nodes; one++) {
        const text = `${nodeName(graph, one)}${graph.edits?.nodes.has(one) ? " (removed)" : ""}`;
        if (!options[one]) options.add(new Option(text, `${one}`));
        else if (options[one].text !== text) options[one].text = text;
        options[one].value = `${one}`;
      }
      $("node").value = `${node}`;
    }

    function choose(one) {
      node = one;
      picked = true;
      $("node").value = `${one}`;
      showValue();
    }

    function showValue() {
      const column = Number($("feature").value || 0), { values, common } = features.columns[column];
      const value = current(node)[column];
      $("category").hidden = !values;
      $("number").hidden = Boolean(values);
      if (values) {
        const option = (i) => new Option(values[i], `${i}`);
        const all = values.map((_, i) => i).filter((i) => !common?.includes(i));
        const groups = common ? [["Common", common], ["All others", all]] : [];
        $("category").replaceChildren(...(groups.length ? groups.map(([label, members]) => {
          const group = make("optgroup");
          group.label = label;
          group.append(...members.map(option));
          return group;
        }) : all.map(option)));
        $("category").value = `${value}`;
      } else if (document.activeElement !== $("number")) $("number").value = short(value);
      $("node-remove").textContent = state.open.edits?.nodes.has(node) ? "Restore it" : "Remove it";
      $("restore").disabled = !state.open.edits;
    }

    function fillTargets(graph) {
      const several = graph.values && graph.values.length > 1;
      $("target-field").hidden = !several;
      $("target").replaceChildren(...(several ? names(graph).map((name, i) => new Option(name, `${i}`)) : []));
      $("flip").hidden = data.network.task === "regression";
    }

    /** Go on with a generator in slices until it is done, or something else is asked. */
    function inSlices(steps, asked, { onStep = () => {}, onDone, onLeft = () => {} }) {
      let spent = 0;
      setTimeout(function slice() {
        if (asked !== job) return onLeft();
        const begun = performance.now();
        let step = steps.next();
        while (!step.done && performance.now() - begun < SLICE) step = steps.next();
        spent += performance.now() - begun;
        if (step.done) return onDone(step.value, spent);
        onStep(step.value);
        return setTimeout(slice);
      });
    }

    /* ---- faithfulness ---- */

    const answerOf = (graph) => (graph.part ?? intact).answer;
    const target = () => Number($("target").value || 0);

    /** As many edges as are certified, or as the model keeps, rounded up. */
    function markedCount(pairs) {
      const { share, count } = data.certified ?? data.budget;
      return Math.ceil(GsinaSolver.shareOf(count ?? share, pairs, count !== null) * pairs - 1e-6);
    }

    /** How far the answer hangs on the heaviest edges, in words, once the answer is drawn. */
    function judge(graph) {
      $("faithful").textContent = (!graph.edits && graph.faithfulness?.words) || "";
      if (!graph.scores || $("faithful").textContent) return;
      const edits = graph.edits ?? GsinaWhatIf.noEdits(), { trees } = data.network;
      const [asked, given] = trees ? alone() : [net, input];
      const here = trees ? GsinaWhatIf.ask(asked, given, edits, names(graph)) : graph.part ?? intact;
      const { pairs, found } = here, index = GsinaAnswers.subject(here.answer, target());
      const own = new Map(pairs.map((pair, i) => [pair, found.edge?.[i] ?? graph.own?.[pair] ?? graph.scores[pair]]));
      const steps = GsinaWhatIf.faithfulness(asked, given, edits, names(graph), here, (pair) => own.get(pair), markedCount(pairs.length), index);
      inSlices(steps, job, {
        onDone(seen, spent) {
          $("faithful").textContent = seen ? inSentences(graph, seen, index, pairs.length) : "";
          state.faithfulMs = spent;
        },
      });
    }

    function inSentences(graph, seen, index, pairs) {
      const name = names(graph)[index] ?? "", shares = data.network.task !== "regression";
      const said = (value) => (shares ? value.toFixed(2) : short(value));
      const whose = data.network.trees ? "the network’s" : "the";
      const what = shares ? `${whose} probability of ${name}` : `${whose} prediction${names(graph).length > 1 ? ` of ${name}` : ""}`;
      const [from, to] = [said(seen.now), said(seen.without)];
      const goes = from === to ? `stays ${to}` : `${seen.without < seen.now ? "falls" : "rises"} from ${from} to ${to}`;
      const count = seen.marked.length, [marked, them] = count === 1 ? [edgeWord, "that one"] : [`${edgeWord}s`, "them"];
      return `Without the marked ${marked} (${count} of ${pairs}) ${what} ${goes}; with only ${them} it is ${said(seen.only)}. `
        + `A random choice of as many: ${said(seen.randomWithout)}, ${said(seen.randomOnly)}.`;
    }

    /* ---- the fewest removals ---- */

    function search() {
      if ($("flip").dataset.busy) {
        job++;
        judge(state.open);
        return tell("Stopped.");
      }
      const graph = state.open, edits = graph.edits ?? GsinaWhatIf.noEdits();
      const [asked, given] = data.network.trees ? alone() : [net, input];
      const before = data.network.trees ? askAlone(graph, edits) : answerOf(graph);
      const index = GsinaAnswers.subject(before, target());
      $("flip").dataset.busy = "yes";
      $("flip").textContent = "Stop";
      return inSlices(GsinaWhatIf.counterfactual(asked, given, edits, names(graph), index), ++job, {
        onStep(count) { $("whatif-text").textContent = `Looking at removals of ${plural(count, edgeWord)} …`; },
        onLeft: stop,
        onDone(pairs) {
          stop();
          if (pairs) change((now) => pairs.forEach((pair) => now.pairs.add(pair)), (now) => found(graph, pairs, before, now, index));
          else {
            judge(graph);
            tell(`No removal of ${edgeWord}s changes the answer${data.network.trees ? " of the network alone" : ""}.`);
          }
        },
      });
    }

    function stop() {
      delete $("flip").dataset.busy;
      $("flip").textContent = `Fewest removals that change the ${data.network.trees ? "network’s answer" : "answer"}`;
    }

    function found(graph, pairs, before, now, index) {
      const these = pairs.length === 1 ? `this ${edgeWord}` : `these ${pairs.length} ${edgeWord}s`;
      const say = ({ yes, predicted }) => (yes ? (yes[index] ? "yes" : "no") : predicted);
      const which = before.yes ? ` for ${names(graph)[index]}` : "", list = pairs.map((pair) => pairName(graph, pair)).join(", ");
      if (!data.network.trees) return `Without ${these} the answer${which} is ${say(now)} instead of ${say(before)}: ${list}.`;
      const network = askAlone(graph, graph.edits);
      return `Without ${these} the network alone answers ${say(network)}${which} instead of ${say(before)}: ${list}. `
        + `With the trees’ answer to the whole graph the model says ${say(now)}; what they would say of this one is not known here.`;
    }

    /* ---- words ---- */

    function tell(what) {
      const graph = state.open;
      $("whatif-text").textContent = what;
      if (!graph.part || !what) return;
      const now = graph.part.answer;
      say(() => `${what} Predicted ${now.predicted}${sure(now)}, before ${graph.predicted}${sure(graph)}. ${$("faithful").textContent}`);
    }

    function inWords(graph) {
      if (!graph.edits) return "";
      const gone = [...graph.edits.nodes].map((one) => `${nodeWord} ${nodeName(graph, one)}`)
        .concat([...graph.edits.pairs].map((pair) => `${edgeWord} ${pairName(graph, pair)}`));
      const changed = [...graph.edits.rows.keys()].map((one) => nodeName(graph, one));
      return (gone.length ? ` Removed: ${gone.join(", ")}.` : "") + (changed.length ? ` Changed: ${changed.join(", ")}.` : "");
    }

    /* ---- controls ---- */

    if (data.network) {
      features.columns.forEach(({ name }, i) => $("feature").append(new Option(name, `${i}`)));
      for (const word of document.querySelectorAll(".node-word")) word.textContent = nodeWord;
      $("large-canvas").addEventListener("click", (event) => {
        if (!usable) return;
        const box = $("large-canvas").getBoundingClientRect();
        const hit = GsinaDraw.nearest(state.largeView, state.open, event.clientX - box.left, event.clientY - box.top);
        if (!hit) return;
        if (hit.node !== undefined) choose(hit.node);
        if ($("tool-remove").checked) toggle(hit);
        else page.draw();
      });
      $("node").addEventListener("input", () => { choose(Number($("node").value)); page.draw(); });
      $("node-remove").addEventListener("click", () => toggle({ node }));
      $("feature").addEventListener("input", showValue);
      $("category").addEventListener("input", () => setFeature(Number($("feature").value), Number($("category").value)));
      $("number").addEventListener("input", () => {
        if (Number.isFinite($("number").valueAsNumber)) setFeature(Number($("feature").value), $("number").valueAsNumber);
      });
      $("target").addEventListener("input", () => judge(state.open));
      $("restore").addEventListener("click", () => change((edits) => {
        edits.pairs.clear();
        edits.nodes.clear();
        edits.rows.clear();
      }, "Restored all."));
      $("flip").addEventListener("click", search);
      stop();
    }
    return { enter, leave, toggle, active, chosen, inWords };
  }

  return { start };
})();
