// Five reductions: which numbers of one tensor share a mean, whatever the order of its axes.

// Each normalization by what one of its sets spans: cases N, channels C (those of a group: G), positions P.
const NORMS = {
  batch: ["Batch norm", "NP"],
  layer: ["Layer norm over C, H, W", "CP"],
  instance: ["Instance norm", "P"],
  group: ["Group norm", "GP"],
  channels: ["Layer norm over C", "C"],
};

// The axes of a layout after N: those that run down the table of a case, and those that run along it.
const LAYOUTS = { NCHW: ["C", "HW"], NHWC: ["H", "WC"], NTC: ["T", "C"] };

// All cells [n, c, h, w] of the first `size` cases.
function cellsOf(a, size) {
  return a.slice(0, size).flatMap((maps, n) => maps.flatMap((rows, c) =>
    rows.flatMap((row, h) => row.map((_, w) => [n, c, h, w]))));
}

// What names the set of a cell: the places along the axes that the set does not span.
function setOf(norm, [n, c, h, w], perGroup) {
  const over = NORMS[norm][1], has = (axis) => over.includes(axis);
  return [has("N") || n, has("C") || (has("G") ? Math.floor(c / perGroup) : c), has("P") || `${h}, ${w}`].join("; ");
}

// The figure's whole arithmetic: every set with its cells, mean, std and normalized values.
function reduce({ a, groups, eps }, norm, size) {
  const sets = {};
  for (const cell of cellsOf(a, size)) (sets[setOf(norm, cell, a[0].length / groups)] ||= []).push(cell);
  return Object.fromEntries(Object.entries(sets).map(([name, cells]) =>
    [name, { cells, ...standardize(cells.map(([n, c, h, w]) => a[n][c][h][w]), eps) }]));
}

// The mean as torch takes it in a layout, and the torch layer, with the way to it if the channels stand elsewhere.
function recipe(norm, layout, [C, H, W], groups) {
  const over = NORMS[norm][1], axes = [...layout], at = axes.indexOf("C"), flat = layout === "NTC";
  const within = axes.flatMap((axis, k) => (over.includes("NC".includes(axis) ? axis : "P") ? [k] : []));
  const tuple = (items) => `(${items.join(", ")}${items.length === 1 ? "," : ""})`;
  const split = within.concat(at).sort().map((k) => k + (k >= at));
  const mean = norm === "group" ? `a.unflatten(${at}, (${groups}, ${C / groups})).mean(${tuple(split)})`
    : `a.mean(${tuple(within)})`;
  const layer = {
    batch: `BatchNorm${flat ? 1 : 2}d(${C})`,
    layer: `GroupNorm(1, ${C})`,
    instance: `InstanceNorm${flat ? 1 : 2}d(${C}, affine=True)`,
    group: `GroupNorm(${groups}, ${C})`,
    channels: `LayerNorm(${C})`,
  }[norm];
  const to = norm === "channels" ? { NCHW: "a.permute(0, 2, 3, 1)" }
    : { NHWC: "a.permute(0, 3, 1, 2)", NTC: "a.transpose(1, 2)" };
  const trailing = { NCHW: [C, H, W], NHWC: [H, W, C], NTC: [H * W, C] }[layout];
  return { mean, layer, way: to[layout] || "a", trailing: `LayerNorm([${trailing.join(", ")}])` };
}

// Where a position is, in the words of a layout.
const position = ([, , h, w], layout, W) => layout === "NTC" ? `step ${h * W + w + 1}` : `row ${h + 1}, column ${w + 1}`;

// The set of a cell in words.
function whose(norm, cell, { C, W, perGroup, size, layout }) {
  const [n, c] = cell, first = Math.floor(c / perGroup) * perGroup + 1, last = first + perGroup - 1;
  const group = perGroup === 1 ? `Channel ${first}` : `Channels ${first} ${perGroup === 2 ? "and" : "to"} ${last}`;
  return {
    batch: `Channel ${c + 1} of ${size === 1 ? "the only case" : `all ${size} cases`}, at every position`,
    layer: `All of case ${n + 1}, every channel at every position`,
    instance: `Channel ${c + 1} of case ${n + 1}, at every position`,
    group: `${group} of case ${n + 1}, at every position`,
    channels: `All ${C} channels of case ${n + 1} at ${position(cell, layout, W)}`,
  }[norm];
}

