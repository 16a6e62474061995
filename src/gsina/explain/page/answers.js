"use strict";
/* From logits to answers: probabilities, decisions and the words of the page. */
const GsinaAnswers = (() => {
  const NAMED = 3; // Targets named one by one; of more, only their number is shown.

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const figure = (value, digits) => `${Number(value.toPrecision(digits))}`;

  function softmax(logits) {
    const most = Math.max(...logits), raised = Array.from(logits, (x) => Math.exp(x - most));
    const total = raised.reduce((sum, x) => sum + x, 0);
    return raised.map((x) => x / total);
  }

  /**
   * What a network says of a graph.
   *
   * @param network its task and calibration
   * @param {ArrayLike<number>} logits or values in their units
   * @param {string[]} names of the classes or targets
   * @returns {{predicted, decided, probabilities?, values?, confidence?, chosen?, yes?}} of classes
   *   the number `chosen`, of several yes-or-no targets which are `yes`
   */
  function answer({ task, calibration }, logits, names) {
    const { temperature, offset, cut } = calibration;
    const raw = Array.from(logits);
    const applied = raw.map((x, i) => (x + (offset[i] ?? 0)) / (temperature[i] ?? temperature[0]));
    const decided = raw.map((x, i) => x - (cut[i] ?? 0));
    if (task === "regression") return { values: raw, decided, predicted: numbers(raw, names) };
    if (task === "binary" && raw.length > 1) {
      const values = applied.map(sigmoid), yes = decided.map((x) => x > 0);
      const sure = values.map((p) => Math.max(p, 1 - p));
      const confidence = sure.reduce((sum, p) => sum + p, 0) / sure.length;
      return { values, decided, yes, confidence, predicted: listed(yes, names) };
    }
    const probabilities = task === "binary" ? [1 - sigmoid(applied[0]), sigmoid(applied[0])] : softmax(applied);
    const chosen = task === "binary" ? Number(decided[0] > 0) : decided.indexOf(Math.max(...decided));
    return { probabilities, decided, chosen, confidence: probabilities[chosen], predicted: names[chosen] };
  }

  function listed(yes, names) {
    const chosen = names.filter((_, i) => yes[i]);
    if (chosen.length > NAMED) return `${chosen.length} of ${names.length} targets`;
    return chosen.join(", ") || "none";
  }

  function numbers(values, names) {
    if (values.length === 1) return figure(values[0], 4);
    const first = values.slice(0, NAMED).map((value, i) => `${names[i]} ${figure(value, 3)}`);
    return first.join(", ") + (values.length > NAMED ? ", …" : "");
  }

  /** The class or target that a question is about: the predicted class, else the target `target`. */
  const subject = (given, target) => given.chosen ?? target;

  /** The probability, or the value, of that. */
  const value = (given, index) => (given.probabilities ?? given.values)[index];

  /** Whether another answer was given to that. */
  const changed = (before, now, index) => (before.yes ? before.yes[index] !== now.yes[index] : before.chosen !== now.chosen);

  /** How far an answer is from such a change, below 0 behind it. */
  function margin(before, now, index) {
    const { decided } = now;
    if (before.yes) return before.yes[index] ? decided[index] : -decided[index];
    if (decided.length === 1) return before.chosen ? decided[0] : -decided[0];
    return decided[before.chosen] - Math.max(...decided.filter((_, i) => i !== before.chosen));
  }

  return { answer, subject, value, changed, margin, figure };
})();
if (typeof module !== "undefined") module.exports = GsinaAnswers;
