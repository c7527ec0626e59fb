"""Three norms at several step sizes each, with seeds that no rule has seen.

An experiment of its own, so that its record keeps the rules that were written before its runs: each network's
step size is chosen on validation pictures.
"""

from dataclasses import replace

from lnbook.pages.sec6_7_convnets import experiment
from lnbook.pages.sec6_7_convnets.experiment import PLAIN, RATE, RATES, Study

FIRST = 100  # seed
STUDIES = {
    "smoke": [Study(PLAIN, "digits", epochs=1, seeds=2, rows=2, rates=(RATE, RATES[0]))],
    "study": [
        Study(PLAIN, "fashion_mnist", epochs=2, seeds=5, rows=20, rates=(RATE, *RATES)),
    ],
}


EXPERIMENT = replace(
    experiment.EXPERIMENT,
    name="convnet_own",
    jobs=lambda scale, seed: experiment.jobs_of(STUDIES, scale, seed + FIRST),
)