// The state in words: a headline, the set and its numbers, and how torch says it.
function explain(given, { norm, layout, size, cell }, sets) {
  const { a, groups } = given, C = a[0].length, H = a[0][0].length, W = a[0][0][0].length, perGroup = C / groups;
  const { cells, mean, std, out } = sets[setOf(norm, cell, perGroup)], [n, c, h, w] = cell;
  const own = out[cells.findIndex((other) => other.join() === cell.join())];
  const { mean: code, layer, way, trailing } = recipe(norm, layout, [C, H, W], groups), count = Object.keys(sets).length;
  const alone = norm === "batch" && size === 1 ? " With one case, that is instance norm." : "";
  return [
    `${NORMS[norm][0].replace("H, W", layout === "NTC" ? "T" : "H, W")}: ${cells.length} numbers share a mean.`,
    `${whose(norm, cell, { C, W, perGroup, size, layout })}: mean ${show(mean, 2)}, std ${show(std, 2)}. ` +
      `The selected ${show(a[n][c][h][w], 1)} becomes ${show(own, 2)}.${alone}`,
    `${layout}: ${code} gives ${count} mean${count === 1 ? "" : "s"}. Layer: ${layer}(${way}), with ${C} gains and ` +
      `${C} biases, one a channel.` + (norm === "layer" ? ` ${trailing} has the same means, but ${C * H * W} of each.` : ""),
  ];
}

// The tensor as a cube, pulled apart into its cases: channels to the right, positions down.
function cube(given, size) {
  const { a } = given, C = a[0].length, P = a[0][0].flat().length, W = a[0][0][0].length, wide = C * 11 + 20;
  const faces = cellsOf(a, size).map((cell) => {
    const [n, c, h, w] = cell, x = n * wide + c * 11 + 3, y = c * 5 + (h * W + w) * 13 + 3;
    return { cell, node: svg("path", { d: `M${x} ${y}l11 5v13l-11 -5z` }) };
  });
  const names = a.slice(0, size).map((_, n) =>
    svg("text", { x: n * wide + C * 5.5 + 3, y: C * 5 + P * 13 + 17 }, `case ${n + 1}`));
  const box = `0 0 ${a.length * wide - 12} ${C * 5 + P * 13 + 22}`;
  const node = svg("svg", { viewBox: box, class: "cube", "aria-hidden": "true" }, ...faces.map(({ node }) => node), ...names);
  return { faces, node };
}

// The numbers in the order in which memory holds them: a table a case, rows and columns as the layout nests its axes.
function grid(given, layout, size) {
  const { a } = given, W = a[0][0][0].length, length = { C: a[0].length, H: a[0][0].length, W, T: a[0][0].flat().length };
  const [down, along] = LAYOUTS[layout], rows = [];
  const places = (axes) => [...axes].reduce((all, axis) =>
    all.flatMap((place) => Array.from({ length: length[axis] }, (_, k) => ({ ...place, [axis]: k }))), [{}]);
  const name = (place) => Object.entries(place).map(([axis, k]) => `${axis.toLowerCase()}${k + 1}`).join(" ");
  const heads = places(along).map((place) => el("span", { role: "columnheader" }, name(place)));
  const nodes = [el("div", { role: "row" }, el("span", { role: "columnheader" }, "n"), ...heads)];
  const inner = length[along.at(-1)];
  for (let n = 0; n < size; n++) for (const row of places(down)) {
    const cells = places(along).map((column, k) => {
      const { C, H, W: across, T } = { ...row, ...column };
      const cell = T === undefined ? [n, C, H, across] : [n, C, Math.floor(T / W), T % W];
      const where = `case ${n + 1}, channel ${C + 1}, ${position(cell, layout, W)}`;
      return { cell, where, node: el("span", { role: "gridcell", class: along.length > 1 && k && k % inner === 0 ? "gap" : "" }) };
    });
    rows.push(cells);
    const first = !Object.values(row)[0];
    nodes.push(el("div", { role: "row", class: first && n ? "case" : "" },
      el("span", { role: "rowheader" }, `${n + 1} ${name(row)}`), ...cells.map(({ node }) => node)));
  }
  const node = el("div", { role: "grid", class: "matrix", style: `--K:${heads.length}`,
    "aria-label": `The tensor in the order ${[...layout].join(", ")}. Arrow keys select a cell.` }, ...nodes);
  return { rows, node };
}

