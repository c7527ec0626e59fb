// The axis flip: batch norm reads down a column, layer norm along a row.

// The figure's whole arithmetic. Rows of `a` are cases, columns are units.
function normalize(a, method, eps) {
  const cases = a.map((row) => standardize(row, eps));
  const units = a[0].map((_, j) => standardize(a.map((row) => row[j]), eps));
  const out = {
    none: (i, j) => a[i][j],
    batch: (i, j) => units[j].out[i],
    layer: (i, j) => cases[i].out[j],
  }[method];
  return { cases, units, out: a.map((row, i) => row.map((_, j) => out(i, j))) };
}

// The state in words: a headline, then the numbers of the selected cell's group.
function explain({ method, size, row, col }, { cases, units }, eps) {
  if (method === "none") return ["Each output is its own input.", "No cell reads another one."];
  const down = method === "batch", count = down ? size : units.length;
  const [name, line] = down ? ["Batch norm", "column"] : ["Layer norm", "row"];
  if (count === 1)
    return [
      `${name} has nothing to read.`,
      `A ${line} holds one number a: its mean is a, its std is 0, ` +
        `and its output is 0 / √(0² + ${eps}) = 0, whatever a was.`,
    ];
  const { mean, std } = down ? units[col] : cases[row];
  const group = down ? `${count} cases of unit ${col + 1}` : `${count} units of case ${row + 1}`;
  return [
    `${name} reads ${down ? "down the" : "along the"} ${line}.`,
    `The ${group} share mean ${show(mean, 2)} and std ${show(std, 2)}: ` +
      (down ? "each output depends on other training cases."
        : `no other training case enters${size === 1 ? ", so one case is enough" : ""}.`),
  ];
}

// The last action in words. `moved` lists the [case, unit] of every output that it changed, of `total`.
function report(action, moved, total) {
  if (!action) return "Select a cell, change it with + or −, and see which outputs move.";
  const { row, from, to } = action;
  if (row === undefined)
    return `Batch of ${from} → ${to}: ${moved.length} of the ${total} remaining outputs moved.`;
  const rows = new Set(moved.map(([i]) => i));
  const where = rows.size > 1 ? `, in ${rows.size} cases` : rows.size ? `, all in case ${row + 1}` : "";
  return `Case ${row + 1}, ${show(from, 1)} → ${show(to, 1)}: ${moved.length} of ${total} outputs moved${where}.`;
}

// One panel: a grid of cells, the statistics of every unit above it and of every case beside it.
function panel(N, H, role, label) {
  const spans = (texts, role, kind = "") => texts.map((text) => el("span", { role, class: kind }, text));
  const cell = role === "grid" ? "gridcell" : "cell";
  const empty = (count, kind) => spans(Array(count).fill(""), cell, kind);
  const line = (head, ...items) =>
    el("div", { role: "row" }, ...(head ? spans([head], "rowheader") : empty(1)), ...items);
  const rows = Array.from({ length: N }, () => ({ cells: empty(H, "cell"), stats: empty(2, "stat") }));
  const columns = Array.from({ length: H }, () => empty(2, "stat"));
  const heads = [...columns.map((_, j) => `unit ${j + 1}`), "mean", "std"];
  const table = el("div", { role, "aria-label": label, class: "table" },
    line("", ...spans(heads, "columnheader")),
    ...["mean", "std"].map((name, k) => line(name, ...columns.map((stats) => stats[k]), ...empty(2))),
    ...rows.map(({ cells, stats }, i) => line(`case ${i + 1}`, ...cells, ...stats)));
  const rings = el("div", { class: "rings", "aria-hidden": "true" });
  return { node: el("div", { class: "matrix" }, table, rings), table, rings, columns, rows };
}

