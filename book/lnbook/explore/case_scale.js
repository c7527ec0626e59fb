// Case scale: one case among several is multiplied by a number, without a norm, with batch norm, with layer norm.

const METHODS = { none: "No norm", batch: "Batch norm", layer: "Layer norm" };
const ROUNDING = 1e-12; // the smallest epsilon of the slider, 1e-8, does more

// Outputs of all methods; rows of `a` are cases, columns are units.
function outputs(a, eps) {
  const units = a[0].map((_, j) => standardize(a.map((row) => row[j]), eps).out);
  return { none: a, batch: a.map((row, i) => row.map((_, j) => units[j][i])), layer: a.map((row) => standardize(row, eps).out) };
}

// By what layer norm multiplies its output of a case of variance `power` when the case is multiplied by delta.
function factor(power, eps, delta) {
  const above = power + eps, below = delta && power + eps / (delta * delta);
  return above && below ? Math.sign(delta) * Math.sqrt(above / below) : 0;
}

// The figure's whole arithmetic: before and after, the largest move of every case, and the factor.
function measure({ a }, { row, delta, eps }) {
  const changed = a.map((values, i) => (i === row ? values.map((value) => delta * value) : values));
  const before = outputs(a, eps), after = outputs(changed, eps), moves = {}, counts = {};
  for (const key in METHODS) {
    const by = after[key].map((values, i) => values.map((value, j) => Math.abs(value - before[key][i][j])));
    const tiny = ROUNDING * (key === "none" ? Math.max(...a.flat().map(Math.abs)) : 1);
    moves[key] = by.map((values) => (Math.max(...values) > tiny ? Math.max(...values) : 0));
    counts[key] = by.flat().filter((value) => value > tiny).length;
  }
  const power = standardize(a[row], eps).std ** 2;
  return { before, after, moves, counts, power, factor: factor(power, eps, delta) };
}

// A factor near 1 with as many digits as tell it from 1, others with three.
const fine = (value) => {
  const off = Math.abs(Math.abs(value) - 1);
  return value.toFixed(off ? clamp(2 - Math.floor(Math.log10(off)), 2, 10) : 2).replace("-", "−");
};

// The state in words: a headline, what moves, and why.
function explain({ row, delta, eps }, { counts, moves, power, factor }) {
  const name = `case ${row + 1}`, total = moves.none.length, other = moves.batch.filter((by, i) => by && i !== row).length;
  const off = Math.abs(Math.abs(factor) - 1);
  if (delta === 1) return ["δ = 1: nothing is changed yet.", "Multiply a case, and see which outputs move.", ""];
  const headline = delta === 0 ? "δ = 0 leaves nothing of the case to normalize."
    : eps && off > 0.005 ? "Layer norm notices, because ε is not small beside the variance."
    : delta < 0 ? "Layer norm turns the sign of this case, and does nothing else."
    : eps ? "Layer norm hardly notices." : "Layer norm does not notice.";
  const largest = (key) => show(Math.max(...moves[key]), 2);
  const most = Math.max(...moves.layer), little = most.toExponential(0).replace("-", "−");
  const tail = counts.layer ? ", by up to " + (most < 0.005 ? little : show(most, 2)) : "";
  const numbers = `With ${name} times ${show(delta, 2)}, ${counts.none} numbers move without a norm. Batch norm moves ${counts.batch}, ` +
    `by up to ${largest("batch")}, in ${other} of the ${total - 1} other cases too. Layer norm moves ${counts.layer}${tail}.`;
  const sign = delta < 0 ? "−" : "";
  const remark = eps && delta
    ? `Layer norm's ${name} is multiplied by ${sign}√((s² + ε) / (s² + ε/δ²)) = ${fine(factor)}, where s² = ${show(power, 2)}.`
    : delta ? "The mean of the case is multiplied by δ, its std by |δ|: both cancel, up to the sign."
    : "Its std is 0, and 0 / 0 is taken as 0.";
  return [headline, numbers, remark];
}

// One method: a row of bars for every case, with a word on what became of it.
function panel(key, N, H) {
  const rows = Array.from({ length: N }, (_, i) => {
    const row = bars(H), word = el("span"), node = el("div", { class: "case" }, el("p", {}, `case ${i + 1}`, word), row.node);
    return { row, word, node };
  });
  const node = el("div", { class: `panel ${key}` }, el("p", { class: "title" }, METHODS[key]), ...rows.map((part) => part.node));
  return { rows, node };
}

// Build the figure under `root`; every change of the state goes through `act`.
function caseScale(root, given) {
  const { a } = given, N = a.length, H = a[0].length, live = speaker();
  const state = { row: 0, delta: 1, position: 0 }, peak = 2 * Math.max(...a.flat().map(Math.abs)) || 1;
  const size = slider("Multiply it by δ:", { min: -3, max: 3, step: 0.05 }, (delta) => act({ delta }));
  const eps = slider("ε, added to the variance:", { min: 0, max: 29 }, (position) => act({ position }));
  const radios = a.map((_, row) => input("radio", { name: "row" }, () => act({ row })));
  const presets = {
    "Three times": { delta: 3, position: 0 },
    "A twentieth": { delta: 0.05, position: 0 },
    "Negative": { delta: -1, position: 0 },
    "A twentieth, with ε": { delta: 0.05, position: 21 },
  };
  const panels = Object.fromEntries(Object.keys(METHODS).map((key) => [key, panel(key, N, H)]));
  root.append(el("section", { class: "figure", "aria-label": "Case scale" },
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Choose a case"),
        ...radios.map((node, i) => el("label", {}, node, `${i + 1}`))),
      size.whole, eps.whole,
      el("fieldset", {}, el("legend", {}, "Try"),
        ...Object.entries(presets).map(([text, change]) => button(text, () => act(change))))),
    live.node,
    el("div", { class: "panels" }, ...Object.values(panels).map(({ node }) => node)),
    el("p", { class: "key" }, "Dashed: before. Hatched: longer than its frame."),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    state.eps = epsilon(state.position);
    const results = measure(given, state);
    size.node.value = state.delta;
    size.value.textContent = show(state.delta, 2);
    eps.node.value = state.position;
    eps.value.textContent = epsilonText(state.eps);
    eps.node.setAttribute("aria-valuetext", eps.value.textContent);
    radios.forEach((node, i) => (node.checked = i === state.row));
    for (const key in METHODS)
      panels[key].rows.forEach(({ row, word, node }, i) => {
        const by = results.moves[key][i], own = key === "layer" && i === state.row && state.delta;
        const little = Math.abs(results.factor - 1) < 0.005;
        const text = by ? own ? little ? "nearly" : `× ${show(results.factor, 2)}` : "moves" : "same";
        word.textContent = text;
        node.className = `case ${by ? "moves" : ""} ${i === state.row ? "chosen" : ""}`;
        row.draw(`${METHODS[key]}, case ${i + 1}, ${text}`, results.after[key][i], key === "none" ? peak : 1.75, results.before[key][i]);
      });
    live.say(...explain(state, results));
  }
  act({ delta: 2 });
}
