// Residual networks at initialization: which gradient a block gets, by where layer norm stands and by depth.

const PLACEMENTS = { pre: "pre-LN", post: "post-LN", none: "no norm" };
const DEPTHS = [1, 2, 4, 8, 16, 32, 64];
const MOST = DEPTHS.at(-1), CASES = 4, NETWORKS = 3; // networks: the curves are geometric means over them
const FLOOR = -2, ROOF = 1; // of the plots, powers of ten

// Uniform numbers in (0, 1) from a whole number (mulberry32), and standard normal ones (Box-Muller).
function uniform(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}
function normal(next) {
  return (rows, columns, scale) => Array.from({ length: rows }, () => Float64Array.from({ length: columns }, () =>
    scale * Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next())));
}

// Layer norm of one case without an epsilon, and the gradient of its inputs for one of its outputs.
function layerNorm(a) {
  const H = a.length, out = new Float64Array(H);
  let sum = 0;
  for (let i = 0; i < H; i++) sum += a[i];
  for (let i = 0; i < H; i++) out[i] = a[i] - sum / H;
  const std = rms(out);
  for (let i = 0; i < H; i++) out[i] /= std;
  return { out, std };
}
function layerNormBack({ out, std }, g) {
  const H = g.length, along = dot(out, g) / H;
  let sum = 0;
  for (let i = 0; i < H; i++) sum += g[i];
  return g.map((value, i) => (value - sum / H - along * out[i]) / std);
}

// W v where `on`, and W' v; half of the hidden units are off.
const times = (W, v, on) => Float64Array.from(W, (row, i) => (on[i] > 0 ? dot(row, v) : 0));
function combine(W, v) {
  const out = new Float64Array(W[0].length);
  for (let i = 0; i < v.length; i++) {
    const row = W[i], factor = v[i];
    if (factor) for (let j = 0; j < out.length; j++) out[j] += row[j] * factor;
  }
  return out;
}
const add = (u, v, factor) => u.map((value, i) => value + factor * v[i]);

// Weights of `depth` blocks x + W2 relu(W1 x), layer-normalized cases, and the loss's r, of length 1 for each case.
// W2 has a row for each hidden unit, is drawn for blocks that add variance 1, and is scaled where it is used.
function network(seed, width, depth = MOST) {
  const draw = normal(uniform(seed)), hidden = 4 * width;
  const x = draw(CASES, width, 1).map((row) => layerNorm(row).out);
  const r = draw(CASES, width, 1).map((row) => row.map((value) => value / Math.sqrt(dot(row, row))));
  const blocks = Array.from({ length: depth }, () =>
    [draw(hidden, width, Math.sqrt(2 / width)), draw(hidden, width, Math.sqrt(1 / hidden))]);
  return { x, r, blocks };
}

// One case forward: of every block the stream after it, the hidden units, and the layer norm in it.
function forward(blocks, x, placement, root) {
  return blocks.map(([W1, W2]) => {
    const before = placement === "pre" ? layerNorm(x) : null;
    const h = Float64Array.from(W1, (row) => Math.max(dot(row, before ? before.out : x), 0));
    const sum = add(x, combine(W2, h), root), after = placement === "post" ? layerNorm(sum) : null;
    x = after ? after.out : sum;
    return { x, h, norm: before || after };
  });
}

// Back from r at depth L: the gradients of what the blocks add, the last block first.
function backward(blocks, run, r, placement, root, L) {
  let g = r.map((value) => value / CASES);
  if (placement === "pre") g = layerNormBack(layerNorm(run[L - 1].x), g);
  const outputs = [];
  for (let l = L; l > 0; l--) {
    const { h, norm } = run[l - 1], [W1, W2] = blocks[l - 1];
    if (placement === "post") g = layerNormBack(norm, g);
    outputs.push(g);
    if (l === 1) break;
    const branch = combine(W1, times(W2, g, h));
    g = add(g, placement === "pre" ? layerNormBack(norm, branch) : branch, root);
  }
  return outputs;
}

// The gradient of every block's W2 in a network of each depth, the first block first. The sum over cases of d h'
// has the squared norm of all pairs' (d d)(h h). The unit is the root of 4H/N: what the only block of a network
// without a norm would get, had it infinitely many units.
function gradients({ x, r, blocks }, placement, c, depths) {
  const root = Math.sqrt(c), unit = Math.sqrt(blocks[0][0].length / CASES);
  const runs = x.map((row) => forward(blocks, row, placement, root));
  return depths.map((L) => {
    const d = runs.map((run, n) => backward(blocks, run, r[n], placement, root, L));
    return d[0].map((_, k) => {
      let power = 0;
      for (let n = 0; n < CASES; n++) for (let m = 0; m < CASES; m++)
        power += dot(d[n][k], d[m][k]) * dot(runs[n][L - 1 - k].h, runs[m][L - 1 - k].h);
      return Math.sqrt(power) / unit;
    }).reverse();
  });
}

