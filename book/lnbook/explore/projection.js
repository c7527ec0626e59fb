// The projection: of a gradient at a point of the circle, the part along the circle passes, divided by σ.

const PARTS = { circle: "along the circle", hat: "along â", one: "along 1" };
const LANES = { arrives: "Gradient that arrives", kept: "P of it", passed: "Divided by σ: what passes" };
const UP = Math.SQRT1_2, SIX = 1 / Math.sqrt(6), ONE = [1, 1, 1].map((value) => value / Math.sqrt(3));
const PLANE = [[UP, -UP, 0], [-SIX, -SIX, 2 * SIX]]; // across and up, perpendicular to 1
const RADIUS = Math.sqrt(3), MOST = 1.5, VIEW = 3.55; // longest part of a gradient; half of the picture

const plus = (...terms) => [0, 1, 2].map((i) => terms.reduce((sum, [factor, v]) => sum + factor * v[i], 0));

// The directions of a case at that angle on the circle, each of length 1.
function frame(turn) {
  const [c, s] = [Math.cos, Math.sin].map((of) => of((turn * Math.PI) / 180));
  return { circle: plus([-s, PLANE[0]], [c, PLANE[1]]), hat: plus([c, PLANE[0]], [s, PLANE[1]]), one: ONE };
}

// The figure's whole arithmetic, in units: the case, its output, the gradient, what P keeps, what passes.
function measure(state) {
  const axis = frame(state.turn), output = axis.hat.map((value) => RADIUS * value);
  const gradient = plus(...Object.keys(PARTS).map((part) => [state[part], axis[part]]));
  const mean = dot(gradient, [1, 1, 1]) / 3, along = dot(gradient, output) / 3; // I − 11ᵀ/H − ââᵀ/H
  const kept = gradient.map((value, i) => value - mean - along * output[i]);
  const passed = kept.map((value) => value / state.sigma);
  const parts = (v) => Object.keys(PARTS).map((part) => dot(v, axis[part]));
  return { a: output.map((value) => state.sigma * value), output, gradient, kept, passed,
    lanes: { arrives: parts(gradient), kept: parts(kept), passed: parts(passed) } };
}

// The parts of a gradient whose arrow ends at a point of the plane, in tenths.
function aim(turn, [x, y]) {
  const angle = (turn * Math.PI) / 180, round = (value) => clamp(Math.round(10 * value) / 10, -MOST, MOST);
  return { circle: round(y * Math.cos(angle) - x * Math.sin(angle)),
    hat: round(x * Math.cos(angle) + y * Math.sin(angle) - RADIUS) };
}

const length = (v) => Math.sqrt(dot(v, v));
const list = (v) => v.map((value) => show(value, 2)).join(", ");

// The state in words.
function explain({ sigma, circle, hat, one }, { gradient, passed }) {
  const lost = [hat && "â", one && "1"].filter(Boolean), places = lost.join(" and ");
  const lead = !length(gradient) ? "No gradient arrives: drag the arrow out."
    : circle === 0 ? `Nothing passes: the gradient is along ${places}.`
    : lost.length === 0 ? `All of it passes, divided by σ = ${show(sigma, 2)}.`
    : `Only the part along the circle passes. P deletes what is along ${places}.`;
  const size = sigma === 1 ? "At σ = 1 its length stays."
    : `σ = ${show(sigma, 2)} makes it ${sigma > 1 ? "shorter" : "longer"}: the ${sigma > 1 ? "larger" : "smaller"} the ` +
      `case, the ${sigma > 1 ? "smaller" : "larger"} its gradient.`;
  if (circle === 0)
    return [lead, "", !length(gradient) ? "" : "Moving the output that way would leave the circle, and no change of the summed inputs does that."];
  return [lead, `P leaves ${show(Math.abs(circle), 2)} of its length ${show(length(gradient), 2)}. ${size}`,
    `By unit (${list(gradient)}) arrives, and (${list(passed)}), which adds up to 0, passes.`];
}

// An arrow as a path: its shaft and two barbs.
function arrow([x, y], [u, v]) {
  const size = Math.hypot(u, v), barb = Math.min(0.22, size / 2);
  if (!size) return "";
  const [c, s] = [u / size, v / size], end = [x + u, y + v];
  const side = (k) => `M${end[0]} ${-end[1]}L${end[0] - barb * (c - k * s)} ${-(end[1] - barb * (s + k * c))}`;
  return `M${x} ${-y}L${end[0]} ${-end[1]}${side(0.6)}${side(-0.6)}`;
}

