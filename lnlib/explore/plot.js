// Shared by the figures that plot: SVG elements, curves, and a frame with ticks.

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const line = (d, kind) => svg("path", { d, class: kind });

// The path through points [x, y].
const through = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x} ${y}`).join("");

// A frame of 100 by 100, x to the right and y upward in percent of it. `across` and `up` are ticks
// [percent, text]; ticks of `up` have rules. The size comes from the style of .plot, so nothing but
// curves may lie in the SVG: text would be stretched.
function axes(up, across, axis, ...curves) {
  const ticks = up.map(([at, text]) => el("span", { style: `top:${100 - at}%` }, text));
  const below = across.map(([at, text]) => el("span", { style: `left:${at}%` }, text));
  const rules = line(up.map(([at]) => `M0 ${100 - at}H100`).join(""), "rules");
  const area = el("div", { class: "plot", role: "img" },
    svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none" }, rules, ...curves), ...ticks);
  const bottom = el("div", { class: "axis", "aria-hidden": "true" }, ...below, el("b", {}, axis));
  return { area, below, bottom };
}
