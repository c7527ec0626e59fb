"""Section 2's pictures: batches, their statistics and their noise."""

import numpy as np
from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.pages.sec2_background.batches import StepErrors

NONE, BATCH, INK = plots.COLORS["none"], plots.COLORS["batch"], plots.INK


def by_step(errors: StepErrors, batch: int) -> Figure:
    """Who is left to average over at each step, and what shared and separate statistics get wrong."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    step = np.arange(1, len(errors.running) + 1)
    left.plot(step, errors.running, color=NONE, ls=":", label="sentences that still run")
    left.plot(step, errors.missing, color=BATCH, ls="--", label=f"batches of {batch} with fewer than 2")
    left.set(xlabel="step $t$", title="share (%)", ylim=(0, 130), yticks=range(0, 101, 20))
    left.legend(loc="upper right")
    right.plot(step, errors.shared, color=INK, label="shared by all steps")
    right.plot(step, errors.average, color=BATCH, ls="--", label=f"separate, batches of {batch}")
    right.set(xlabel="step $t$", title=r"error of a unit's $\sigma$ (%)")
    right.set_ylim(0, 1.3 * max(errors.average.max(), errors.shared.max()))
    right.legend(loc="upper left")
    return fig
