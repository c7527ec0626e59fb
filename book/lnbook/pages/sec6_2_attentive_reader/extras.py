r"""What the public code of the attentive reader adds to the printed equations: all of this, or none.

With the letters of `lnbook.pages.sec6_2_attentive_reader.model`:

$$\tilde x = \frac{b \circ x}{1 - p}, \quad b_k \sim \mathrm{Bernoulli}(1 - p) \qquad \text{(dropout)},$$

applied to each word's vector, in passage and question, and to g, in training only;

$$m(t) = \tanh(W_{ym}\, y(t) + W_{um}\, u + \mathbf 1\, (B\,y(t))^\top (B\,u)) \qquad \text{(similarity)},$$

one number per word, the same for all units and never normalized;

$$h(0) = h_0 \text{ trained, from } 0, \qquad c(0) = 0 \qquad \text{(states)},$$

with a separate $h_0$ for the passage's and the question's LSTM (batch norm subtracts what all cases share,
and so ignores it);

$$g = \tanh\Bigl(W_{rg}\, r + W_{ug}\, u + W_{yg}\,\frac1T\sum_{t=1}^T y(t)\Bigr) \qquad \text{(mean)},$$

where the sum is over the T words of the passage; and a bias in each tanh and in the scores (biases).

*Source* The code that Cooijmans and others (2016) published, and the command that the paper's authors
published for layer norm, `--use_dq_sims 1 --learn_h0 1 --use_desc_skip_c_g 1` (given twice; the last counts).
The code has biases, and dropout at 0.5 unless told otherwise; the name of the authors' log says it was on.
"""

import torch
from torch import Tensor

RELEASED: dict[str, float] = {
    "dropout": 0.5,
    "similarity": True,
    "states": True,
    "mean": True,
    "biases": True,
}


def dropped(x: Tensor, rate: float, noise: torch.Generator | None) -> Tensor:
    """Entries of x dropped at a rate, the others divided by 1 - rate; at rate 0, nothing is drawn.

    The noise is on the CPU, so that all devices draw the same.

    >>> dropped(torch.ones(99), 0.75, torch.Generator().manual_seed(0)).unique()
    tensor([0., 4.])
    """
    if not rate:
        return x
    kept = torch.empty(x.shape).bernoulli_(1 - rate, generator=noise)
    return x * kept.to(x) / (1 - rate)