// What the gradient of block l tends to for many units; a block multiplies the mean square of the stream and of
// its gradient by 1 + c, or adds c to it where a layer norm stands before it.
const limit = (placement, c, L, l) =>
  ({ pre: (1 + c * l) ** -0.5, post: (1 + c) ** -0.5, none: (1 + c) ** ((L - 1) / 2) })[placement];

// The power of a power law, by least squares in logarithms.
function power(depths, values) {
  const [x, y] = [depths, values].map((v) => v.map(Math.log)), middle = x.reduce((sum, v) => sum + v, 0) / x.length;
  const d = x.map((value) => value - middle);
  return dot(d, y) / dot(d, d);
}

const geometric = (values) => Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);
const size = (value) => show(value, value < 0.0995 ? 3 : 2);
const pick = (profile, block) => (block === "last" ? profile.at(-1) : profile[0]);

// The figure's whole arithmetic: of each placement the gradients of all blocks, at every depth.
function measure(networks, c) {
  return Object.fromEntries(Object.keys(PLACEMENTS).map((placement) => {
    const found = networks.map((one) => gradients(one, placement, c, DEPTHS));
    return [placement, DEPTHS.map((L, k) => Array.from({ length: L }, (_, l) => geometric(found.map((run) => run[k][l]))))];
  }));
}

// The state in words: a headline, powers of the depth, and why.
function explain({ block, depth, c }, profiles) {
  const L = DEPTHS[depth], from = Math.max(0, depth - 4), depths = DEPTHS.slice(from, depth + 1);
  const at = (placement, k) => pick(profiles[placement][k], block);
  const values = Object.entries(PLACEMENTS).map(([placement, name]) => `${name} ${size(at(placement, depth))}`);
  const slope = (placement) => {
    const exact = power(depths, depths.map((L) => limit(placement, c, L, block === "last" ? L : 1)));
    return `${show(power(depths, depths.map((_, k) => at(placement, from + k))), 2)} (limit ${show(exact, 2)})`;
  };
  const numbers = depth < 2 ? "Add blocks to see a law." : `From depth ${depths[0]} to ${L}, pre-LN's goes with the ` +
    `power ${slope("pre")} of the depth, post-LN's with ${slope("post")}. Without a norm every block multiplies it by ` +
    `${show((at("none", depth) / at("none", 0)) ** (1 / (L - 1)), 2)} (√(1 + c) = ${show(Math.sqrt(1 + c), 2)}).`;
  const why = block === "last"
    ? "Pre-LN leaves the stream alone. Its mean square grows to 1 + cL, and the norm at the end divides the gradient by " +
      "the root of that: L^−½ in the end. Post-LN divides it once, by √(1 + c), at any depth."
    : "A pre-LN block l gets (1 + cl)^−½ in the limit: it feels the blocks before it, not those after it. The first " +
      "one does not feel the depth. Post-LN's limit is the same for all; few units and a large c make it fade on the way.";
  return [`Depth ${L}, ${block} block: ${values.join(", ")}.`, numbers, why];
}

// One plot, powers of ten upward: a line a placement, a dotted one for its limit, and a rule where the reader is.
function plot(across) {
  const up = (value) => (100 * (ROOF - Math.log10(value))) / (ROOF - FLOOR);
  const names = Object.keys(PLACEMENTS), here = line("", "here");
  const [limits, lines] = ["limit", ""].map((kind) => names.map((name) => line("", `${name} ${kind}`)));
  const ticks = [0.01, 0.1, 1, 10].map((value) => [100 - up(value), String(value)]);
  const { area, bottom, below } = axes(ticks, across, "", here, ...limits, ...lines);
  function draw(label, x, values, exact, at) {
    const path = (points) => through(points.map((value, k) => [x[k], clamp(up(value), -50, 150)]));
    names.forEach((name, k) => {
      lines[k].setAttribute("d", path(values[name]));
      limits[k].setAttribute("d", path(exact[name]));
    });
    here.setAttribute("d", `M${at} 0V100`);
    const words = names.map((name) => `${PLACEMENTS[name]} from ${size(values[name][0])} to ${size(values[name].at(-1))}`);
    area.setAttribute("aria-label", `${label}: ${words.join(", ")}`);
  }
  return { node: el("div", {}, area, bottom), below, draw };
}

