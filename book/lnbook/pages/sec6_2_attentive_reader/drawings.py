"""Section 6.2's picture: attention on a text."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lnbook.figures import plots

LABELS = {
    "none": "no norm",
    "batch": "batch norm",
    "batch everywhere": "batch norm everywhere",
    "layer": "layer norm",
}
WORD = {"ha": "center", "va": "center", "family": "monospace", "fontsize": 8.5, "parse_math": False}
WIDTH = 46  # of a line of text, in characters


def attention(panels: Sequence[tuple[str, Sequence[str], Sequence[float]]]) -> Figure:
    """Texts whose words are marked the darker the more attention they get: title, tokens, weights of each."""
    laid = [(title, _lines(tokens, weights)) for title, tokens, weights in panels]
    heights = [1 + len(lines) for _, lines in laid]
    size = (5.2, 0.25 * sum(heights) + 0.15 * len(laid))
    fig, axes = plots.subplots(len(laid), 1, figsize=size, squeeze=False, height_ratios=heights)
    for ax, (title, lines) in zip(axes[:, 0], laid, strict=True):
        most = max(weight for line in lines for *_, weight in line)
        for row, line in enumerate(lines):
            for column, token, weight in line:
                place = (column - 0.3, row - 0.45)
                box = Rectangle(place, len(token) + 0.6, 0.9, color=plots.COLORS["layer"], linewidth=0)
                box.set_alpha(0.65 * weight / most)
                ax.add_patch(box)
                middle = column + len(token) / 2
                ax.text(middle, row, token, **WORD)
        ax.set(xlim=(-1, WIDTH + 1), ylim=(len(lines) - 0.4, -0.6))
        ax.set_title(title, loc="left", fontsize=10, parse_math=False)
        ax.set_axis_off()
    return fig


def _lines(tokens: Sequence[str], weights: Sequence[float]) -> list[list[tuple[int, str, float]]]:
    """Tokens in lines, each with its column and weight."""
    lines: list[list[tuple[int, str, float]]] = [[]]
    column = 0
    for token, weight in zip(tokens, weights, strict=True):
        if column + len(token) > WIDTH and lines[-1]:
            lines.append([])
            column = 0
        lines[-1].append((column, token, float(weight)))
        column += len(token) + 1
    return lines
