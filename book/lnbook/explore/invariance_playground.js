// The invariance playground: Table 1, computed again for what a reader does to the weights and the data.

const METHODS = { batch: "batch", weight: "weight", layer: "layer", rms: "RMS" };
const signed = (text) => String(text).replace("-", "−");
const map = (grid, run) => grid.map((row, i) => row.map((value, j) => run(value, i, j)));
const ROUNDING = 1e-11; // drawn layers round by less than 2e-12; the smallest epsilon of the slider, 1e-8, does more
const largest = (grid) => Math.max(...grid.flat().map(Math.abs));

// The epsilon of a slider's position: 0, then 1e-8 to 0.1, four to a power of ten; and its text.
const epsilon = (position) => position && 10 ** ((position - 1) / 4 - 8);
const epsilonText = (eps) => (eps ? eps.toExponential(1).replace(".0", "").replace("-", "−") : "0");

// What each column of Table 1 makes of weights (units, inputs) and data (cases, inputs), and why a normalization
// undoes it, or does not; in the table's order.
const MOVES = [
  [({ W, X }, size) => [map(W, (w) => size * w), X],
    "Every summed input, mean, std and length is multiplied by δ, which cancels."],
  [({ W, X, gamma }, size) => [map(W, (w, i, k) => w + size * gamma[k]), X],
    "γ times a vector is added to every weight vector and moves all units of a case alike. " +
    "Only a mean over units takes it out."],
  [({ W, X }, size) => [map(W, (w, i) => (i ? w : size * w)), X],
    "Unit 1, its std and its length are multiplied by δ. Statistics over units mix it with others."],
  [({ W, X }, size) => [W, map(X, (x) => size * x)],
    "Every summed input and its std are multiplied by δ. The length of a weight vector is not."],
  [({ W, X, shift }, size) => [W, map(X, (x, n, k) => x + size * shift[k])],
    "γ times a vector is added to every case and moves a unit alike in all. " +
    "Only a mean over cases takes it out."],
  [({ W, X }, size) => [W, map(X, (x, n) => (n ? x : size * x))],
    "Case 1 and its std are multiplied by δ. Statistics over cases mix it with the others."],
];

// A column's name in words: what is changed, how, the letter of the size and the size that changes nothing.
function label(name) {
  const [what, how] = name.split(" re-"), neutral = +(how === "scaling");
  return { what, how: `re-${how}`, letter: "γδ"[neutral], neutral };
}

// Outputs (cases, units) of every method, and statistics of every unit; batch norm takes `kept` ones instead.
function normalize(W, X, eps, kept) {
  const a = X.map((x) => W.map((w) => dot(w, x)));
  const units = W.map((_, i) => standardize(a.map((row) => row[i]), eps));
  const over = (value, divisor) => value && value / divisor;
  const frozen = (value, { mean, std }) => over(value - mean, Math.sqrt(std * std + eps));
  return {
    none: a,
    batch: map(a, (value, n, i) => (kept ? frozen(value, kept[i]) : units[i].out[n])),
    weight: map(a, (value, n, i) => over(value, Math.hypot(...W[i]))),
    layer: a.map((row) => standardize(row, eps).out),
    rms: map(a, (value, n) => over(value, Math.sqrt(dot(a[n], a[n]) / a[n].length + eps))),
    units,
  };
}

// The largest change of an output, relative to the largest output, and what to call it.
function compare(before, after) {
  const miss = (run) => largest(map(before, (value, n, i) => run(after[n][i]) - run(value))) / largest(before);
  const change = miss((value) => value);
  const kind = change <= ROUNDING ? "same" : miss(Math.abs) <= ROUNDING ? "flipped"
    : change <= 0.01 ? "nearly" : "changed";
  return { change, kind };
}

// The figure's whole arithmetic: every column's outputs before and after, and a verdict on every method.
function playground(given, { sizes, eps, frozen }) {
  const before = normalize(given.W, given.X, eps);
  return sizes.map((size, column) => {
    const after = normalize(...MOVES[column][0](given, size), eps, frozen && before.units), verdicts = {};
    for (const key of ["none", ...Object.keys(METHODS)])
      verdicts[key] = compare(before[key], after[key]);
    return { before, after, verdicts };
  });
}

