r"""What an epsilon does to the re-scaling cells of Table 1, exactly, and which one programs use."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

__all__ = ["EPS_DEFAULTS", "EpsDefault", "eps_factor"]


def eps_factor(power: Float[Tensor, "..."], eps: float, delta: float) -> Float[Tensor, "..."]:
    r"""The factor by which a scale changes normalized values when `eps` is added to the variance.

    $$\frac{\delta d}{\sqrt{\delta^2 s^2+\epsilon}} = \operatorname{sgn}(\delta)
    \sqrt{\frac{s^2+\epsilon}{s^2+\epsilon/\delta^2}}\;\frac{d}{\sqrt{s^2+\epsilon}}$$

    *Source* ours: the paper prints no epsilon. :func:`prove_eps_factor` is its proof. Weight norm has no
    epsilon and therefore no such factor.

    `power` is $s^2$ before the scale: the variance of what is normalized together, or its mean square
    (RMSNorm). For an `eps` of 0 the factor is the sign of `delta`, otherwise between that and `delta`.

    >>> import torch
    >>> eps_factor(torch.tensor([1e-5, 1.0], dtype=torch.float64), eps=1e-5, delta=2.0)
    tensor([1.2649, 1.0000], dtype=torch.float64)
    """
    factor = ((power + eps) / (power + eps / delta**2)).sqrt()
    return factor if delta > 0 else -factor


class EpsDefault(NamedTuple):
    """What a program adds to the variance (or mean square) unless told otherwise."""

    program: str
    eps: float
    norm: str = "layer"


#: Defaults as documented or coded by each; all of them are added to the variance, under the root.
EPS_DEFAULTS = (
    EpsDefault("Keras", 1e-3),  # keras.layers.LayerNormalization(epsilon=0.001)
    EpsDefault("TensorFlow Addons LSTM", 1e-3),  # tfa.rnn.LayerNormLSTMCell(norm_epsilon=1e-3)
    EpsDefault("PyTorch", 1e-5),  # torch.nn.LayerNorm(eps=1e-05)
    EpsDefault("MXNet", 1e-5),  # mxnet.gluon.nn.LayerNorm(epsilon=1e-05)
    EpsDefault("PaddlePaddle", 1e-5),  # paddle.nn.LayerNorm(epsilon=1e-05)
    EpsDefault("ONNX", 1e-5),  # operator LayerNormalization, attribute epsilon
    EpsDefault("Haiku", 1e-5),  # hk.LayerNorm(eps=1e-05)
    EpsDefault("the authors' Theano layers", 1e-5),  # _eps in the layers of kiros2016code
    EpsDefault("Flax", 1e-6),  # flax.linen.LayerNorm(epsilon=1e-06)
    EpsDefault("Tensor2Tensor", 1e-6),  # common_layers.layer_norm(epsilon=1e-6)
    EpsDefault("T5", 1e-6, "rms"),  # transformers.T5Config(layer_norm_epsilon=1e-6)
    EpsDefault("BERT", 1e-12),  # transformers.BertConfig(layer_norm_eps=1e-12)
    EpsDefault("TensorFlow 1 contrib", 1e-12),  # tf.contrib.layers.layer_norm, variance_epsilon = 1e-12
)
