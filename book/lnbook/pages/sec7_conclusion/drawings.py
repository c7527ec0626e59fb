"""The conclusion's pictures: every sentence as a mark in the row of its section; who gains, at which goal."""

from collections.abc import Container, Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from lnbook.figures import plots
from lnbook.ledger.sentences import SENTENCE_WORDS
from lnbook.ledger.verdicts import Measurement
from lnbook.pages.sec7_conclusion.goals import means

__all__ = ["factors", "gains", "verdicts"]

# Filled marks are decided, red ones against the sentence; the shape tells the verdicts of one kind apart.
FOR, AGAINST, OPEN = plots.INK, plots.OTHERS["red"], "none"
MARKS = dict(
    zip(
        SENTENCE_WORDS,
        [
            (FOR, "o"),
            (FOR, "s"),
            (AGAINST, "D"),
            (FOR, "^"),
            (AGAINST, "X"),
            (AGAINST, "v"),
            (OPEN, "o"),
            (OPEN, ">"),
            (OPEN, "s"),
            (OPEN, "_"),
        ],
        strict=True,
    )
)
ACROSS = 32  # marks in a line; a section with more takes several
SIZE = 6.0


def verdicts(sections: Mapping[str, Sequence[str]]) -> Figure:
    """A row per section, a mark per sentence, in the order of `SENTENCE_WORDS`; what is open is empty."""
    lines = {name: max(1, -(-len(words) // ACROSS)) for name, words in sections.items()}
    fig, ax = plots.subplots(figsize=(7.0, 0.9 + 0.26 * sum(lines.values())))
    places, y = [], 0
    for name, words in sections.items():
        places.append(y)
        for k, word in enumerate(sorted(words, key=SENTENCE_WORDS.index)):
            color, shape = MARKS[word]
            edge = FOR if color == OPEN else color
            ax.plot(k % ACROSS, y + k // ACROSS, shape, ms=SIZE, mec=edge, mfc=color, mew=1.4)
        y += lines[name]
    ax.set(xlim=(-0.7, ACROSS - 0.3), ylim=(y - 0.4, -0.6))
    ax.set_yticks(places, list(sections))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    used = {word for words in sections.values() for word in words}
    fig.legend(handles=_legend(used), loc="outside upper left", ncols=3, handletextpad=0.2)
    return fig


def factors(panels: Mapping[str, Mapping[float, Mapping[int, float]]]) -> Figure:
    """A panel per experiment: the factor against the goal; a thin line a seed, a thick one for the mean.

    The band is the 95 % interval. A seed's line ends at the goals that its network with layer norm never
    reaches, the mean at those that one of them does not.
    """
    fig, axes = plots.subplots(
        -(-len(panels) // 3), 3, figsize=(7.2, 2.3 * -(-len(panels) // 3)), squeeze=False
    )
    for ax, (title, found) in zip(axes.flat, panels.items(), strict=False):
        ax.axhline(1, color=plots.INK, lw=0.8)
        mean = means(found)
        at = [100 * share for share in mean]
        ax.plot(at, [m.value for m in mean.values()], color=plots.COLORS["layer"], lw=2.2)
        ax.fill_between(
            at,
            [m.low for m in mean.values()],
            [m.high for m in mean.values()],
            color=plots.COLORS["layer"],
            alpha=0.2,
        )
        for seed in next(iter(found.values())):
            kept = [(100 * share, pairs[seed]) for share, pairs in found.items() if pairs[seed] > 0]
            ax.plot(*zip(*kept, strict=True), color=plots.COLORS["layer"], lw=0.7, alpha=0.5)
        ax.set_title(title)
        ax.set(yscale="log")
        ax.set(xlim=(48, 102), ylim=(0.4, 4))
        ax.yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4]))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("goal (% of the fall)")
    for ax in axes[:, 0]:
        ax.set_ylabel("factor")
    return fig


def _legend(used: Container[str]) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            ls="",
            marker=shape,
            ms=SIZE,
            mec=FOR if color == OPEN else color,
            mfc=color,
            mew=1.4,
            label=word,
        )
        for word, (color, shape) in MARKS.items()
        if word in used
    ]


def gains(
    speed_ups: Mapping[str, Mapping[str, Measurement]], titles: Mapping[str, str], lacking: Sequence[str] = ()
) -> Figure:
    """How many times as many updates a network takes without layer norm: a line per experiment.

    Args:
        speed_ups: by kind of network, by section.
        titles: of the sections.
        lacking: sections that have no number; they say so.
    """
    sections = [section for found in speed_ups.values() for section in found]
    rows = sorted([*sections, *lacking])
    fig, ax = plots.subplots(figsize=(5.8, 1.2 + 0.38 * len(rows)))
    styles = zip(("o", "s"), (plots.OTHERS["teal"], plots.OTHERS["red"]), strict=True)
    for (kind, found), (shape, color) in zip(speed_ups.items(), styles, strict=True):
        for k, (section, e) in enumerate(found.items()):
            y = rows.index(section)
            if e.has_interval:
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