// A verdict as a sign, words and a number.
function verdict({ change, kind }) {
  const value = 100 * change;
  const percent = `${value < 0.095 ? signed(value.toExponential(0)) : show(value, 1)}\u00a0%`;
  return {
    same: ["✓", " invariant", ""],
    flipped: ["±", " flips sign", ""],
    nearly: ["≈ ", "changes by ", percent],
    changed: ["", "changes by ", percent],
  }[kind];
}

// The selected column in words, without numbers: they are read out when they change, not at every step.
function explain({ what, how, letter, neutral }, why, size, { eps, frozen }, verdicts) {
  const groups = Object.entries({
    same: ["stays the same", "stay the same"],
    nearly: ["changes by less than 1 %", "change by less than 1 %"],
    flipped: ["flips its sign", "flip their sign"],
    changed: ["changes", "change"],
  }).flatMap(([kind, [one, many]]) => {
    const names = Object.keys(METHODS).filter((key) => verdicts[key].kind === kind).map((key) => METHODS[key]);
    const last = names.pop();
    if (!last) return [];
    return names.length ? `${names.join(", ")} and ${last} norm ${many}` : `${last} norm ${one}`;
  });
  const notes = size === neutral ? [`${letter} = ${neutral} is no change at all.`] : [
    neutral && size === 0 && "δ = 0 leaves nothing to normalize.",
    neutral && size < 0 && "A std and a length are never negative: |δ| cancels, and the sign goes through.",
    neutral && eps > 0 && "ε is added to a variance and does not change with it.",
    frozen && "Frozen statistics are those before the change, so batch norm cannot take it out.",
  ].filter(Boolean);
  return [`${what} ${how}: ${groups.join("; ")}.`, notes.join(" ") || why];
}

// How the cells fare that Table 1 calls invariant.
function count(results, promised) {
  const kinds = results.flatMap(({ verdicts }, k) =>
    ["batch", "weight", "layer"].filter((key) => promised[key][k]).map((key) => verdicts[key].kind));
  const parts = Object.entries({ same: "hold", nearly: "hold within 1 %", flipped: "flip the sign", changed: "fail" })
    .map(([kind, verb]) => [kinds.filter((one) => one === kind).length, verb]).filter(([number]) => number);
  const verbs = parts[0][0] === kinds.length ? `all ${parts[0][1]}` : parts.map((part) => part.join(" ")).join(", ");
  return `Of the ${kinds.length} cells that the paper calls invariant, ${verbs}.`;
}

// Table 1 with a radio button in every column.
function verdictTable(columns, select) {
  const row = (head, nodes, attributes) =>
    el("tr", attributes, head ? el("th", { scope: "row" }, ...head) : el("td"), ...nodes);
  const radios = columns.map(({ what, how }, k) =>
    input("radio", { name: "column", "aria-label": `${what} ${how}` }, () => select(k)));
  const parts = columns.map(({ what }) => what), heads = [...new Set(parts)].map((name) =>
    el("th", { scope: "colgroup", colspan: parts.filter((what) => what === name).length }, name));
  const labels = columns.map(({ how }, k) => el("th", { scope: "col" }, el("label", {}, radios[k], how)));
  const blank = () => columns.map(() => el("td"));
  const now = blank(), cells = {};
  const rows = Object.entries(METHODS).map(([key, name]) =>
    row([name, el("span", {}, " norm")], (cells[key] = blank()), { class: key }));
  const node = el("table", {},
    el("caption", {}, el("b", {}, "Table 1, live. Choose a column, then move its slider."),
      " A percentage is the largest change of an output, relative to the largest output."),
    el("thead", {}, row("", heads), row("", labels)),
    el("tbody", {}, row(["now"], now, { class: "now" }), ...rows));
  node.addEventListener("click", ({ target }) => {
    const cell = target.closest("tbody td");
    if (cell) select(cell.cellIndex - 1);
  });
  return { node, radios, labels, now, cells };
}

// Outputs of one method: a square for each after the change, in it a disc for the same one before.
function panel(key, N, H) {
  const cells = Array.from({ length: N * H }, () => el("span", { class: "cell" }));
  const grid = el("div", { class: "grid", role: "img" }, ...cells), words = el("span");
  const title = el("p", { class: "title" }, `${METHODS[key] ?? "no"} norm`);
  return { key, cells, grid, words, node: el("div", { class: `panel ${key}` }, title, grid, words) };
}

