// Shared by the interactive figures: elements, numbers as printed, and mounting into a page.

// A new element: attributes by name, then children (strings or elements).
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A number for a small cell: `digits` decimals, fewer as it grows, a true minus sign, never "-0".
function show(value, digits) {
  const size = Math.abs(value);
  const places = Math.max(0, digits - (size >= 9.95) - (size >= 99.5));
  const text = size >= 999.5 ? value.toExponential(0).replace("e+", "e") : value.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
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
