r"""`RNN`, `LSTM`, `GRU`: torch.nn's modules with a normalization inside.

Constructor, call, shapes, state layout, parameter names and errors are those of `torch.nn`, from which the
classes inherit; what normalization adds stands behind the star.

==============  =======================================================  ==========================
parameter       what                                                     where
==============  =======================================================  ==========================
`gain_ih_l0`    gain of the input's projection, or of the sum ("joint")  all but none
`gain_hh_l0`    gain of the state's projection                           "separate" gates, weight
`gain_cell_l0`  gain and bias of an LSTM's cell on its way to h          layer, rms, batch
`bias_cell_l0`
`bias_inner_l0` bias inside the normalization of the input's projection  variant "released"
                (and `bias_inner_hh_l0`: of the state's)
`initial_h_l0`  the state before the first step, and an LSTM's cell      learn_initial_state
`initial_c_l0`
==============  =======================================================  ==========================

`bias_ih_l0` and `bias_hh_l0` are the biases that the two normalizations add: after them, not before.
"""

from __future__ import annotations

from torch import nn

from lnlib.rnn.network import Normalized

__all__ = ["GRU", "LSTM", "RNN"]


class RNN(Normalized, nn.RNN):
    r"""An Elman network, its summed inputs normalized: Eq. (4).

    Arguments as `torch.nn.RNN`, then those of :class:`LSTM` behind the star but `recurrent_dropout`.

    >>> RNN(5, 4, nonlinearity="relu", variational_dropout=0.1)
    RNN(5, 4, norm=layer, variational_dropout=0.1)
    """


class LSTM(Normalized, nn.LSTM):
    r"""A layer-normalized LSTM: Eqs. (20)-(22).

    Args:
        *args, **kwargs: `torch.nn.LSTM`'s.
        norm: "layer", "rms", "weight", "batch" (recurrent batch norm: :mod:`lnlib.rnn.statistics`), "none".
        variant: what is normalized where: a name or row of :data:`lnlib.rnn.variants.VARIANTS`.
        eps: added to a variance. A step from a zero state over a zero input multiplies gradients by up to
            1 / sqrt(eps) in each normalization: standardize inputs that begin with blank steps.
        forget_bias: added to the forget gate's bias at the start.
        zoneout: how often an entry of the state, h and c or each its own number, keeps its old value;
            evaluation takes the mean (Krueger et al., 2016).
        recurrent_dropout: how often an entry of the candidate is dropped (Semeniuta et al., 2016).
        variational_dropout: how often an entry of each layer's input, and of h on its way to the gates, is
            dropped: one mask a sequence and call (Gal and Ghahramani, 2016).
        learn_initial_state: train the state that a sequence starts from.
        memory: "save" what the backward pass needs, or "recompute" most of it from every sqrt(T)-th state.
        max_steps: batch norm's: how many steps have running statistics of their own.
        momentum: batch norm's: the weight of the newest batch once there were 1 / momentum; None for the mean
            of all.

    As torch.nn's own, it is left out of what torch.compile compiles, and runs on its own compiled code; with
    `torch._dynamo.config.allow_rnn = True` it is compiled in one graph, whose loop over time is unrolled.

    Under autocast, norm "none" is torch.nn's own path, numbers and dtypes. With any other norm the products
    are in autocast's type, statistics in float32, and what is normalized, bias included, keeps its dtype; an
    LSTM's cell and a GRU's h, which are sums over time, and an LSTM's output stay in that of the states.

    >>> import torch
    >>> lstm = LSTM(5, 4, num_layers=2)
    >>> output, (h, c) = lstm(torch.zeros(7, 3, 5))
    >>> output.shape, h.shape, c.shape
    (torch.Size([7, 3, 4]), torch.Size([2, 3, 4]), torch.Size([2, 3, 4]))

    Weight decay: an optimizer of torch decays all that it is given, gains and initial states too. Trainers
    that leave out parameters of fewer than two axes (nanoGPT's, timm's) leave those out; trainers that go by
    the name "bias" and by the type or name of a norm's layer (that of transformers) decay `gain_*` and
    `initial_*`, which belong to the network itself. To decay the matrices alone, whatever the trainer:

    >>> matrices, others = ([p for p in lstm.parameters() if (p.ndim > 1) == m] for m in (True, False))
    >>> groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    >>> optimizer = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.01)
    """


class GRU(Normalized, nn.GRU):
    r"""A layer-normalized GRU: Eqs. (26)-(28).

    Arguments as `torch.nn.GRU`, then those of :class:`LSTM` behind the star but `forget_bias`.

    >>> gru = GRU(5, 4, norm="batch", max_steps=7)
    >>> gru.running_mean_hh_l0.shape
    torch.Size([7, 12])
    """
