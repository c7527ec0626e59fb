"""Section 6.6's own short runs: five small networks in the first epoch."""

import pandas as pd

from lnbook import curves
from lnbook.shared.permutation_mnist import EXPERIMENT
from lnbook.training.runs import run


def rows(scale: str, seed: int) -> pd.DataFrame:
    """Measurements of one run of each network at batches of 128."""
    jobs = [j for j in EXPERIMENT.jobs(scale, seed) if j["batch_size"] == 128 and j["seed"] == seed]
    outcomes = run(EXPERIMENT, scale, jobs=jobs, processes=1)
    return curves.runs([row for outcome in outcomes for row in outcome.rows])
