"""Whether what is truly above violates less than what is not: the area under the ROC curve."""

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from lnbook.data.captions import Captioned
from lnbook.data.scenes import above
from lnbook.pages.sec6_1_order_embeddings.experiment import Embedding
from lnbook.pages.sec6_1_order_embeddings.model import violations

STRIDE = 7  # every so manieth caption is looked at


@torch.no_grad()
def agreement(made: Embedding, part: Captioned) -> dict[str, float]:
    """How well violations tell what is truly above what in generated scenes, whose true order is known.

    `pictures` and `captions` are the areas, 0.5 for a guess, for captions above pictures and for captions
    above captions, for which nothing was trained. `direction`: how often the true direction violates
    less, where only one of two captions is above the other.
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
    return found | {"direction": float((tables[1] < tables[1].T).numpy()[order & ~order.T].mean())}
