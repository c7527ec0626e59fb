"""One style, and one function through which every figure reaches a page."""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

from lnbook.figures.palette import AMOUNT_COLOR, COLORS, GRID, INK, LINES, OTHERS, SIGN_COLORS
from lnbook.ledger.rows import as_csv, results_dir, write_whole

__all__ = ["AMOUNT", "COLORS", "GRID", "INK", "LINES", "OTHERS", "SIGNED", "figure", "subplots"]

MAX_SVG_BYTES = 400_000
NARROW = 544  # pixels of a wide drawing on a phone, the 34rem of lnlib.css; there it scrolls
READABLE = 8  # pixels of font size; the pages' footnotes have 12, and a screen of a phone is sharp
BLEED = 0.02  # inches over the edge that are no letter's: half of a line's width


def _fading(name: str, *stops: tuple[float, str, float]) -> Colormap:
    """A map through stops: a place from 0 to 1, a color, its opacity. Being of odd size, it has a middle.

    Where a color is transparent, at zero, the page shows through, white or dark. So one drawing serves both
    themes, zero is invisible in either, and `INK` is readable on it.
    """
    return LinearSegmentedColormap.from_list(name, [(at, to_rgba(c, a)) for at, c, a in stops], N=257)


NEGATIVE, POSITIVE = SIGN_COLORS
AMOUNT = _fading("lnlib-amount", (0, AMOUNT_COLOR, 0), (1, AMOUNT_COLOR, 1))
SIGNED = _fading("lnlib-signed", (0, NEGATIVE, 1), (0.5, NEGATIVE, 0), (0.5, POSITIVE, 0), (1, POSITIVE, 1))
colormaps.register(SIGNED, force=True)  # Matplotlib's settings refer to a map by its name

STYLE: dict[str, Any] = {
    "figure.figsize": (7.2, 3.4),
    "figure.constrained_layout.use": True,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    "legend.frameon": False,
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 11),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 10),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=[INK, *OTHERS.values()]),
    "image.cmap": SIGNED.name,
    "svg.fonttype": "path",
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color", "legend.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "axes.titlecolor"), INK),
}


def subplots(*args: Any, **kwargs: Any) -> tuple[Figure, Any]:
    """Like `matplotlib.pyplot.subplots`, in the book's style and outside pyplot (nothing shows twice)."""
    mpl.rcParams.update(STYLE)  # type: ignore[arg-type]  # artists read them whenever they are made
    fig = Figure(figsize=kwargs.pop("figsize", None))
    return fig, fig.subplots(*args, **kwargs)


def figure(fig: Figure, name: str, data: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]) -> None:
    """Show a figure and name it for the text, which pastes it with its caption; keep its data as CSV.

    `{glue:figure}` and the CSV use the name, which is unique in the book; `data` is what is drawn, as columns
    of equal length or as rows. Refuses a drawing that is too large for a page, hard to read or cut off.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"the name of a figure is {name!r}; it needs lower-case words joined by hyphens")
    if isinstance(data, Mapping):
        data = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    if not data:
        raise ValueError(f"figure {name!r} has no data; give what is drawn")
    svg = _svg(fig, name)
    _check_legible(fig, name)
    folder = results_dir("figures")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.csv", as_csv(data))
    from IPython.display import display

    glued = {"name": name, "mime_prefix": ""}  # as `myst_nb.glue` keeps what it displays
    display({"image/svg+xml": svg, "text/plain": f"[figure {name}]"}, raw=True, metadata={"scrapbook": glued})


def _svg(fig: Figure, name: str) -> str:
    """Scalable drawing, the same bytes for the same figure (no date, ids salted by the name)."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        fig.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    if (size := len(svg.encode())) > MAX_SVG_BYTES:
        raise ValueError(
            f"figure {name!r} takes {size:,} bytes, over {MAX_SVG_BYTES:,}; "
            "draw its heavy artists with rasterized=True"
        )
    return svg


def _check_legible(fig: Figure, name: str) -> None:
    """Refuse a figure, as it was just drawn, with letters too small on a phone or a part beyond its edge."""
    width, height = fig.get_size_inches()
    pixels = min(96.0, NARROW / width) / 72  # of a point
    texts = [text for text in fig.findobj(Text) if text.get_visible() and text.get_text().strip()]
    if small := [t.get_text() for t in texts if float(t.get_fontsize()) * pixels < READABLE]:
        raise ValueError(
            f"figure {name!r} has letters under {READABLE} px on a phone, {small}; "
            f"give them {READABLE / pixels + 0.05:.1f} points, or the figure less width"
        )
    with mpl.rc_context({"text.hinting": "none"}):  # letters as wide as in SVG
        box = fig.get_tightbbox()
    beyond = max(-box.x0, box.x1 - width, -box.y0, box.y1 - height)
    if beyond > BLEED:
        raise ValueError(
            f"figure {name!r} is cut off at its edge by {beyond:.2f} inches; "
            "move its parts inwards, shorten them, or make the figure larger"
        )
