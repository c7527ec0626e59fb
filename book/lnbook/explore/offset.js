// The offset: what layer norm and RMSNorm do with a number that is added to every summed input.

const LANES = { none: "Summed inputs a", layer: "Layer norm of a", rms: "RMSNorm of a" };

// The weights with the offset in them: c γᵀ, where γᵀx = 1, is added to every row; centered, the mean row is taken off.
function weights({ W, x }, { c, centered }) {
  const step = c / dot(x, x);
  const shifted = W.map((w) => w.map((value, k) => value + step * x[k]));
  const mean = x.map((_, k) => shifted.reduce((sum, w) => sum + w[k] / W.length, 0));
  return centered ? shifted.map((w) => w.map((value, k) => value - mean[k])) : shifted;
}

// The figure's whole arithmetic: the summed inputs and both of their normalizations, without epsilon.
function outputs(given, state) {
  const a = weights(given, state).map((w) => dot(w, given.x)), size = rms(a);
  return { none: a, layer: standardize(a, 0).out, rms: a.map((value) => size && value / size) };
}

// The angle between two vectors in degrees, accurate also for small ones.
function angle(u, v) {
  const [p, q] = [u, v].map((w) => w.map((value) => value / Math.hypot(...w)));
  const along = (sign) => Math.hypot(...p.map((value, k) => value + sign * q[k]));
  return (360 / Math.PI) * Math.atan2(along(-1), along(1));
}

// Of every lane: mean, length, the angle to a and the angle to the same lane without an offset.
function measure(given, state) {
  const now = outputs(given, state), before = outputs(given, { ...state, c: 0 }), rows = {};
  for (const lane in LANES)
    rows[lane] = {
      mean: now[lane].reduce((sum, value) => sum + value, 0) / now[lane].length,
      length: Math.hypot(...now[lane]),
      apart: angle(now[lane], now.none),
      turned: angle(now[lane], before[lane]),
    };
  const difference = Math.max(...now.layer.map((value, k) => Math.abs(value - now.rms[k])));
  return { now, before, rows, difference };
}

const degrees = (value) => `${show(value, 1)}°`;

// The state in words.
function explain({ c, centered }, { rows, now, difference }) {
  const { apart, turned } = { apart: degrees(rows.layer.apart), turned: degrees(rows.rms.turned) };
  const same = difference < 1e-9, H = now.none.length;
  const sizes = `Both outputs have length √${H} = ${show(Math.sqrt(H), 2)}. ` +
    `${show(100 * rows.rms.mean ** 2, 0)} % of RMSNorm's square is the mean's, 0 % of layer norm's.`;
  if (centered)
    return ["With centered weights, RMSNorm is layer norm.",
      `The mean row, and with it the offset of ${show(c, 1)}, is taken off the weights, so that every a has mean 0. ` +
      "Where nothing is left to remove, both normalizations give the same.", sizes];
  const lead = same ? "The offset has made the mean 0: both normalizations give the same."
    : c === 0 ? "No offset yet, and a mean that is not 0: the two normalizations differ."
    : "Layer norm removes the offset, RMSNorm keeps it.";
  const moved = c === 0 ? "" : `Adding ${show(c, 1)} to every component turns a by ${turned}. RMSNorm turns along ` +
    "by the same angle, and layer norm does not move. ";
  return [lead, `${moved}RMSNorm points where a points. Layer norm takes the mean out first and points ${apart} away from a.`,
    sizes];
}

// A small table: head cells across, a head cell beside each row; `nodes` are its cells.
function grid(caption, heads, rows, nodes) {
  const top = el("tr", {}, el("td"), ...heads.map((text) => el("th", { scope: "col" }, text)));
  const body = Object.entries(rows).map(([kind, name]) =>
    el("tr", { class: kind }, el("th", { scope: "row" }, name), ...nodes[kind]));
  return el("table", {}, el("caption", {}, caption), el("thead", {}, top), el("tbody", {}, ...body));
}

