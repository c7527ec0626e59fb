// The KL ball around a weight vector and the Fisher ellipse that stands for it, as the weights grow.

// How the models are called, and how their metric across w is drawn. "row" and "layer" have several units:
// with "row" the first one's weights grow alone, with "layer" all of them do.
const MODELS = {
  none: "no norm", batch: "batch norm", weight: "weight norm", row: "layer norm, one row", layer: "layer norm, whole W",
};
// Outputs: variance, and divergence of the natural parameter `to` from `z`.
const plus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
const sigmoid = (z) => 1 / (1 + Math.exp(-z));
const FAMILIES = {
  gaussian: [() => 1, (z, to) => (to - z) ** 2 / 2],
  bernoulli: [(z) => sigmoid(z) * sigmoid(-z), (z, to) => plus(to) - plus(z) - sigmoid(z) * (to - z)],
};
const LENGTHS = [0.5, 3]; // of w, from and to
const PLANE = [-3.6, 3.6, -0.9, 3.6]; // of weights: left, right, bottom, top

const mean = (v) => v.reduce((sum, x) => sum + x, 0) / v.length;
const turned = (v, [re, im]) => [re * v[0] - im * v[1], re * v[1] + im * v[0]];
const polar = (length, angle) => [length * Math.cos(angle), length * Math.sin(angle)];

// The weights of all units where the first one's are w. Unit i has w, turned and stretched by units[i]. Only
// one row has left length 1 with "row": the others still follow `first`, the unit vector.
const weights = ({ units }, norm, first, w) =>
  norm === "row" ? [w, ...units.slice(1).map((unit) => turned(first, unit))]
    : norm === "layer" ? units.map((unit) => turned(w, unit)) : [w];

// Summed inputs, or what a direction of the weights does to them: (cases, units).
const summed = ({ X }, W) => X.map((x) => W.map((w) => dot(w, x)));

// Groups of numbers with one mean and one standard deviation: columns for batch norm, rows for layer norm.
const flip = (a) => a[0].map((_, j) => a.map((row) => row[j]));
const grouped = (norm, a, run) => (norm === "batch" ? flip(flip(a).map(run)) : a.map(run));

// Natural parameters of all cases and units.
function natural(given, norm, W) {
  const a = summed(given, W);
  if (norm === "none") return a;
  if (norm === "weight") return a.map(([value]) => [value / Math.hypot(...W[0])]);
  return grouped(norm, a, (group) => standardize(group, 0).out);
}

// Their derivative along a direction of the first unit's weights.
function derivative(given, norm, first, w, direction) {
  const W = weights(given, norm, first, w), a = summed(given, W);
  const moving = weights(given, norm, [0, 0], direction), da = summed(given, moving);
  if (norm === "none") return da;
  if (norm === "weight") {
    const length = Math.hypot(...w), stretch = dot(w, direction) / length;
    return da.map(([value], n) => [(value - (a[n][0] / length) * stretch) / length]);
  }
  const groups = norm === "batch" ? flip(a) : a;
  return grouped(norm, da, (change, k) => {
    const { out, std } = standardize(groups[k], 0), middle = mean(change);
    const along = mean(change.map((value, i) => value * out[i]));
    return change.map((value, i) => (value - middle - along * out[i]) / std);
  });
}

// The Fisher matrix of the plane at w, in the directions along w and across it: [along, mixed, across].
function metric(given, { norm, family }, first, w) {
  const [variance] = FAMILIES[family], z = natural(given, norm, weights(given, norm, first, w));
  const along = dot(w, w) ** -0.5, u = [along * w[0], along * w[1]];
  const [du, dv] = [u, [-u[1], u[0]]].map((direction) => derivative(given, norm, first, w, direction));
  const entry = (p, q) =>
    mean(z.map((row, n) => row.reduce((sum, value, i) => sum + variance(value) * p[n][i] * q[n][i], 0)));
  return [entry(du, du), entry(du, dv), entry(dv, dv)];
}

// How far the predictions are from those at w, in nats, as a function of other weights.
function divergence(given, { norm, family }, first, w) {
  const at = (v) => natural(given, norm, weights(given, norm, first, v));
  const [, apart] = FAMILIES[family], z = at(w);
  return (v) => mean(at(v).map((row, n) => row.reduce((sum, to, i) => sum + apart(z[n][i], to), 0)));
}

// The true ball as seen from w: on each of `count` rays, the first at which the divergence is `c`.
const FAR = 9, RAYS = 160;
function ball(given, setting, first, w) {
  const from = divergence(given, setting, first, w), start = Math.atan2(w[1], w[0]), { c } = setting;
  return Array.from({ length: RAYS }, (_, k) => {
    const [x, y] = polar(1, start + (2 * Math.PI * k) / RAYS), at = (r) => [w[0] + r * x, w[1] + r * y];
    let low = 0, high = 0.02;
    while (low < FAR && from(at(high)) <= c) [low, high] = [high, Math.min(FAR, 1.25 * high)];
    if (low === FAR) return [...at(FAR), false];
    for (let k = 0; k < 34; k++) {
      const r = (low + high) / 2;
      if (from(at(r)) <= c) low = r;
      else high = r;
    }
    return [...at(low), true];
  });
}