// Build the figure under `root` for { a, groups, eps }; every change of the state goes through `act`.
function fiveReductions(root, given) {
  const N = given.a.length, limit = Math.max(...given.a.flat(3).map(Math.abs)) || 1;
  const state = { norm: "instance", layout: "NCHW", size: N, cell: [0, 1, 0, 0], normalized: false };
  const radio = (name, value, text) => {
    const node = input("radio", { name }, () => act({ [name]: value }));
    node.checked = value === state[name];
    return el("label", { class: value }, node, text);
  };
  const batch = slider("Batch size:", { min: 1, max: N, value: N }, (size) => {
    const [n, ...rest] = state.cell;
    act({ size, cell: [Math.min(n, size - 1), ...rest] });
  });
  const shown = input("checkbox", {}, (node) => act({ normalized: node.checked }));
  const live = el("p", { role: "status" }), board = el("div", { class: "panels" });
  let picture, table;
  const figure = el("section", { class: "figure", "aria-label": "Five reductions" },
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Normalize with"),
        ...Object.entries(NORMS).map(([value, [text]]) => radio("norm", value, text))),
      el("fieldset", {}, el("legend", {}, "Layout"), ...Object.keys(LAYOUTS).map((value) => radio("layout", value, value))),
      batch.whole,
      el("fieldset", {}, el("legend", {}, "Numbers"), el("label", {}, shown, "show them normalized"))),
    live, board, el("div", { class: "fallback" }, el("slot")));
  root.append(figure);

  function build() {
    picture = cube(given, state.size);
    table = grid(given, state.layout, state.size);
    board.replaceChildren(el("div", { class: "side" }, picture.node, el("p", {}, "A sheet for each case: channels to the right, positions down.")), table.node);
    table.rows.forEach((cells, i) => cells.forEach(({ cell, node }, j) => {
      node.addEventListener("click", () => select(cell));
      node.addEventListener("keydown", (event) => {
        const [di, dj] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [];
        if (di === undefined) return;
        event.preventDefault();
        select(table.rows[clamp(i + di, 0, table.rows.length - 1)][clamp(j + dj, 0, cells.length - 1)].cell);
      });
    }));
  }

  function select(cell) {
    act({ cell });
    board.querySelector('[aria-selected="true"]').focus();
  }

  function act(change) {
    const anew = "layout" in change || "size" in change || !table;
    Object.assign(state, change);
    if (anew) build();
    const { norm, size, cell, normalized } = state, perGroup = given.a[0].length / given.groups;
    const sets = reduce(given, norm, size), own = setOf(norm, cell, perGroup), key = String(cell);
    const outputs = new Map(Object.values(sets).flatMap(({ cells, out }) => cells.map((one, k) => [String(one), out[k]])));
    figure.dataset.norm = norm;
    batch.value.textContent = size === 1 ? "1 case" : `${size} cases`;
    for (const { cell: one, node } of picture.faces)
      node.setAttribute("class", String(one) === key ? "own" : setOf(norm, one, perGroup) === own ? "in" : "");
    for (const { cell: one, where, node } of table.rows.flat()) {
      const [n, c, h, w] = one, value = normalized ? outputs.get(String(one)) : given.a[n][c][h][w];
      const inside = setOf(norm, one, perGroup) === own, chosen = String(one) === key;
      node.textContent = show(value, 1);
      node.classList.toggle("in", inside);
      node.tabIndex = chosen ? 0 : -1;
      node.setAttribute("aria-selected", chosen);
      node.setAttribute("aria-label", `${where}: ${show(value, 1)}${inside ? ", in the set" : ""}`);
    }
    const [headline, detail, code] = explain(given, state, sets);
    live.replaceChildren(el("strong", {}, headline), ` ${detail} `, el("span", {}, code));
  }
  act({});
}
