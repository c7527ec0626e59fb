"""The conclusion's pictures: every sentence as a mark in the row of its section; who gains, at which goal."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.verdicts import SENTENCE_WORDS
from lnbook.pages.sec7_conclusion.pooling import Pooled
from lnbook.pages.sec7_conclusion.reading import Factors

# Filled marks are decided, red ones against the sentence; the shape tells the verdicts of one kind apart.
FOR, AGAINST, OPEN = plots.INK, plots.OTHERS["red"], "none"
MARKS = {
    "verified": (FOR, "o"),
    "verified if": (FOR, "s"),
    "implemented as described": (FOR, "P"),
    "error in print": (AGAINST, "D"),
    "supported": (FOR, "^"),
    "contradicted": (AGAINST, "X"),
    "smaller than claimed": (AGAINST, "v"),
    "below what counts here": (AGAINST, "<"),
    "undecided": (OPEN, "o"),
    "read": (FOR, "*"),
    "not tested at the paper's size": (OPEN, "s"),
    "not measured": (OPEN, "_"),
}
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
            ax.plot(k % ACROSS, y + k // ACROSS, shape, **_look(color))
        y += lines[name]
    ax.set(xlim=(-0.7, ACROSS - 0.3), ylim=(y - 0.4, -0.6))
    ax.set_yticks(places, list(sections))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    used = {word: mark for word, mark in MARKS.items() if any(word in words for words in sections.values())}
    handles = [Line2D([], [], ls="", marker=s, label=word, **_look(c)) for word, (c, s) in used.items()]
    fig.legend(handles=handles, loc="outside upper left", ncols=3, handletextpad=0.2)
    return fig


def _look(color: str) -> dict[str, Any]:
    """Of a mark: what is open is empty, and has an edge all the same."""
    return {"ms": SIZE, "mec": FOR if color == OPEN else color, "mfc": color, "mew": 1.4}


def forest(
    races: Mapping[str, Factors], summaries: Mapping[str, Pooled], titles: Mapping[str, str]
) -> Figure:
    """The factors of all experiments by section, and their means with the range of another experiment.

    The means are of the factors at own step sizes and at one, in this order.
    """
    fig, ax = plots.subplots(figsize=(5.8, 1.4 + 0.42 * (len(races) + len(summaries))))
    looks = [{"mfc": plots.COLORS["layer"]}, {"mfc": "white"}]
    common = {"color": plots.COLORS["layer"], "lw": 1.6, "marker": "o", "ms": 6}
    for y, pair in enumerate(races.values()):
        for found, look, shift in zip(pair, looks, (-0.13, 0.13), strict=True):
            ax.plot([found.low, found.high], [y + shift] * 2, color=plots.COLORS["layer"], lw=1.6)
            ax.plot(found.value, y + shift, **(common | look))
    for y, (mean, look) in enumerate(zip(summaries.values(), looks, strict=True), start=len(races)):
        ax.plot([mean.next_low, mean.next_high], [y, y], color=plots.COLORS["none"], lw=7, alpha=0.5)
        ax.plot([mean.low, mean.high], [y, y], color=plots.INK, lw=1.8)
        ax.plot(mean.value, y, **(common | look | {"color": plots.INK, "marker": "D"}))
    ax.axvline(1, color=plots.INK, lw=1)
    ax.set(xscale="log", xlabel="updates without a norm\nover those with layer norm", xlim=(0.24, 4.2))
    names = [titles[section] for section in races] + [f"mean, {name}" for name in summaries]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    on.exactly(ax.xaxis, [0.25, 0.5, 0.7, 1, 1.4, 2, 4])
    return fig
