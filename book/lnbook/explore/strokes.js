// Stroke by stroke: pictures form as DRAW paints them, each with the window of its latest stroke.

// The pixels of picture n after glimpse t (from 0), 0 for paper to 255 for ink.
function frame({ shape: [, count, side] }, ink, t, n) {
  const size = side * side, start = (t * count + n) * size;
  return ink.subarray(start, start + size);
}

// Where the play stands after so many milliseconds: each glimpse lasts as long, the last one stays.
const glimpseAt = (elapsed, each, T) => clamp(Math.floor(elapsed / each), 0, T - 1);

// One picture in ink on white, enlarged without blur, and its window.
function paint(canvas, pixels, side, [left, top, width]) {
  const zoom = canvas.width / side, context = canvas.getContext("2d");
  pixels.forEach((value, k) => {
    context.fillStyle = `rgb(${255 - value},${255 - value},${255 - value})`;
    context.fillRect((k % side) * zoom, Math.floor(k / side) * zoom, zoom, zoom);
  });
  context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--accent");
  context.lineWidth = 4;
  context.strokeRect(left * zoom, top * zoom, width * zoom, width * zoom);
}

// Build the figure under `root`.
function strokes(root, state) {
  const [T, count, side] = state.shape, each = Math.max(120, 4000 / T);
  const ink = Uint8Array.from(atob(state.ink), (c) => c.charCodeAt(0));
  const zoom = Math.max(4, Math.round(224 / side));
  const label = (n) => ({ role: "img", "aria-label": `Picture ${n + 1}`, width: side * zoom, height: side * zoom });
  const canvases = Array.from({ length: count }, (_, n) => el("canvas", label(n)));
  const play = button("Play", () => (timer ? stop() : start()));
  const glimpse = slider("Glimpse", { min: 1, max: T, value: T }, (value) => { stop(); show(value - 1); });
  let timer = 0;

  root.append(el("section", { class: "figure", "aria-label": "Stroke by stroke" },
    el("div", { class: "pictures" }, ...canvases),
    el("div", { class: "controls" }, play, glimpse.whole),
    el("div", { class: "fallback" }, el("slot"))));

  function show(t) {
    canvases.forEach((canvas, n) => paint(canvas, frame(state, ink, t, n), side, state.windows[t][n]));
    glimpse.node.value = t + 1;
    glimpse.value.textContent = `${t + 1} of ${T}`;
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function start() {
    const begun = performance.now();
    play.textContent = "Pause";
    show(0);
    timer = setInterval(() => {
      const t = glimpseAt(performance.now() - begun, each, T);
      show(t);
      if (t === T - 1) stop();
    }, each / 2);
  }

  show(T - 1);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) start();
}