// Build the figure under `root`; every change of the state goes through `act`.
function residualDepth(root, { seed, width }) {
  const state = {}, live = speaker(), radios = [];
  let networks, profiles;
  const choose = (key, options, legend) => el("fieldset", {}, el("legend", {}, legend), ...options.map((value) => {
    const node = input("radio", { name: key }, () => act({ [key]: value }));
    radios.push([node, key, value]);
    return el("label", {}, node, String(value));
  }));
  const sliders = {
    depth: slider("Depth L:", { min: 0, max: DEPTHS.length - 1, step: 1 }, (depth) => act({ depth })),
    c: slider("Variance of F, c:", { min: -4, max: 2, step: 1 }, (power) => act({ c: 2 ** power })),
  };
  const depthPlot = plot(DEPTHS.map((L, k) => [(100 * k) / (DEPTHS.length - 1), String(L)]));
  const blockPlot = plot([[0, "1"], [100, ""]]), titles = [el("span"), el("span")];
  const panel = (title, detail, { node }) => el("div", {}, el("p", { class: "title" }, title, detail), node);
  const key = [...Object.entries(PLACEMENTS), ["post limit", "dotted: infinitely many units"]].map(([kind, text]) =>
    el("span", {}, svg("svg", { viewBox: "0 0 30 6", "aria-hidden": "true" }, line("M0 3H30", kind)), text));
  root.append(el("section", { class: "figure", "aria-label": "Residual depth" },
    el("p", { class: "key" }, "A block is F(u) = W₂ relu(W₁u). Pre-LN: x + F(LN(x)), and LN at the end. Post-LN: LN(x + F(x)). " +
      "No norm: x + F(x). A gradient of 1 is that of a single wide block without a norm."),
    el("div", { class: "controls" }, choose("block", ["last", "first"], "Gradient of W₂ of the block"),
      choose("width", [8, 16, 32], "Units"), ...Object.values(sliders).map(({ whole }) => whole),
      button("Draw again", () => act({ draw: state.draw + 1 }))),
    live.node,
    el("div", { class: "panels" }, panel("Against the depth L", titles[0], depthPlot),
      panel("Along the blocks l = 1 … L", titles[1], blockPlot)),
    el("p", { class: "key" }, ...key),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    const { block, depth, c, width, draw } = state, L = DEPTHS[depth], names = Object.keys(PLACEMENTS);
    if ("width" in change || "draw" in change)
      networks = Array.from({ length: NETWORKS }, (_, k) => network(1000 * seed + NETWORKS * draw + k, width));
    if ("width" in change || "draw" in change || "c" in change) profiles = measure(networks, c);
    for (const [node, key, value] of radios) node.checked = value === state[key];
    sliders.depth.node.value = depth;
    sliders.depth.node.setAttribute("aria-valuetext", (sliders.depth.value.textContent = L));
    sliders.c.node.value = Math.log2(c);
    sliders.c.node.setAttribute("aria-valuetext", (sliders.c.value.textContent = c < 1 ? `1/${1 / c}` : c));
    const each = (run) => Object.fromEntries(names.map((name) => [name, run(name)]));
    const blocks = Array.from({ length: L }, (_, l) => l + 1), place = (l) => (L > 1 ? (100 * (l - 1)) / (L - 1) : 50);
    titles[0].textContent = `${block} block`;
    titles[1].textContent = `in a network of depth ${L}`;
    depthPlot.draw(`Gradient of the ${block} block, depth 1 to 64`, DEPTHS.map((_, k) => (100 * k) / (DEPTHS.length - 1)),
      each((name) => profiles[name].map((profile) => pick(profile, block))),
      each((name) => DEPTHS.map((L) => limit(name, c, L, block === "last" ? L : 1))), (100 * depth) / (DEPTHS.length - 1));
    blockPlot.draw(`Gradient of block 1 to ${L}`, blocks.map(place), each((name) => profiles[name][depth]),
      each((name) => blocks.map((l) => limit(name, c, L, l))), place(block === "last" ? L : 1));
    blockPlot.below[1].textContent = L > 1 ? L : "";
    live.say(...explain(state, profiles));
  }
  act({ block: "last", depth: 6, c: 1, width, draw: 0 });
}