// The ellipse of Eq. (8), half the quadratic form equal to c; a strip where nothing is curved along w.
const isOpen = ([along, , across]) => along < 1e-12 * across;
function ellipse(form, c, w) {
  const length = Math.hypot(...w), u = [w[0] / length, w[1] / length];
  const place = (p, q) => [w[0] + p * u[0] - q * u[1], w[1] + p * u[1] + q * u[0]];
  const [along, mixed, across] = form;
  if (isOpen(form)) {
    const half = Math.sqrt((2 * c) / across);
    return [[-FAR, half], [FAR, half], [FAR, -half], [-FAR, -half]].map(([p, q]) => place(p, q));
  }
  const root = Math.sqrt(across - mixed ** 2 / along); // of the Cholesky factor
  return Array.from({ length: RAYS }, (_, k) => {
    const [p, q] = polar(Math.sqrt(2 * c), (2 * Math.PI * k) / RAYS), v = q / root;
    return place((p - (mixed / Math.sqrt(along)) * v) / Math.sqrt(along), v);
  });
}

// Why the metric does what it does.
function reason({ norm, family }, units) {
  if (norm === "none") return family === "gaussian"
    ? "The outputs are linear in w: the metric is the same everywhere, and the ellipse is the ball."
    : "Longer weights saturate the outputs, p(1 − p) falls, and the metric with it: in every direction, by no fixed power.";
  if (norm === "row") return `One row of ${units} grows, the others stay. It has only a share in each case's σ, so ` +
    "there is no law of the quarter; and its length counts: along w there is curvature.";
  return (norm === "layer" ? `All ${units} rows grow, σ with them. ` : "") + "Every length predicts the same, so the ball " +
    "is a wedge from 0 on. At twice the length it is twice as wide, and a metric goes with 1/width²: a quarter.";
}

// The state in words: a headline, the metric as numbers, and why.
function explain(state, form, unit, units) {
  const { norm, length } = state, still = length === 1, open = isOpen(form);
  const name = MODELS[norm][0].toUpperCase() + MODELS[norm].slice(1), times = (k) => `×${show(form[k] / unit[k], 2)}`;
  const change = still ? "drag the length" : `the metric is ${times(2)} across w, ${open ? 0 : times(0)} along it`;
  const part = (k) => (still ? "" : `${show(unit[k], 3)} at |w| = 1 and here `) + show(form[k], 3);
  const numbers = `Across w it is ${part(2)}. Along w it is ${open ? "0: the Fisher ellipse is open, a strip" : part(0)}.`;
  return [`${name}, |w| = ${length}: ${change}.`, numbers, reason(state, units)];
}

// Where a point lies in a frame from (left, low) to (right, high), in percent from its upper left corner.
const within = ([left, right, low, high], [x, y]) =>
  [(100 * (x - left)) / (right - left), (100 * (high - y)) / (high - low)];
const put = (node, [x, y]) => (node.style = `left:${x}%;top:${y}%`);

// The plane of weights: where w may go, the ball, the ellipse, and the ellipse at length 1.
function plane(pick) {
  const at = (point) => within(PLANE, point), tick = (value) => show(value, 0);
  const lines = ["ball", "first", "now"].map((kind) => line("", kind)), w = el("i"), origin = el("i", { class: "origin" });
  const { area, bottom } = axes([0, 1, 2, 3].map((y) => [100 - at([0, y])[1], tick(y)]),
    [-3, -2, -1, 0, 1, 2, 3].map((x) => [at([x, 0])[0], tick(x)]), "", ...lines);
  area.append(origin, w);
  put(origin, at([0, 0]));
  area.addEventListener("click", ({ clientX, clientY }) => {
    const { x, y, width, height } = area.getBoundingClientRect(), [left, right, low, high] = PLANE;
    pick(left + ((clientX - x) / width) * (right - left), high - ((clientY - y) / height) * (high - low));
  });
  function draw(v, ...rims) {
    rims.forEach((rim, k) => lines[k].setAttribute("d", `${through(rim.map(at))}Z`));
    put(w, at(v));
    const reach = (k) => {
      const [x, y, ends] = rims[0][(RAYS / 4) * k];
      return ends ? show(Math.hypot(x - v[0], y - v[1]), 2) : "without end";
    };
    area.setAttribute("aria-label", `Plane of weights, w at ${v.map((value) => show(value, 2)).join(", ")}. From w the ball ` +
      `reaches outward ${reach(0)}, inward ${reach(2)}, to the sides ${reach(1)} and ${reach(3)}.`);
  }
  return { node: el("div", { class: "plane" }, area, bottom), draw };
}

