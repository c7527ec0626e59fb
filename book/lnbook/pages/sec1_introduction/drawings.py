"""Section 1's picture: one network at three batch sizes."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.shared.learning_curves import Curve, lines


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
