"""Writing: sentences that a network has written, chosen by the reader, drawn as the pen drew them."""

from collections.abc import Mapping, Sequence

import numpy as np

from lnbook.explore.element import Element


def writing(scripts: Mapping[str, Mapping[float, Sequence[np.ndarray]]]) -> Element:
    """Let a reader choose a sentence and how neatly it is written, and watch the pen.

    `scripts` has for each sentence, by bias, its strokes (points, 2), y upward.

    *Source* Section 6.5; the figure is ours, after the page that Graves (2013) put beside his paper.
    """
    biases = list(next(iter(scripts.values())))
    strokes = [by_bias[bias] for by_bias in scripts.values() for bias in biases]
    widest = max((np.ptp(np.concatenate(line)[:, 0]) for line in strokes if len(line)), default=0.0)
    unit = 1000 / max(1e-9, widest)  # so that the widest line is 1000 units wide
    lines = [[[_packed(s, unit) for s in by_bias[b]] for b in biases] for by_bias in scripts.values()]
    rows = [
        [text, *(f"{len(by_bias[b])} strokes, {sum(map(len, by_bias[b]))} points" for b in biases)]
        for text, by_bias in scripts.items()
    ]
    state = {"texts": list(scripts), "biases": biases, "lines": lines}
    caption = "What the network wrote: strokes and points of each sentence, by bias."
    return Element("writing", state, caption, ["sentence", *(f"bias {b:g}" for b in biases)], rows)


def _packed(stroke: np.ndarray, unit: float) -> list[int]:
    """x, y, then steps; whole units, y downward as on a screen."""
    places = np.round(np.asarray(stroke, dtype=float) * (unit, -unit)).astype(int)
    return np.diff(places, axis=0, prepend=0).ravel().tolist()
