"""Writing: sentences that a network has written, chosen by the reader, drawn as the pen drew them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lnbook.explore.element import Element, table

__all__ = ["writing"]

Strokes = Sequence[np.ndarray]  # (points, 2) each, y upward


def writing(scripts: Mapping[str, Mapping[float, Strokes]] | None = None, *, seed: int = 0) -> Element:
    """Let a reader choose a sentence and how neatly it is written, and watch the pen.

    *Source* Section 6.5; the figure is ours, after the page that Graves (2013) put beside his paper.

    Args:
        scripts: for each sentence, by bias, its strokes. All sentences have the same biases.
        seed: of the waves that are shown where scripts are left out.

    >>> writing()
    <interactive figure: Handwriting>
    """
    given = _waves(seed) if scripts is None else scripts
    biases = list(next(iter(given.values())))
    unit = _unit(given)
    state = {
        "texts": list(given),
        "biases": biases,
        "lines": [[[_packed(s, unit) for s in by_bias[b]] for b in biases] for by_bias in given.values()],
    }
    rows = [
        [
            text,
            *(f"{len(by_bias[b])} strokes, {sum(map(len, by_bias[b]))} points" for b in biases),
        ]
        for text, by_bias in given.items()
    ]
    head = ["sentence", *(f"bias {b:g}" for b in biases)]
    fallback = table("What the network wrote: strokes and points of each sentence, by bias.", head, rows)
    return Element("writing", "writing", "Handwriting", state, fallback, plots=True)


def _unit(scripts: Mapping[str, Mapping[float, Strokes]]) -> float:
    """So that the widest line is 1000 units wide."""
    widths = [
        np.ptp(np.concatenate(strokes)[:, 0])
        for by_bias in scripts.values()
        for strokes in by_bias.values()
        if len(strokes)
    ]
    return 1000 / max(1e-9, *widths, 0)


def _packed(stroke: np.ndarray, unit: float) -> list[int]:
    """x, y, then steps; whole units, y downward as on a screen."""
    places = np.round(np.asarray(stroke, dtype=float) * (unit, -unit)).astype(int)
    return np.diff(places, axis=0, prepend=0).ravel().tolist()


def _waves(seed: int) -> Mapping[str, Mapping[float, Strokes]]:
    """Two sentences as waves, the rougher the smaller the bias."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 40, 60)
    return {
        text: {
            bias: [
                np.stack([x + 45 * word, 4 * np.sin(x) + rng.normal(0, np.exp(-bias), 60)], 1)
                for word in range(len(text.split()))
            ]
            for bias in (0.0, 2.0)
        }
        for text in ("one wave", "two waves more")
    }
