"""The conclusion's pictures: every claim as a mark in the row of its section; who gains the most."""

from collections.abc import Container, Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from lnbook.figures import plots
from lnbook.ledger.results import VERDICTS, Evidence

__all__ = ["gains", "verdicts"]

# Verdicts are told apart by color and by shape; a filled mark is exact, an empty one measured.
MARKS = dict(
    zip(
        VERDICTS,
        [
            (plots.COLORS["layer"], "o"),
            (plots.COLORS["weight"], "s"),
            (plots.COLORS["batch"], "D"),
            (plots.COLORS["rms"], "^"),
            (plots.INK, "X"),
            (plots.COLORS["none"], "_"),
        ],
        strict=True,
    )
)
ACROSS = 32  # marks in a line; a section with more takes several
SIZE = 6.0


def verdicts(
    sections: Mapping[str, Sequence[tuple[str, bool]]], unrun: Container[str] = frozenset()
) -> Figure:
    """A row a section, a mark a claim: verdict and whether it is exact; in the order of `VERDICTS`.

    Sections in `unrun` say that their experiment has not been run.
    """
    lines = {name: max(1, -(-len(claims) // ACROSS)) for name, claims in sections.items()}
    fig, ax = plots.subplots(figsize=(7.0, 0.6 + 0.26 * sum(lines.values())))
    places, y = [], 0
    for name, claims in sections.items():
        places.append(y)
        marks = sorted(claims, key=lambda claim: (VERDICTS.index(claim[0]), not claim[1]))
        for k, (verdict, exact) in enumerate(marks):
            color, shape = MARKS[verdict]
            face = color if exact else "none"
            ax.plot(k % ACROSS, y + k // ACROSS, shape, ms=SIZE, mec=color, mfc=face, mew=1.4)
        if name in unrun:
            place = (len(marks) - 0.2 if marks else -0.4, y)
            ax.annotate("experiment not run", place, va="center", style="italic", fontsize=10)
        y += lines[name]
    ax.set(xlim=(-0.7, ACROSS - 0.3), ylim=(y - 0.4, -0.6))
    ax.set_yticks(places, list(sections))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    used = {verdict for claims in sections.values() for verdict, _ in claims}
    fig.legend(handles=_legend(used), loc="outside upper left", ncols=3, handletextpad=0.2)
    return fig


def _legend(used: Container[str]) -> list[Line2D]:
    def mark(color: str, shape: str, face: str, label: str) -> Line2D:
        return Line2D([], [], ls="", marker=shape, ms=SIZE, mec=color, mfc=face, mew=1.4, label=label)

    kinds = [mark(color, shape, color, name) for name, (color, shape) in MARKS.items() if name in used]
    ink = plots.INK
    return [*kinds, mark(ink, "o", ink, "filled: exact"), mark(ink, "o", "none", "empty: measured")]


def gains(
    speed_ups: Mapping[str, Mapping[str, Evidence]], titles: Mapping[str, str], lacking: Sequence[str] = ()
) -> Figure:
    """How many times as many updates a network takes without layer norm: a line an experiment.

    Args:
        speed_ups: by kind of network, by section.
        titles: of the sections.
        lacking: sections that have no number; they say so.
    """
    sections = [section for found in speed_ups.values() for section in found]
    rows = sorted([*sections, *lacking])
    fig, ax = plots.subplots(figsize=(5.8, 1.2 + 0.38 * len(rows)))
    styles = zip(("o", "s"), (plots.COLORS["layer"], plots.COLORS["batch"]), strict=True)
    for (kind, found), (shape, color) in zip(speed_ups.items(), styles, strict=True):
        for k, (section, e) in enumerate(found.items()):
            y = rows.index(section)
            ax.plot([e.low, e.high], [y, y], color=color, lw=2)
            ax.plot(e.value, y, shape, color=color, ms=8, label=None if k else kind)
            ax.annotate(f"{e.value:.2f}", (e.value, y), (0, 7), textcoords="offset points", ha="center")
    for section in lacking:
        ax.annotate("no number", (1, rows.index(section)), (6, 0), textcoords="offset points", va="center")
    ax.axvline(1, color=plots.INK, lw=1)
    ax.set(xscale="log", xlabel="updates without a norm over those with layer norm")
    ax.set_ylim(len(rows) - 0.5, -0.7)
    ax.set_yticks(range(len(rows)), [titles[section] for section in rows])
    ax.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    fig.legend(loc="outside upper right", ncols=2)
    return fig
