"""Section 1's pictures: one network at three batch sizes, and one case at a time."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.learning_curves import Curve, lines

__all__ = ["learning_curves", "training_losses"]


def learning_curves(panels: Mapping[int, Mapping[str, Curve]]) -> Figure:
    """Test error in percent against updates, log scale: one panel per batch size, one band per method."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.4, 3.3), sharey=True)
    for ax, (batch_size, curves) in zip(axes, panels.items(), strict=True):
        lines(ax, curves.items(), least=1e-9)
        ax.set(title=f"batch of {batch_size}", xlabel="updates", yscale="log", ylim=(2, 100))
        ax.set_yticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()
    axes[0].set_ylabel("test error (%)")
    axes[0].legend(loc="upper right")
    return fig


def training_losses(curves: Mapping[str, Curve], chance: float) -> Figure:
    """Training loss in nats against updates, and the loss of always answering with the class frequencies."""
    fig, ax = plots.subplots(figsize=(6.4, 3.0))
    lines(ax, curves.items())
    end = max(curve["update"][-1] for curve in curves.values())
    ax.axhline(chance, color=plots.INK, linewidth=0.8)
    ax.annotate("class frequencies alone", (end, chance), (0, 5), textcoords="offset points", ha="right")
    ax.set(xlabel="updates", ylabel="training loss (nats)", ylim=(0, 1.5 * chance))
    ax.legend(loc="lower left")
    return fig
