// Shared by the interactive figures: elements, controls, numbers as printed, colours, statistics, mounting.

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const dot = (u, v) => { let sum = 0; for (let k = 0; k < u.length; k++) sum += u[k] * v[k]; return sum; };
const rms = (v) => Math.sqrt(dot(v, v) / v.length);

// A new element: attributes by name, then children (strings or elements).
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function button(text, run, attributes = {}) {
  const node = el("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", run);
  return node;
}

// A radio button, checkbox or range; `run` gets the element whenever the reader changes it.
function input(type, attributes, run) {
  const node = el("input", { type, ...attributes });
  node.addEventListener("input", () => run(node));
  return node;
}

// A range below its label, which ends in its value.
function slider(text, attributes, run) {
  const node = input("range", attributes, () => run(Number(node.value)));
  const name = el("span", {}, text), value = el("b");
  return { node, name, value, whole: el("label", { class: "range" }, el("span", {}, name, " ", value), node) };
}

// Live text: a headline, numbers, a remark. It follows the drag; it is read out when the reader pauses, not at
// every position of a slider.
function speaker() {
  const node = el("p", { role: "status" });
  let rest;
  return { node, say(headline, numbers, remark) {
    clearTimeout(rest);
    node.setAttribute("aria-busy", "true");
    node.replaceChildren(el("strong", {}, headline), ` ${numbers} `, el("span", {}, remark));
    rest = setTimeout(() => node.removeAttribute("aria-busy"), 300);
  } };
}

// A number for a small cell: `digits` decimals, fewer as it grows, a true minus sign, never "-0".
function show(value, digits) {
  const size = Math.abs(value);
  const places = Math.max(0, digits - (size >= 9.95) - (size >= 99.5));
  const text = size >= 999.5 ? value.toExponential(0).replace("e+", "e") : value.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

// The colour of a number: its sign by the hue, `percent` of it over the page's own ground.
const shade = (value, percent) =>
  `color-mix(in srgb, ${value < 0 ? "var(--lnlib-red)" : "var(--lnlib-teal)"} ${percent}%, var(--paper))`;

// Mean, biased standard deviation and standardized values of one group of numbers, as lnlib computes
// them: scaled by a power of two (no overflow), centred twice (no rounding of a large mean).
function standardize(values, eps) {
  const average = (v) => v.reduce((sum, x) => sum + x, 0) / v.length;
  const peak = Math.max(1e-300, Math.sqrt(eps), ...values.map(Math.abs));
  const scale = 2 ** -Math.round(Math.log2(peak));
  const x = values.map((v) => v * scale);
  const centre = clamp(average(x), Math.min(...x), Math.max(...x));
  const rest = average(x.map((v) => v - centre));
  const d = x.map((v) => v - centre - rest);
  const power = average(d.map((v) => v * v));
  const root = Math.sqrt(power + eps * scale * scale);
  return { mean: (centre + rest) / scale, std: Math.sqrt(power) / scale, out: d.map((v) => root && v / root) };
}

// Draw every figure of this name that the page holds and that is not drawn yet. The shadow root keeps
// the page's styles out and the ids and radio names of two figures apart; the fallback stays outside it.
function mount(name, css, draw) {
  for (const host of document.querySelectorAll(`.lnlib-figure[data-name="${name}"]`)) {
    if (host.shadowRoot) continue;
    const root = host.attachShadow({ mode: "open" });
    root.append(el("style", {}, css));
    draw(root, JSON.parse(host.dataset.state));
  }
}