// The metric across w against its length, over that at length 1, powers of two both ways: without a norm, for
// one row, and for all models that have the same line.
const RATIOS = { none: MODELS.none, row: MODELS.row, law: "the others, 1/|w|²" };
function fall() {
  const at = (point) => within([...LENGTHS.map(Math.log2), -3.6, 2.2], point.map(Math.log2));
  const lines = Object.keys(RATIOS).map((name) => line("", name)), w = el("i");
  const { area, bottom } = axes([[4, "4"], [2, "2"], [1, "1"], [0.5, "½"], [0.25, "¼"], [0.125, "⅛"]]
    .map(([y, text]) => [100 - at([1, y])[1], text]),
    [[0.5, "½"], [1, "1"], [2, "2"], [3, "3"]].map(([x, text]) => [at([x, 1])[0], text]), "", ...lines);
  area.append(w);
  function draw(curves, point) {
    curves.forEach((points, k) => lines[k].setAttribute("d", through(points.map(at))));
    put(w, at(point));
    area.setAttribute("aria-label", "Metric across w at length 3, over that at length 1: " +
      Object.values(RATIOS).map((name, k) => `${name} ${show(curves[k].at(-1)[1], 2)}`).join(", "));
  }
  return { node: el("div", {}, area, bottom), draw };
}

// Build the figure under `root`; every change of the state goes through `act`.
function fisherEllipse(root, given) {
  const state = {}, live = speaker(), radios = [];
  const choose = (key, names, legend) => el("fieldset", {}, el("legend", {}, legend),
    ...Object.entries(names).map(([value, text]) => {
      const node = input("radio", { name: key }, () => act({ [key]: value }));
      radios.push([node, key, value]);
      return el("label", { class: value }, node, text);
    }));
  const sliders = {
    length: slider("Length |w|:", { min: LENGTHS[0], max: LENGTHS[1], step: 0.05 }, (length) => act({ length })),
    degrees: slider("Direction, degrees:", { min: 0, max: 180, step: 5 }, (degrees) => act({ degrees })),
    c: slider("Divergence c, nats:", { min: 0.01, max: 0.1, step: 0.01 }, (c) => act({ c })),
  };
  const weightsPlot = plane((x, y) => act({
    length: clamp(Math.round(20 * Math.hypot(x, y)) / 20, ...LENGTHS),
    degrees: clamp(5 * Math.round(Math.atan2(y, x) * (36 / Math.PI)), 0, 180),
  }));
  const fallPlot = fall();
  const key = (d, names) => el("p", { class: "key" }, ...Object.entries(names).map(([kind, text]) =>
    el("span", {}, svg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, line(d, kind)), text)));
  const panel = (title, detail, { node }, legend) =>
    el("div", {}, el("p", { class: "title" }, title, el("span", {}, detail)), node, legend);
  const figure = el("section", { class: "figure", "aria-label": "The Fisher ellipse" },
    el("div", { class: "controls" }, choose("norm", MODELS, "Model"),
      choose("family", { gaussian: "Gaussian", bernoulli: "Bernoulli" }, "Outputs"),
      ...Object.values(sliders).map(({ whole }) => whole)),
    live.node,
    el("div", { class: "panels" },
      panel("Weights w₁, w₂", "tap to move w", weightsPlot,
        key("M1 2H29V10H1Z", { ball: "ball: KL ≤ c", now: "Fisher ellipse", first: "the same at |w| = 1" })),
      panel("Metric across w", "over that at |w| = 1, against |w|", fallPlot, key("M0 6H30", RATIOS))),
    el("div", { class: "fallback" }, el("slot")));
  root.append(figure);

  function act(change) {
    Object.assign(state, change);
    const { norm, length, degrees, c } = state, first = polar(1, (degrees * Math.PI) / 180);
    const long = (length) => first.map((part) => length * part), w = long(length);
    const at = (norm, v) => metric(given, { ...state, norm }, first, v), unit = at(norm, first), form = at(norm, w);
    const curves = ["none", "row", norm === "none" || norm === "row" ? "batch" : norm].map((norm) =>
      Array.from({ length: 26 }, (_, k) => 0.5 + 0.1 * k).map((r) => [r, at(norm, long(r))[2] / at(norm, first)[2]]));
    figure.dataset.norm = norm;
    for (const [node, key, value] of radios) node.checked = value === state[key];
    for (const [key, { node, value }] of Object.entries(sliders)) value.textContent = node.value = state[key];
    weightsPlot.draw(w, ball(given, state, first, w), ellipse(unit, c, first), ellipse(form, c, w));
    fallPlot.draw(curves, [length, form[2] / unit[2]]);
    live.say(...explain(state, form, unit, given.units.length));
  }
  act(given.start);
}
