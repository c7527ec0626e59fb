"""Models that are trained on the page, and whether what is truly above violates less than what is not.

That is told by the area under the ROC curve, 0.5 for a model that knows nothing.
"""

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from lnbook.data.captions import Captioned, Captions, load_captions
from lnbook.data.scenes import above
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, Embedding
from lnbook.pages.sec6_1_order_embeddings.model import violations
from lnbook.shared import turns
from lnbook.training import Job, Machine, noise_of, torch_threads

STRIDE = 7  # every so manieth caption is looked at


def trained(captions: Captions, job: Job) -> Embedding:
    """A run to its last update on one thread, with nothing measured on the way."""
    task, noise = Embedding(captions, Machine(), job), noise_of(job["seed"], 0)
    with torch_threads(1):
        for _ in range(task.updates):
            turns.update(task, next(task.batches), noise)
    return task


def learned(seed: int, updates: int) -> tuple[dict[str, float], dict[str, float]]:
    """The agreement on test scenes of a small model with layer norm, before its training and after it."""
    job = EXPERIMENT.jobs("smoke", seed)[1] | {"updates": updates, "every": updates}
    scenes = load_captions("scenes")
    made = Embedding(scenes, Machine(), job), trained(scenes, job)
    before, after = (agreement(each, scenes.parts["test"]) for each in made)
    return before, after


@torch.no_grad()
def agreement(made: Embedding, part: Captioned) -> dict[str, float]:
    """How well violations tell what is truly above what in generated scenes, whose true order is known.

    `pictures` and `captions` are the areas under the ROC curves of captions above pictures, and of captions
    above captions, for which nothing was trained. `direction`: among captions of which one is truly above
    the other and not the other way round, how often its violation is the smaller one.
    """
    scenes, told = part.meaning[0], part.meaning[1][::STRIDE]
    captions = made.points(*made.encoded(part.texts[::STRIDE]))
    tables = violations(captions, made.images("test")), violations(captions, captions)
    of_scenes, order = (np.array([[above(u, v) for v in some] for u in told]) for some in (scenes, told))
    truths = of_scenes, order & ~np.eye(len(told), dtype=bool)
    found = {
        name: float(roc_auc_score(truth.ravel(), -table.double().numpy().ravel()))
        for name, table, truth in zip(("pictures", "captions"), tables, truths, strict=True)
    }
    down = (tables[1] < tables[1].T).numpy()
    return found | {"direction": float(down[order & ~order.T].mean())}