// Outline the groups that share statistics, strongly the group of the selected cell.
function outline(rings, { method, size, row, col }, H) {
  const [count, selected, area] = {
    none: [1, 0, () => [row + 4, col + 2, row + 5, col + 3]],
    batch: [H, col, (k) => [2, k + 2, size + 4, k + 3]],
    layer: [size, row, (k) => [k + 4, 2, k + 5, H + 4]],
  }[method];
  const before = rings.querySelector(".strong")?.getBoundingClientRect();
  rings.replaceChildren(...Array.from({ length: count }, (_, k) =>
    el("i", { class: k === selected ? "ring strong" : "ring", style: `grid-area:${area(k).join("/")}` })));
  const ring = rings.children[selected], now = ring.getBoundingClientRect();
  if (!before || !now.width || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const start = `translate(${before.x - now.x}px,${before.y - now.y}px) ` +
    `scale(${before.width / now.width},${before.height / now.height})`;
  ring.animate({ transform: [start, "none"] }, { duration: 300, easing: "ease-out" });
}

// Numbers, colours and statistics of one panel; `limit` is the value of the deepest colour.
function paint({ rows, columns }, values, stats, size, limit) {
  const write = (nodes, group) =>
    ["mean", "std"].forEach((key, k) => (nodes[k].textContent = group ? show(group[key], 2) : ""));
  columns.forEach((nodes, j) => write(nodes, stats.units[j]));
  rows.forEach((row, i) => {
    write(row.stats, stats.cases[i]);
    row.cells.forEach((cell, j) => {
      const value = values[i]?.[j];
      cell.textContent = value === undefined ? "" : show(value, 1);
      cell.className = i < size ? "cell" : "cell outside";
      cell.style.background = i < size ? shade(value, Math.min(1, Math.abs(value) / limit) * 60) : "";
    });
  });
}

// Build the figure under `root` for { a, eps }; every change of the state goes through `act`.
function axisFlip(root, { a: given, eps }) {
  const N = given.length, H = given[0].length;
  const limit = Math.max(...given.flat().map(Math.abs)) || 1;
  const step = 10 ** Math.floor(Math.log10(limit)) / 2;
  const state = { a: given, method: "batch", size: N, row: Math.min(1, N - 1), col: Math.min(2, H - 1) };

  const inputs = panel(N, H, "grid", "Summed inputs: arrow keys move, plus and minus change the selected cell");
  const outputs = panel(N, H, "table", "Outputs");
  const radio = (value, text) => {
    const node = input("radio", { name: "method" }, () => act({ method: value }));
    node.checked = value === state.method;
    return el("label", { class: value }, node, text);
  };
  const batch = slider("Batch size", { min: 1, max: N, value: N }, (to) =>
    act({ size: to, row: Math.min(state.row, to - 1) }, { from: state.size, to }));
  const selected = el("b"), formula = el("span"), live = el("p", { role: "status" });
  const figure = el("section", { class: "figure", "aria-label": "The axis flip", style: `--H:${H}` },
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Normalize with"),
        radio("none", "none"), radio("batch", "batch norm"), radio("layer", "layer norm")),
      batch.whole),
    live,
    el("div", { class: "panels" },
      el("div", { class: "panel" }, el("p", { class: "title" }, "Summed inputs a"), inputs.node,
        el("div", { class: "edit" }, selected,
          button("−", () => edit(-step), { "aria-label": "Decrease the selected cell" }),
          button("+", () => edit(step), { "aria-label": "Increase the selected cell" }),
          button("Reset", () => act({ a: given }), { "aria-label": "Reset all values" }))),
      el("div", { class: "panel" }, el("p", { class: "title" }, "Outputs ", formula), outputs.node,
        el("p", { class: "key" }, el("b", { class: "moved" }), "moved by the last change"))),
    el("div", { class: "fallback" }, el("slot")));
  root.append(figure);

  function act(change, action) {
    const compute = () => normalize(state.a.slice(0, state.size), state.method, eps);
    const before = compute().out;
    Object.assign(state, change);
    const now = compute(), kept = now.out.slice(0, before.length), moved = [];
    if (action) kept.forEach((row, i) => row.forEach((value, j) => value !== before[i][j] && moved.push([i, j])));
    update(now, moved, report(action, moved, kept.length * H));
  }

  function edit(by) {
    const { a, row, col } = state, from = a[row][col], to = from + by;
    act({ a: a.map((values, i) => (i === row ? values.with(col, to) : values)) }, { row, from, to });
  }

  function select(row, col) {
    act({ row: clamp(row, 0, state.size - 1), col: clamp(col, 0, H - 1) });
    inputs.rows[state.row].cells[state.col].focus();
  }

  function update(now, moved, news) {
    const { method, size, row, col, a } = state;
    figure.dataset.method = method;
    paint(inputs, a, now, size, limit);
    paint(outputs, now.out, normalize(now.out, "none", eps), size, method === "none" ? limit : 2.5);
    [inputs, outputs].forEach((part) => outline(part.rings, state, H));
    inputs.rows.forEach(({ cells }, i) => cells.forEach((cell, j) => {
      const chosen = i === row && j === col;
      cell.tabIndex = chosen ? 0 : -1;
      cell.setAttribute("aria-selected", chosen);
    }));
    moved.forEach(([i, j]) => outputs.rows[i].cells[j].classList.add("moved"));
    batch.value.textContent = size === 1 ? "1 case" : `${size} cases`;
    selected.textContent = `Case ${row + 1}, unit ${col + 1}: ${show(a[row][col], 1)}`;
    formula.textContent = method === "none" ? "a" : "(a − mean) / √(std² + ε)";
    const [headline, detail] = explain(state, now, eps);
    live.replaceChildren(el("strong", {}, headline), ` ${detail} `, el("span", {}, news));
  }

  inputs.rows.forEach(({ cells }, i) => cells.forEach((cell, j) =>
    cell.addEventListener("click", () => i < state.size && select(i, j))));
  inputs.table.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const by = { "+": step, "=": step, "-": -step }[event.key];
    if (event.ctrlKey || event.metaKey || !(move || by)) return;
    event.preventDefault();
    move ? select(state.row + move[0], state.col + move[1]) : edit(by);
  });
  act({});
}