function paint({ key, cells, grid, words }, { before, after, verdicts }) {
  const top = largest(before[key]), text = verdict(verdicts[key]).join("");
  const colour = (value) => shade(value, 100 - 100 * Math.exp(-1.5 * Math.abs(value) / top));
  const pairs = map(before[key], (value, n, i) => [value, after[key][n][i]]).flat();
  words.textContent = text;
  grid.setAttribute("aria-label", `Outputs: ${text}`);
  pairs.forEach(([from, to], k) => {
    const ring = 100 * Math.min(1, Math.sqrt(Math.abs(to - from) / top));
    cells[k].title = `${show(from, 4)} → ${show(to, 4)}`;
    cells[k].style = `--before:${colour(from)};--after:${colour(to)};--ring:${ring}%`;
  });
}

// Build the figure under `root`; every change of the state goes through `act`.
function invariancePlayground(root, given) {
  const { W, X, promised, start } = given, columns = given.columns.map(label), state = {};
  const initial = { column: 0, sizes: start, position: 0, frozen: false };
  const scaled = (run) => start.map((size, k) => (columns[k].neutral ? run(size) : size));
  const presets = {
    "Negative δ": { sizes: scaled((size) => -size) },
    "Small variance beside ε": { sizes: scaled(() => 0.05), position: 21 },
    "Frozen statistics": { frozen: true },
    Reset: {},
  };
  const table = verdictTable(columns, (column) => act({ column }));
  const size = slider("", { min: -3, max: 3, step: 0.05 }, (to) =>
    act({ sizes: state.sizes.with(state.column, to) }));
  const eps = slider("ε, added to the variance:", { min: 0, max: 29 }, (position) => act({ position }));
  const freeze = input("checkbox", {}, ({ checked }) => act({ frozen: checked }));
  const panels = ["none", ...Object.keys(METHODS)].map((key) => panel(key, X.length, W.length));
  const live = el("p", { role: "status" });
  root.append(el("section", { class: "figure", "aria-label": "The invariance playground", style: `--H:${W.length}` },
    table.node,
    el("div", { class: "controls" }, size.whole, eps.whole,
      el("fieldset", {}, el("legend", {}, "Batch norm"), el("label", {}, freeze, "freeze its statistics")),
      el("fieldset", {}, el("legend", {}, "Where Table 1 breaks"),
        ...Object.entries(presets).map(([text, change]) => button(text, () => act({ ...initial, ...change }))))),
    live,
    el("div", { class: "panels" }, ...panels.map(({ node }) => node)),
    el("p", { class: "key" }, "Square: an output now; its row is a case, its column a unit. " +
      "Disc: the same output before. No disc to be seen: no change."),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    state.eps = epsilon(state.position);
    const { column, sizes } = state, { what, how, letter } = columns[column], results = playground(given, state);
    results.forEach(({ verdicts }, k) => {
      const chosen = k === column ? "chosen" : "";
      table.radios[k].checked = k === column;
      table.labels[k].className = chosen;
      table.now[k].className = chosen;
      table.now[k].textContent = `${columns[k].letter} = ${signed(sizes[k])}`;
      for (const key in METHODS) {
        const { kind } = verdicts[key], [sign, words, number] = verdict(verdicts[key]), cell = table.cells[key][k];
        const broken = promised[key][k] && kind !== "same";
        cell.className = `${broken || kind === "same" ? kind : ""} ${chosen}`;
        cell.replaceChildren(sign, el(number ? "i" : "span", {}, words), number,
          broken ? el("i", {}, " (invariance broken)") : "");
      }
    });
    size.name.textContent = `${what} ${how}, ${letter} =`;
    size.value.textContent = show(sizes[column], 2);
    size.node.value = sizes[column];
    eps.value.textContent = epsilonText(state.eps);
    eps.node.value = state.position;
    eps.node.setAttribute("aria-valuetext", eps.value.textContent);
    freeze.checked = state.frozen;
    panels.forEach((part) => paint(part, results[column]));
    const [headline, detail] = explain(columns[column], MOVES[column][1], sizes[column], state, results[column].verdicts), news = count(results, promised);
    if (live.textContent !== `${headline} ${detail} ${news}`)
      live.replaceChildren(el("strong", {}, headline), ` ${detail} `, el("span", {}, news));
  }
  act(initial);
}
