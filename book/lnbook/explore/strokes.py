"""Strokes: pictures that form glimpse by glimpse, as DRAW paints them, played or dragged."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import ArrayLike

from lnbook.explore.element import Element, table

__all__ = ["strokes"]


def strokes(pictures: ArrayLike | None = None, windows: ArrayLike | None = None, *, seed: int = 0) -> Element:
    """Let a reader play the way of several pictures from blank to done, stop it, and drag through it.

    All pictures show the same glimpse, each with the window of that glimpse's stroke. It plays once by
    itself, unless the reader prefers less motion; then it waits at the last glimpse.

    *Source* Section 6.4; the figure is ours, after Figure 1 of Gregor and others (2015).

    Args:
        pictures: probabilities of ink (glimpses, pictures, side, side), in [0, 1].
        windows: left edge, top edge and width of each window in pixels (glimpses, pictures, 3).
        seed: of blots that are shown where the two are left out.

    >>> strokes()
    <interactive figure: Stroke by stroke>
    """
    if pictures is None or windows is None:
        pictures, windows = _blots(seed)
    p, w = np.asarray(pictures, dtype=np.float64), np.asarray(windows, dtype=np.float64)
    state = {
        "shape": p.shape[:3],
        "ink": base64.b64encode(np.round(255 * p).astype(np.uint8).tobytes()).decode(),
        "windows": np.round(w, 1).tolist(),
    }
    return Element("strokes", "strokes", "Stroke by stroke", state, _fallback(p, w))


def _blots(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three pictures of 12 pixels' side to which six soft blots are added, one a glimpse."""
    rng = np.random.default_rng(seed)
    left, top, width = rng.uniform(0, 8, (6, 3)), rng.uniform(0, 8, (6, 3)), rng.uniform(2, 5, (6, 3))
    pixel = np.arange(12) + 0.5
    across, down = (
        np.exp(-(((pixel - (edge + width / 2)[..., None]) / width[..., None] * 2) ** 2))
        for edge in (left, top)
    )
    canvas = -2 + 4 * np.cumsum(down[..., :, None] * across[..., None, :], 0)
    return 1 / (1 + np.exp(-canvas)), np.stack([left, top, width], -1)


def _fallback(p: np.ndarray, w: np.ndarray) -> str:
    """Ink and window of each picture, at the beginning, halfway and at the end."""
    steps = sorted({0, (len(p) - 1) // 2, len(p) - 1})
    rows = [
        [f"picture {n + 1}", *(f"{100 * p[t, n].mean():.0f} %, {w[t, n, 2]:.0f} wide" for t in steps)]
        for n in range(p.shape[1])
    ]
    head = ["mean ink, window", *(f"glimpse {t + 1}" for t in steps)]
    return table("Pictures as they form: mean ink, and the width of the window in pixels.", head, rows)
