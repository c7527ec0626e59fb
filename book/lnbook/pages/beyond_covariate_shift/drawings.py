"""The covariate shift chapter's picture: trust in a step."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lnbook.figures import axes as on
from lnbook.figures import plots

NORMS = {"none": "no norm", "batch": "batch norm", "layer": "layer norm"}


def trust(panels: Mapping[str, Mapping[str, Mapping[str, Float[np.ndarray, "S T"]]]]) -> Figure:
    """Sharpness and reach while the loss falls, one column per network; geometric means over the starts."""
    fig, axes = plots.subplots(2, len(panels), figsize=(7.4, 5), sharex=True, sharey="row")
    for column, (title, runs) in zip(axes.T, panels.items(), strict=True):
        for norm, run in runs.items():
            loss, *both = (np.exp(np.log(run[name]).mean(0)) for name in ("loss", "sharpness", "reach"))
            for ax, values in zip(column, both, strict=True):
                ax.loglog(
                    loss, values, "o", ms=4, color=plots.COLORS[norm], ls=plots.LINES[norm], label=NORMS[norm]
                )
        column[0].set_title(title)
        column[1].set(xlabel="loss (nats), falling")
        on.plain(column[1].xaxis, numticks=6)
    axes[0, 0].invert_xaxis()
    axes[0, 0].set_ylabel("sharpness")
    axes[1, 0].set_ylabel("reach")
    on.plain(*(ax.yaxis for ax in axes[:, 0]), numticks=6)
    axes[0, 0].legend()
    return fig
