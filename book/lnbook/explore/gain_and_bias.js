// Gain and bias: one case through layer norm, and what the parameters of the units give back.

// The figure's whole arithmetic: the case as the reader changed it, standardized, and with gains and biases.
function pass(given, { delta, shift, gains, biases }) {
  const a = given.map((value) => delta * value + shift), { mean, std, out: hat } = standardize(a, 0);
  return { a, mean, std, hat, out: hat.map((value, i) => gains[i] * value + biases[i]) };
}

const every = (values, wanted) => values.every((value) => value === wanted);

// The state in words.
function explain({ delta, shift, gains, biases }, { a, mean, std, out }) {
  const near = 1e-9 * Math.max(...a.map(Math.abs)), back = out.every((value, i) => Math.abs(value - a[i]) <= near);
  const changed = delta !== 1 || shift !== 0, after = standardize(out, 0);
  const headline = back ? "Gain and bias give this case back."
    : every(gains, 0) ? "With gain 0, nothing of the case is left: the output is the bias."
    : changed ? "The case changed, and the output did not."
    : every(gains, 1) && every(biases, 0) ? "With gain 1 and bias 0, the standardized case goes on as it is."
    : "Gain and bias reshape the standardized case.";
  const numbers = `The case has mean ${show(mean, 2)} and std ${show(std, 2)}, the output mean ${show(after.mean, 2)} ` +
    `and std ${show(after.std, 2)}.`;
  const does = [delta !== 1 && `times ${show(delta, 1)}`, shift && `${shift < 0 ? "minus" : "plus"} ${show(Math.abs(shift), 1)}`];
  const remark = changed ? `The case ${does.filter(Boolean).join(", ")} standardizes to the same numbers, so that no gain and no bias ` +
    "can tell it from the old one: its scale and its mean are lost."
    : back ? "Every gain is the std of this case and every bias its mean. Now change the case: they will not follow."
    : "A unit keeps its gain and its bias for all cases. The std and the mean that were taken out belong to this one.";
  return [headline, numbers, remark];
}

// Build the figure under `root`; every change of the state goes through `act`.
function gainAndBias(root, { a: given }) {
  const H = given.length, all = (value) => Array(H).fill(value), live = speaker();
  const fresh = { delta: 1, shift: 0 }, state = { ...fresh, gains: all(1), biases: all(0) };
  const peak = Math.max(...given.map(Math.abs)) || 1, { mean, std } = standardize(given, 0);
  const step = 10 ** (Math.floor(Math.log10(peak / 5)) - 1), digit = step < 1 ? -Math.round(Math.log10(step)) : 1;
  const reach = (value) => Math.ceil(1.5 * value / step) * step;
  const most = { gains: Math.max(3, reach(std)), biases: Math.max(3, reach(peak)) };
  const back = { gains: all(std), biases: all(mean) };
  const presets = {
    "Gain 1, bias 0": { ...fresh, gains: all(1), biases: all(0) },
    "Give the case back": { ...fresh, ...back },
    "Then twice as loud": { ...back, delta: 2, shift: 0 },
    "Gain 0, bias 1": { ...fresh, gains: all(0), biases: all(1) },
  };
  const one = { gains: "gain", biases: "bias" };
  const range = (name) => ({ min: -most[name], max: most[name], step });
  const shared = {
    delta: slider("Case times δ:", { min: 0.2, max: 3, step: 0.1 }, (delta) => act({ delta })),
    shift: slider("Case plus c:", { min: -reach(peak), max: reach(peak), step }, (shift) => act({ shift })),
    gains: slider("All gains:", range("gains"), (value) => act({ gains: all(value) })),
    biases: slider("All biases:", range("biases"), (value) => act({ biases: all(value) })),
  };
  const own = given.map((_, i) => Object.fromEntries(Object.keys(one).map((name) =>
    [name, slider(`${one[name]}:`, range(name), (value) => act({ [name]: state[name].with(i, value) }))])));
  const rows = [
    ["none", "Summed inputs a", "a"],
    ["hat", "Standardized: (a − mean) / std", "hat"],
    ["layer", "Output: gain × standardized + bias", "out"],
  ].map(([kind, name, key]) => {
    const row = bars(H), stats = el("span");
    const node = el("div", { class: kind }, el("p", { class: "title" }, name, " ", stats), row.node);
    return { name, key, row, stats, node };
  });
  root.append(el("section", { class: "figure", "aria-label": "Gain and bias" },
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Try"),
        ...Object.entries(presets).map(([text, change]) => button(text, () => act(change)))),
      ...Object.values(shared).map(({ whole }) => whole)),
    live.node,
    ...rows.map(({ node }) => node),
    el("div", { class: "own controls" }, ...own.map((sliders, i) => el("div", { role: "group", "aria-label": `Unit ${i + 1}` },
      el("b", {}, `unit ${i + 1}`), ...Object.values(sliders).map(({ whole }) => whole)))),
    el("p", { class: "key" }, "First and last row: the same scale. Dashed in the last: the case that went in."),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    const now = pass(given, state);
    rows.forEach(({ name, key, row, stats }) => {
      const values = now[key], moments = standardize(values, 0);
      row.draw(name, values, key === "hat" ? Math.sqrt(Math.max(1, H - 1)) : 1.6 * peak, key === "out" ? now.a : values);
      stats.textContent = `mean ${show(moments.mean, 2)}, std ${show(moments.std, 2)}`;
    });
    for (const [name, { node, value }] of Object.entries(shared)) {
      const values = [state[name]].flat(), same = every(values, values[0]);
      node.value = same ? values[0] : values.reduce((sum, one) => sum + one / H, 0);
      value.textContent = same ? show(values[0], digit) : "differ";
      node.setAttribute("aria-valuetext", value.textContent);
    }
    own.forEach((sliders, i) => Object.entries(sliders).forEach(([name, { node, value }]) => {
      node.value = state[name][i];
      value.textContent = show(state[name][i], digit);
    }));
    live.say(...explain(state, now));
  }
  act({});
}
