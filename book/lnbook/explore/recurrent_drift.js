// Recurrent drift: a factor a step, and what becomes of states and gradients without layer norm and with it.

// Each f with its derivative.
const FUNCTIONS = {
  none: [(a) => a, () => 1],
  relu: [(a) => Math.max(a, 0), (a) => (a > 0 ? 1 : 0)],
  tanh: [Math.tanh, (a) => Math.cosh(a) ** -2],
};
const LANES = { plain: "plain", layer: "layer norm" };
const DECADES = 6; // of the plots, up and down


// A size as printed: two decimals, or two digits and a power of ten.
function size(value) {
  if (!value || (value >= 0.095 && value < 999.5)) return show(value, 2);
  return value.toExponential(1).replace("e+", "e").replace("-", "−");
}

// One recurrence, forward: what f gets (steps 1 to T), states (0 to T), standard deviations (1 to T).
function forward({ W, V, x, h }, { f, s, g, u, T }, normalized) {
  const states = [h], summed = [], stds = [], hats = [];
  for (let t = 0; t < T; t++) {
    const a = W.map((row, i) => s * dot(row, states[t]) + u * dot(V[i], x[t]));
    const { std, out } = standardize(a, 0);
    stds.push(std);
    hats.push(out);
    summed.push(normalized ? out.map((value) => g * value) : a);
    states.push(summed[t].map(FUNCTIONS[f][0]));
  }
  return { states, summed, stds, hats };
}

// The gradients of all units of the last state, sent back to every step; each by its root mean square. A step back
// multiplies by f', with layer norm takes out the mean and the part along the standardized inputs and multiplies
// by g / std, and then by s W.
function backward({ W }, { f, s, g, T }, normalized, { summed, stds, hats }) {
  const H = W.length, columns = W.map((_, j) => W.map((row) => row[j])), sizes = [1];
  let rows = W.map((_, i) => W.map((_, j) => (i === j ? 1 : 0)));
  for (let t = T - 1; t >= 0; t--) {
    const slope = summed[t].map(FUNCTIONS[f][1]), hat = hats[t], factor = normalized ? (s * g) / stds[t] : s;
    rows = rows.map((row) => {
      let back = row.map((value, i) => value * slope[i]);
      if (normalized) {
        const mean = back.reduce((sum, value) => sum + value, 0) / H, along = dot(back, hat) / H;
        back = back.map((value, i) => value - mean - along * hat[i]);
      }
      return columns.map((column) => factor * dot(column, back));
    });
    sizes.unshift(Math.sqrt(H) * rms(rows.map(rms)));
  }
  return sizes;
}

// The figure's whole arithmetic: of both lanes what is plotted, and the last standard deviation.
function drift(given, setting) {
  return Object.fromEntries(Object.keys(LANES).map((lane) => {
    const normalized = lane === "layer", run = forward(given, setting, normalized);
    return [lane, {
      summed: run.summed.map(rms),
      states: run.states.map(rms),
      gradients: backward(given, setting, normalized, run),
      std: run.stds.at(-1),
    }];
  }));
}

// The factor of an average step between the first step's states and the last one's, forward or back.
const perStep = (total, T) => total ** (1 / (T - 1));
const growth = ({ states }, T) => states[1] && states[T] / states[1];
const course = (total) => (total < 0.1 ? "fade" : total > 10 ? "explode" : "hold");

// The state in words: a headline, its numbers, and what layer norm does about the factor.
function explain({ f, s, u, T }, { plain, layer }) {
  const [a, b] = [plain, layer].map((lane) => course(growth(lane, T))), back = layer.gradients[1];
  const headline = a === b ? `Both kinds of states ${a}.` : `Plain states ${a}, layer-normalized states ${b}.`;
  const numbers = `At step ${T}: ${size(plain.states[T])} plain, ${size(layer.states[T])} with layer norm. A gradient of ` +
    `size 1 sent back from there reaches step 1 as ${size(plain.gradients[1])} plain, ${size(back)} with layer norm.`;
  const why = u ? `Layer norm divides by a σ to which s and u contribute, ${size(layer.std)} now: ` +
    `only their ratio s/u = ${size(s / u)} counts.`
    : `Layer norm divides by σ = ${size(layer.std)}, which has the factor s in it: s cancels. ` +
    (Math.max(...layer.gradients) < 1e12 ? "Drag s, and no blue line moves."
      : "Drag s, and the blue lines move by rounding alone, which grows as the gradient does.");
  const turn = course(back), hint = turn === "explode" ? f === "tanh" && " Try a smaller g." : u && " Try a larger s/u.";
  const but = turn === "hold" ? "" : ` Yet steady states do not make a steady gradient: layer norm's ${turn}s, ` +
    `×${size(perStep(back, T))} a step.${hint || ""}`;
  return [headline, numbers, why + but];
}

// One plot: powers of ten upward, steps to the right, a line a lane; `first` is the step that its numbers begin with.
function plot(name, first, ...formula) {
  const ticks = [1, 0.5, 0, -0.5, -1].map((at) => {
    const power = at * DECADES;
    return [50 + 50 * at, power ? `1e${power}`.replace("-", "−") : "1"];
  });
  const lines = Object.keys(LANES).map((lane) => line("", lane));
  const exits = Object.keys(LANES).map((lane) => el("i", { class: lane }));
  const { area, below: [, last], bottom } = axes(ticks, [[0, "0"], [100, ""]], "step t", ...lines);
  area.append(...exits);
  const node = el("div", {}, el("p", { class: "title" }, name, el("span", {}, ...formula)), area, bottom);
  return { name, first, area, lines, exits, last, node };
}

