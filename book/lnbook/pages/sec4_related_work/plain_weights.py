r"""Section 4's re-parameterizations: the plain network that a normalized one is, where there is one.

Eq. (5) gives a unit $\frac{g_i}{\sigma_i}(w_i^\top x-\mu_i)+b_i$. If neither $\mu_i$ nor $\sigma_i$ depends
on x, this is a plain unit with other weights. Section 4 also names the path norm, a size of a rectifier
network's weights that no re-scaling of its units changes.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.normalize import weight_norm
from lnlib.rnn import LSTM, RNN

Units = Float[Tensor, " H"]


def plain_weights(
    W: Float[Tensor, "H D"], b: Units, gain: Units, mean: Units, std: Units
) -> tuple[Float[Tensor, "H D"], Units]:
    r"""Eq. (5) multiplied out: $w_i'=\frac{g_i}{\sigma_i}w_i$, $b_i'=b_i-\frac{g_i\mu_i}{\sigma_i}$."""
    return W * (gain / std).unsqueeze(1), b - gain * mean / std


@torch.no_grad()
def plain_lstm(lstm: LSTM) -> nn.LSTM:
    """torch's LSTM of one layer that computes what a weight-normalized one does."""
    plain = nn.LSTM(lstm.input_size, lstm.hidden_size, dtype=lstm.weight_hh_l0.dtype)
    p = lstm.state_dict()
    for weight in ("weight_ih_l0", "weight_hh_l0"):
        p[weight] = weight_norm(p[weight], p.pop(weight.replace("weight", "gain")))
    plain.load_state_dict(p)
    return plain


@torch.no_grad()
def plain_steps(rnn: RNN) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For each step of a batch-normalized RNN at test time: weights of input and state, and the bias."""
    p = rnn.state_dict()
    b, gain, steps = p["bias_ih_l0"] + p["bias_hh_l0"], p["gain_ih_l0"], []
    for mean, var in zip(p["running_mean_ih_l0"], p["running_var_ih_l0"], strict=True):
        std = (var + rnn.eps).sqrt()
        U, c = plain_weights(p["weight_ih_l0"], b, gain, mean, std)
        V, _ = plain_weights(p["weight_hh_l0"], b, gain, mean, std)
        steps.append((U, V, c))
    return steps


def affine_misfit(x: Float[Tensor, "N D"], values: Float[Tensor, "N H"]) -> float:
    """Share of the values' variance, in %, that the best affine map of x misses: 0 for a plain layer."""
    inputs = torch.cat([x, x.new_ones(len(x), 1)], 1)
    fit = inputs @ torch.linalg.lstsq(inputs, values, driver="gelsd").solution
    return float(100 * (values - fit).square().sum() / (values - values.mean(0)).square().sum())


def path_norm(layers: Sequence[tuple[Float[Tensor, "_ _"], Float[Tensor, " _"]]]) -> Float[Tensor, ""]:
    r"""$\phi = \Big(\sum_{\text{paths}}\prod_{e\in\text{path}} w_e^2\Big)^{1/2}$ for layers (W, b).

    A path leads to an output from an input or from a bias, the weight of a unit that is always 1.

    *Source* Neyshabur, Salakhutdinov, Srebro, "Path-SGD" (2015), with p = 2.
    """
    reaching = torch.ones_like(layers[0][0][0])
    for W, b in layers:
        reaching = W.square() @ reaching + b.square()
    return reaching.sum().sqrt()
