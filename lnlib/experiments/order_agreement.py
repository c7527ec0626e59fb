r"""How much order there is in an order embedding.

- Whether what is truly above violates less than what is not: the area under the ROC curve, 0.5 for a model
  that knows nothing (`agreement`).
- For points of length 1, $E(b,a) + E(a,b) = \lVert a-b\rVert^2 = 2 - 2a\cdot b$: a violation is half a
  distance, which has no direction, and half a difference, $E = \tfrac12(\lVert a-b\rVert^2 + A)$ with
  $A(b,a) = E(b,a) - E(a,b) = -A(a,b)$ (`direction`).
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.metrics import roc_auc_score
from torch import Tensor

from lnlib.data.captions import Captioned
from lnlib.data.scenes import Text, above
from lnlib.experiments.order_embedding import Embedding
from lnlib.experiments.order_embedding_model import violations

__all__ = ["agreement", "direction", "order_of", "points_of"]


def points_of(made: Embedding, texts: Sequence[str]) -> Float[Tensor, "C H"]:
    """The points of texts, without gradients."""
    with torch.no_grad():
        return made.points(*made.encoded(texts))


def order_of(general: Sequence[Text], special: Sequence[Text]) -> Bool[np.ndarray, "M N"]:
    """Whether each text of the first list truly stands above each of the second."""
    return np.array([[above(u, v) for v in special] for u in general])


def agreement(made: Embedding, part: Captioned, stride: int = 7) -> dict[str, float]:
    """The areas under the ROC curves: of captions above pictures, and of captions above captions.

    No pair of captions was ever trained for; theirs follows from the pictures'.

    Args:
        made: a task, trained or not.
        part: generated scenes, whose true order is known.
        stride: every so manieth caption is looked at.

    Raises ValueError for a part without a known order.
    """
    scenes, told = part.meaning
    if not scenes:
        raise ValueError("The true order is known of generated scenes only; these captions have none.")
    chosen = range(0, len(told), stride)
    captions = points_of(made, [part.texts[k] for k in chosen])
    with torch.no_grad():
        tables = violations(captions, made.images("test")), violations(captions, captions)
    texts = [told[k] for k in chosen]
    truths = order_of(texts, scenes), order_of(texts, texts) & ~np.eye(len(texts), dtype=bool)
    return {
        name: float(roc_auc_score(truth.ravel(), -table.double().numpy().ravel()))
        for name, table, truth in zip(("pictures", "captions"), tables, truths, strict=True)
    }


def direction(general: Float[Tensor, "M H"], special: Float[Tensor, "N H"]) -> dict[str, float]:
    """What a difference of directions contributes to the violations of all pairs.

    Args:
        general, special: points of length 1.

    Returns:
        `downward`: the share of pairs with E(general, special) below E(special, general).
        `symmetric`: the squared correlation of the violations with the distances.
    """
    down, up = violations(general, special).double(), violations(special, general).double().T
    both = torch.stack([down.flatten(), (down + up).flatten()])
    return {
        "downward": float((down < up).double().mean()),
        "symmetric": float(torch.corrcoef(both)[0, 1] ** 2),
    }
