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

// A row of bars about a middle line, a number below each; dashed outlines show what the numbers were before.
// A bar longer than `limit` ends at the edge and is hatched.
function bars(count) {
  const columns = Array.from({ length: count }, () => ({ bar: el("i"), before: el("i"), text: el("span") }));
  const node = el("div", { class: "bars", role: "img" }, ...columns.map(({ bar, before, text }) =>
    el("div", {}, el("div", { class: "column" }, bar, before), text)));
  const stretch = (bar, part, kind) => {
    bar.style = `${part < 0 ? "top" : "bottom"}:50%;height:${50 * Math.min(1, Math.abs(part))}%`;
    bar.className = `${kind} ${Math.abs(part) > 1 ? "over" : ""}`;
  };
  function draw(name, values, limit, before) {
    const texts = values.map((value) => show(value, 2));
    columns.forEach((column, k) => {
      stretch(column.bar, values[k] / limit, "bar");
      stretch(column.before, before[k] / limit, "before");
      column.text.textContent = texts[k];
    });
    node.setAttribute("aria-label", `${name}: ${texts.join(", ")}`);
  }
  return { node, draw };
}
