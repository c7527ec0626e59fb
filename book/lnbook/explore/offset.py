"""The offset: layer norm removes what is added to every component, RMSNorm keeps it."""

import numpy as np
import torch

from lnbook.explore.element import Element, two_decimals
from lnlib.norms.normalize import layer_norm, rms_norm

RANGE = 3.0  # of the slider, while the summed inputs have a standard deviation of about 1.2


def offset(*, seed: int = 0) -> Element:
    r"""$a = Wx + c\,\mathbf 1$, its layer norm and its RMSNorm, both without epsilon.

    This is $(W + c\,\mathbf 1\gamma^\top)\,x$ where $\gamma^\top x = 1$. $I - \frac1H
    \mathbf 1\mathbf 1^\top$ before the weights makes RMSNorm equal layer norm.

    *Source* Eq. (7) and its proof; RMSNorm is Zhang and Sennrich (2019); the figure is ours.
    """
    rng = np.random.default_rng(seed)
    x = np.round(rng.choice([-1, 1], 3) * rng.uniform(0.5, 1.5, 3), 2)
    W = rng.normal(size=(5, 3))
    a = W @ x  # to be of mean 0.6 and std 1.2, nearly
    W = (W - np.outer(np.full(5, a.mean()), x) / (x @ x)) * 1.2 / a.std() + 0.6 * x / (x @ x)
    W = np.round(W, 2) + 0.0
    settings = {f"c = {c:g}".replace("-", "−"): W @ x + c for c in (-RANGE, 0.0, RANGE)}
    settings[f"c = {RANGE:g}, weights centered"] = (W - W.mean(0)) @ x
    rows = []
    for name, values in settings.items():
        given = torch.from_numpy(values)
        outputs = (given, layer_norm(given, eps=0.0), rms_norm(given, eps=0.0))
        rows.append([name, *(", ".join(map(two_decimals, out.tolist())) for out in outputs)])
    caption = (
        "A number c is added to all summed inputs. Layer norm removes it. RMSNorm keeps it, unless the "
        "weights are centered first: then the two are equal."
    )
    state = {"W": W.tolist(), "x": x.tolist(), "range": RANGE}
    return Element("offset", state, caption, ["", "summed inputs", "layer norm", "RMSNorm"], rows)