// The plane of the circle; its arrow can be dragged.
function plane(pick) {
  const lines = Object.fromEntries(["ray", "deleted", "kept", "gradient", "passed"].map((kind) => [kind, line("", kind)]));
  const dots = Object.fromEntries(["case", "output", "tip"].map((kind) => [kind, svg("circle", { class: kind, r: kind === "tip" ? 0.42 : 0.12 })]));
  const picture = svg("svg", { viewBox: `${-VIEW} ${-VIEW} ${2 * VIEW} ${2 * VIEW}`, "aria-hidden": "true" },
    svg("circle", { class: "outputs", r: RADIUS }), ...Object.values(lines), ...Object.values(dots));
  const node = el("div", { class: "plane", role: "img" }, picture);
  let dragged = false;
  const move = (event) => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    if (dragged) pick([(2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height].map((v) => VIEW * v));
  };
  picture.addEventListener("pointerdown", (event) => {
    dragged = true;
    picture.setPointerCapture(event.pointerId);
    move(event);
  });
  picture.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (dragged = false));
  function draw({ a, output, gradient, kept, passed }) {
    const flat = (v) => PLANE.map((axis) => dot(axis, v)), from = flat(output), g = flat(gradient), k = flat(kept);
    const at = { case: flat(a), output: from, tip: from.map((value, i) => value + g[i]) };
    for (const [kind, [x, y]] of Object.entries(at)) for (const [name, value] of [["cx", x], ["cy", -y]]) dots[kind].setAttribute(name, value);
    lines.ray.setAttribute("d", through([[0, 0], [at.case[0], -at.case[1]]]));
    lines.deleted.setAttribute("d", arrow(from, g.map((value, i) => value - k[i])));
    lines.kept.setAttribute("d", through([at.tip, from.map((value, i) => value + k[i])].map(([x, y]) => [x, -y])));
    lines.gradient.setAttribute("d", arrow(from, g));
    lines.passed.setAttribute("d", arrow(from, flat(passed)));
    node.setAttribute("aria-label", `The circle of outputs, seen along 1. The gradient's arrow has ${list(g)} across and up, ` +
      `what passes ${list(flat(passed))}.`);
  }
  return { node, draw };
}

// Build the figure under `root`; every change of the state goes through `act`.
function projection(root, given) {
  const state = {}, live = speaker();
  const sliders = Object.fromEntries(Object.entries(PARTS).map(([part, name]) =>
    [part, slider(`Gradient ${name}:`, { min: -MOST, max: MOST, step: 0.1 }, (value) => act({ [part]: value }))]));
  sliders.sigma = slider("σ of the case:", { min: 0.5, max: 2, step: 0.05 }, (sigma) => act({ sigma }));
  sliders.turn = slider("Place on the circle, degrees:", { min: 0, max: 360, step: 5 }, (turn) => act({ turn }));
  const none = { circle: 0, hat: 0, one: 0 };
  const presets = { "Along â": { ...none, hat: 1 }, "Along 1": { ...none, one: 1 },
    "Along the circle": { ...none, circle: 1 }, "All three": given, "Large case": { sigma: 2 }, "Small case": { sigma: 0.5 } };
  const view = plane((point) => act(aim(state.turn, point)));
  const lanes = Object.fromEntries(Object.keys(LANES).map((lane) => [lane, bars(3)]));
  const key = (kind, text) => el("span", {}, svg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, line("M1 6H29", kind)), text);
  root.append(el("section", { class: "figure", "aria-label": "The projection" },
    el("div", { class: "controls" }, el("fieldset", {}, el("legend", {}, "Drag the arrow or try"),
      ...Object.entries(presets).map(([text, change]) => button(text, () => act(change))))),
    live.node,
    el("div", { class: "panels" },
      el("div", {}, view.node, el("p", { class: "key" }, key("gradient", "gradient"), key("deleted", "deleted"),
        key("passed", "passes"), key("ray", "the case"))),
      el("div", { class: "controls" }, ...Object.values(sliders).map(({ whole }) => whole)),
      el("div", { class: "lanes" }, ...Object.entries(LANES).map(([lane, name]) =>
        el("div", { class: lane }, el("p", { class: "title" }, name), lanes[lane].node)),
        el("p", { class: "names", "aria-hidden": "true" }, ...Object.values(PARTS).map((name) => el("span", {}, name))))),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    const results = measure(state);
    for (const [name, { node, value }] of Object.entries(sliders)) {
      node.value = state[name];
      value.textContent = show(state[name], name === "turn" ? 0 : name === "sigma" ? 2 : 1);
    }
    for (const lane in LANES) lanes[lane].draw(`${LANES[lane]}, ${Object.values(PARTS).join(", ")}`, results.lanes[lane], 2, results.lanes.arrives);
    view.draw(results);
    live.say(...explain(state, results));
  }
  act(given);
}
