"""How large a drawing's letters are on a phone."""

from matplotlib.figure import Figure
from matplotlib.text import Text

PHONE = 342  # pixels for a picture, in a window of 390
READABLE = 8  # pixels of font size; the pages' footnotes have 12, and a screen of a phone is sharp


def smallest(fig: Figure) -> float:
    """The font size, in pixels, of the smallest text of a drawing that is scaled to fit a phone."""
    fig.draw_without_rendering()
    points = [t.get_fontsize() for t in fig.findobj(Text) if t.get_visible() and t.get_text().strip()]
    return min(points) / 72 * min(96.0, PHONE / fig.get_figwidth())
