"""Section 6.7's pictures: what sets the norms apart."""

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure

from lnbook.figures import plots

LABELS = {
    "none": "no norm",
    "batch": "batch norm",
    "layer": "layer norm",
    "position": "layer norm, each position",
    "group": "group norm",
    "instance": "instance norm",
}
COLORS = {
    "position": plots.COLORS["layer"],
    "group": plots.OTHERS["olive"],
    "instance": plots.OTHERS["magenta"],
}

Mean = tuple[float, float, float]  # value, low, high


def dots(panels: Mapping[str, Mapping[str, Mean]], xlabel: str) -> Figure:
    """One panel per measure, one line per method: mean and 95 % interval over seeds, and a line at 0."""
    names = list(next(iter(panels.values())))
    fig, axes = plots.subplots(
        1, len(panels), figsize=(5.9, 0.45 * len(names) + 1.2), sharey=True, squeeze=False
    )
    for ax, (title, means) in zip(axes[0], panels.items(), strict=True):
        ax.axvline(0, color=plots.INK, linewidth=0.8)
        for k, (name, (value, low, high)) in enumerate(means.items()):
            color = COLORS.get(name) or plots.COLORS.get(name, plots.INK)
            error = [[value - low], [high - value]]
            ax.errorbar(value, k, xerr=error, color=color, marker="o", ms=6, capsize=3)
        ax.set(title=title, xlabel=xlabel, ylim=(len(names) - 0.5, -0.5))
    axes[0, 0].set_yticks(range(len(names)), [LABELS.get(name, name) for name in names])
    return fig


def flat(means: Any, *names: str) -> list[dict[str, Any]]:
    """A figure's rows: nested mappings of means, the keys of each level under its name; lists go by layer.

    >>> flat({"a": {"b": [(1.0, 0.5, 1.5)]}}, "norm", "kind")
    [{'norm': 'a', 'kind': 'b', 'layer': 1, 'mean': 1.0, 'low': 0.5, 'high': 1.5}]
    """
    if isinstance(means, tuple):
        return [dict(zip(("mean", "low", "high"), means, strict=True))]
    if isinstance(means, list):
        means, names = dict(enumerate(means, 1)), ("layer",)
    return [{names[0]: key} | row for key, inner in means.items() for row in flat(inner, *names[1:])]


def spoken(means: Mapping[str, Any], form: str = ".2f") -> str:
    """Means in words, for captions: a name and its number, or its numbers by layer.

    >>> spoken({"batch": (0.25, 0.2, 0.3), "layer": [(1.0, 0.9, 1.1), (2.0, 1.8, 2.2)]}, ".1f")
    'batch norm 0.2, layer norm 1.0 / 2.0'
    """
    told = []
    for name, found in means.items():
        values = [m[0] for m in found] if isinstance(found, list) else [found[0]]
        told.append(f"{LABELS.get(name, name)} {' / '.join(format(v, form) for v in values)}")
    return ", ".join(told)


def listed(rates: Iterable[float]) -> str:
    """Step sizes in words, each once.

    >>> listed([0.01, 0.001, 0.01, 0.003])
    '0.001, 0.003 and 0.01'
    """
    *most, last = (f"{rate:g}" for rate in sorted(set(rates)))
    return f"{', '.join(most)} and {last}"
