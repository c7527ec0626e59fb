// Handwriting: sentences that a network has written, drawn as the pen drew them.

// The points of a packed stroke: x, y, then steps.
function unpack(numbers) {
  const points = [];
  let x = 0, y = 0;
  for (let k = 0; k < numbers.length; k += 2) {
    x += numbers[k];
    y += numbers[k + 1];
    points.push([x, y]);
  }
  return points;
}

// The path of the first `count` points of some strokes; a stroke of one point is a dot.
function trace(strokes, count) {
  let left = count, d = "";
  for (const stroke of strokes) {
    const points = stroke.slice(0, Math.max(0, left));
    left -= stroke.length;
    if (points.length) d += through(points) + (points.length === 1 ? "h0" : "");
  }
  return d;
}

// What holds all strokes, with a margin: left, top, width, height.
function bounds(strokes, margin) {
  const xs = strokes.flat().map(([x]) => x), ys = strokes.flat().map(([, y]) => y);
  if (!xs.length) return [0, 0, 1, 1];
  const left = Math.min(...xs) - margin, top = Math.min(...ys) - margin;
  return [left, top, Math.max(...xs) - left + margin, Math.max(...ys) - top + margin];
}

// Build the figure under `root`.
function writing(root, { texts, biases, lines }) {
  const path = svg("path", {}), paper = svg("svg", { role: "img" }, path);
  let chosen = 0, neat = biases.length - 1, strokes = [], timer = 0;

  const choices = texts.map((text, k) => {
    const radio = input("radio", { name: "sentence", ...(k ? {} : { checked: "" }) }, () => { chosen = k; start(); });
    return el("label", {}, radio, text);
  });
  const bias = slider("Bias", { min: 0, max: biases.length - 1, value: neat }, (value) => { neat = value; start(); });
  const again = button("Write", start);

  root.append(el("section", { class: "figure", "aria-label": "Handwriting" },
    paper,
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Sentence"), ...choices), bias.whole, again),
    el("div", { class: "fallback" }, el("slot"))));

  function lay() {
    clearInterval(timer);
    strokes = lines[chosen][neat].map(unpack);
    bias.value.textContent = String(biases[neat]);
    paper.setAttribute("viewBox", bounds(strokes, 12).join(" "));
    paper.setAttribute("aria-label", `“${texts[chosen]}” as the network wrote it, bias ${biases[neat]}`);
    path.setAttribute("d", trace(strokes, Infinity));
  }

  function start() {
    lay();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const total = strokes.flat().length, begun = performance.now();
    timer = setInterval(() => {
      const count = Math.ceil((performance.now() - begun) / 12);
      path.setAttribute("d", trace(strokes, count));
      if (count >= total) clearInterval(timer);
    }, 40);
  }

  lay();
}
