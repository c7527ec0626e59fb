"""The picture of the recurrent benchmark."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from lnbook.figures import plots
from lnbook.pages.appendix_cells import costs

STYLES = {  # marker and color of each method
    "lnlib": ("o", plots.INK),
    "loop": ("s", plots.OTHERS["olive"]),
    "loop, TorchScript": ("^", plots.OTHERS["teal"]),
    "JAX scan": ("D", plots.OTHERS["red"]),
}


def ratios(rows: Sequence[Mapping[str, str]]) -> Figure:
    """Times over torch.nn's without a norm, one row per network, inference above training."""
    fig, axes = plots.subplots(2, 1, figsize=(5.6, 6.0), sharex=True)
    for ax, mode in zip(axes, ("inference", "training"), strict=True):
        networks = costs.sizes(rows, mode)
        for method, (marker, color) in STYLES.items():
            places = [
                (float(row["ratio"]), networks.index((row["task"], row["kind"])))
                for row in rows
                if row["mode"] == mode and row["method"] == method
            ]
            x, y = zip(*places, strict=True)
            ax.plot(x, y, marker, color=color, ms=7, label=costs.PEERS[method])
        ax.axvline(1, color=plots.INK, lw=1)
        ax.set_yticks(range(len(networks)), [f"{kind}, {task}" for task, kind in networks])
        ax.set(ylim=(len(networks) - 0.5, -0.5), xscale="log", title=mode)
        ax.xaxis.set_major_locator(FixedLocator([0.3, 0.5, 1, 2, 3, 5, 10]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes[1].set_xlabel("time over torch.nn's without a norm")
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.3, 1.12), ncols=2, frameon=False)
    return fig