// The plane in which everything happens: the std of a vector to the right, its mean upward, its root mean square the distance.
function plane(range) {
  const high = range + 1.1, wide = 2.6, arrows = {}, dots = {};
  const picture = svg("svg", { viewBox: `-0.45 ${-high} ${wide} ${2 * high}`, "aria-hidden": "true" },
    line(`M0 ${-high}V${high}M-0.45 0H${wide}`, "rules"), line("M0 -1A1 1 0 0 1 0 1", "circle"));
  const track = line("", "track");
  picture.append(track);
  for (const lane in LANES) {
    arrows[lane] = line("", lane);
    dots[lane] = svg("circle", { class: lane, r: { none: 0.13, layer: 0.17, rms: 0.11 }[lane] });
    picture.append(arrows[lane], dots[lane]);
  }
  const node = el("div", { class: "plane", role: "img" }, picture, el("i", {}, "mean ↑"), el("i", {}, "std →"));
  function draw(now) {
    const words = [];
    for (const lane in LANES) {
      const { mean, std } = standardize(now[lane], 0);
      arrows[lane].setAttribute("d", `M0 0L${std} ${-mean}`);
      dots[lane].setAttribute("cx", std);
      dots[lane].setAttribute("cy", -mean);
      if (lane === "none") track.setAttribute("d", `M${std} ${-high}V${high}`);
      words.push(`${LANES[lane]} at std ${show(std, 2)}, mean ${show(mean, 2)}`);
    }
    node.setAttribute("aria-label", `The plane of std and mean. ${words.join("; ")}. Outputs lie on the circle of radius 1.`);
  }
  return { node, draw };
}

// Build the figure under `root`; every change of the state goes through `act`.
function offset(root, given) {
  const { W, x, range } = given, state = { c: 0, centered: false }, H = W.length, live = speaker();
  const shift = slider("Offset c, added to all of a:", { min: -range, max: range, step: 0.1 }, (c) => act({ c }));
  const center = input("checkbox", {}, ({ checked }) => act({ centered: checked }));
  const middle = outputs(given, state).none.reduce((sum, value) => sum - value / H, 0);
  const presets = { "No offset": 0, "Large offset": range, "Offset that makes the mean 0": middle };
  const lanes = Object.fromEntries(Object.keys(LANES).map((lane) => [lane, bars(H)]));
  const view = plane(range), cells = {}, entries = { mean: x.map(() => el("td")) };
  for (const lane in LANES) cells[lane] = ["mean", "length", "apart", "turned"].map(() => el("td"));
  const rows = Object.fromEntries(W.map((_, i) => [`row${i}`, `unit ${i + 1}`]));
  for (const row in rows) entries[row] = x.map(() => el("td"));
  root.append(el("section", { class: "figure", "aria-label": "The offset" },
    el("div", { class: "controls" }, shift.whole,
      el("fieldset", {}, el("legend", {}, "Weights"), el("label", {}, center, "center them first")),
      el("fieldset", {}, el("legend", {}, "Try"),
        ...Object.entries(presets).map(([text, c]) => button(text, () => act({ c, centered: false }))))),
    live.node,
    el("div", { class: "panels" },
      el("div", { class: "lanes" }, ...Object.entries(LANES).map(([lane, name]) =>
        el("div", { class: lane }, el("p", { class: "title" }, name), lanes[lane].node)),
        el("p", { class: "key" }, "Dashed: without the offset.")),
      el("div", {}, el("p", { class: "title" }, "The same three as arrows"), view.node),
      el("div", { class: "tables" },
        grid("Lengths and angles", ["mean", "length", "angle to a", "turned by c"], LANES, cells),
        grid("Weights, each row with the offset in it", x.map((_, k) => `input ${k + 1}`), { ...rows, mean: "mean row" },
          entries))),
    el("div", { class: "fallback" }, el("slot"))));

  function act(change) {
    Object.assign(state, change);
    const results = measure(given, state), shown = weights(given, state);
    shift.node.value = state.c;
    shift.value.textContent = show(state.c, 1);
    center.checked = state.centered;
    for (const lane in LANES) {
      const { mean, length, apart, turned } = results.rows[lane];
      lanes[lane].draw(LANES[lane], results.now[lane], lane === "none" ? range + 2.5 : Math.sqrt(H - 1), results.before[lane]);
      [show(mean, 2), show(length, 2), degrees(apart), degrees(turned)]
        .forEach((text, k) => (cells[lane][k].textContent = text));
    }
    view.draw(results.now);
    x.forEach((_, k) => {
      const column = shown.map((w) => w[k]), mean = column.reduce((sum, value) => sum + value / H, 0);
      [...column, mean].forEach((value, i) => {
        const cell = i < H ? entries[`row${i}`][k] : entries.mean[k];
        cell.textContent = show(value, 2);
        cell.style.background = shade(value, Math.min(1, Math.abs(value) / 2) * 50);
      });
    });
    live.say(...explain(state, results));
  }
  act({ c: 2 });
}
