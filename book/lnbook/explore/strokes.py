"""Strokes: pictures that form glimpse by glimpse, as DRAW paints them, played or dragged."""

import base64

import numpy as np
from numpy.typing import ArrayLike

from lnbook.explore.element import Element


def strokes(pictures: ArrayLike, windows: ArrayLike) -> Element:
    """Let a reader play the way of several pictures from blank to done, stop it, and drag through it.

    `pictures` are probabilities of ink (glimpses, pictures, side, side), `windows` the left edge, top edge
    and width of each glimpse's window in pixels (glimpses, pictures, 3).

    *Source* Section 6.4; the figure is ours, after Figure 1 of Gregor and others (2015).
    """
    p, w = np.asarray(pictures, dtype=np.float64), np.asarray(windows, dtype=np.float64)
    state = {
        "shape": p.shape[:3],
        "ink": base64.b64encode(np.round(255 * p).astype(np.uint8).tobytes()).decode(),
        "windows": np.round(w, 1).tolist(),
    }
    steps = sorted({0, (len(p) - 1) // 2, len(p) - 1})
    rows = [
        [f"picture {n + 1}", *(f"{100 * p[t, n].mean():.0f} %, {w[t, n, 2]:.0f} wide" for t in steps)]
        for n in range(p.shape[1])
    ]
    caption = "Pictures as they form: mean ink, and the width of the window in pixels."
    head = ["mean ink, window", *(f"glimpse {t + 1}" for t in steps)]
    return Element("strokes", state, caption, head, rows)