// Draw both lanes' numbers; a triangle marks where a line leaves the frame (the gradient runs from right to left).
function paint({ name, first, area, lines, exits, last }, lanes, T, backward) {
  const words = [];
  lanes.forEach(([lane, values], k) => {
    const levels = values.map((value) => clamp(Math.log10(value) / DECADES, -40, 40));
    const x = (i) => (100 * (i + first)) / T;
    lines[k].setAttribute("d", through(levels.map((level, i) => [x(i), 50 - 50 * level])));
    const out = (level) => Math.abs(level) > 1, exit = backward ? levels.findLastIndex(out) : levels.findIndex(out);
    exits[k].hidden = exit < 0;
    exits[k].style = `left:${x(exit)}%;${levels[exit] > 0 ? "top" : "bottom"}:1px`;
    exits[k].classList.toggle("down", levels[exit] < 0);
    words.push(`${LANES[lane]} from ${size(values[0])} at step ${first} to ${size(values.at(-1))} at step ${T}`);
  });
  last.textContent = T;
  area.setAttribute("aria-label", `${name}, powers of ten: ${words.join("; ")}`);
}

// The ends of all lines as numbers, a row a lane.
function endsTable() {
  const heads = ["f gets", "states", "a step", "gradient at step 1", "a step"];
  const cells = {}, caption = el("caption");
  const rows = Object.entries(LANES).map(([lane, name]) => {
    cells[lane] = heads.map(() => el("td"));
    const swatch = svg("svg", { viewBox: "0 0 42 6", "aria-hidden": "true" }, line("M0 3H42"));
    return el("tr", { class: lane }, el("th", { scope: "row" }, name, swatch), ...cells[lane]);
  });
  const top = el("tr", {}, el("td"), ...heads.map((text) => el("th", { scope: "col" }, text)));
  return { cells, caption, node: el("table", {}, caption, el("thead", {}, top), el("tbody", {}, ...rows)) };
}

// Build the figure under `root`; every change of the state goes through `act`.
function recurrentDrift(root, given) {
  const state = {}, sub = (text) => el("sub", {}, text);
  const radios = Object.keys(FUNCTIONS).map((f) => input("radio", { name: "f" }, () => act({ f })));
  const names = ["none", "ReLU", "tanh"];
  const sliders = {
    s: slider("Factor a step, s:", { min: 0.5, max: 2, step: 0.01 }, (s) => act({ s })),
    g: slider("Gain, g:", { min: 0.1, max: 4, step: 0.1 }, (g) => act({ g })),
    u: slider("Inputs, u:", { min: 0, max: 1, step: 0.05 }, (u) => act({ u })),
    T: slider("Steps, T:", { min: 10, max: 200, step: 10 }, (T) => act({ T })),
  };
  const plots = {
    summed: plot("What f gets", 1, "a, or (g/σ)(a − μ)"),
    states: plot("States", 0, "h", sub("t"), ", from the initial state on"),
    gradients: plot("Gradient", 0, "∂h", sub("T"), "/∂h", sub("t"), ", back from the last step"),
  };
  const table = endsTable(), live = speaker();
  root.append(el("section", { class: "figure", "aria-label": "Recurrent drift" },
    el("p", { class: "key" }, "a", sub("t"), " = s W h", sub("t−1"), " + u V x", sub("t"), ", where W changes no length. ",
      "Plain: h", sub("t"), " = f(a", sub("t"), "). Layer norm: h", sub("t"), " = f((g/σ", sub("t"), ")(a", sub("t"),
      " − μ", sub("t"), "))."),
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Try"),
        ...Object.entries(given.presets).map(([text, setting]) => button(text, () => act(setting)))),
      el("fieldset", {}, el("legend", {}, "Function f"),
        ...radios.map((node, k) => el("label", {}, node, names[k]))),
      ...Object.values(sliders).map(({ whole }) => whole)),
    live.node,
    el("div", { class: "panels" }, ...Object.values(plots).map(({ node }) => node)),
    table.node,
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    const { f, T } = state, results = drift(given, state);
    Object.keys(FUNCTIONS).forEach((key, k) => (radios[k].checked = key === f));
    for (const [key, { node, value }] of Object.entries(sliders)) {
      node.value = state[key];
      value.textContent = state[key];
    }
    for (const [key, part] of Object.entries(plots))
      paint(part, Object.entries(results).map(([lane, run]) => [lane, run[key]]), T, key === "gradients");
    for (const [lane, run] of Object.entries(results)) {
      const times = (total) => `×${size(perStep(total, T))}`, { summed, states, gradients } = run;
      [size(summed.at(-1)), size(states[T]), times(growth(run, T)), size(gradients[1]), times(gradients[1])]
        .forEach((text, k) => (table.cells[lane][k].textContent = text));
    }
    table.caption.textContent = `Root mean square over ${given.h.length} units at step ${T}, and the factor of an average step.`;
    live.say(...explain(state, results));
  }
  act(Object.values(given.presets)[0]);
}
