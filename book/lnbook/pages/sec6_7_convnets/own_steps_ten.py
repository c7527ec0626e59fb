"""The same norms over ten passes: an experiment of its own, since its runs take longer than those of two."""

from dataclasses import replace

from lnbook.pages.sec6_7_convnets import experiment, own_steps
from lnbook.pages.sec6_7_convnets.experiment import LONGER, PLAIN, RATE, Study

STUDIES = {
    "smoke": own_steps.STUDIES["smoke"],
    "study": [Study(PLAIN, "fashion_mnist", epochs=10, seeds=5, rows=20, rates=(RATE, *LONGER))],
}
EXPERIMENT = replace(
    own_steps.EXPERIMENT,
    name="convnet_own_ten",
    jobs=lambda scale, seed: experiment.jobs_of(STUDIES, scale, seed + own_steps.FIRST),
)
