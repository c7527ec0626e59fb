r"""The normalizations as rows of Table 1, and what an epsilon does to them.

==========  ====================================================================  ==================
row         divides by                                                            in the paper
==========  ====================================================================  ==================
none        nothing                                                               Eq. (1)
batch       each unit's standard deviation over the cases (and space)             Table 1
weight      each weight vector's Euclidean norm                                   Table 1
layer       each case's standard deviation over the units (and space)             Table 1
rms         each case's root mean square over the units, no mean removed          (later)
group       each case's standard deviation over half of the units (and space)     (later)
instance    each case's standard deviation over space, unit by unit               (later)
input       each case's standard deviation over its *features*, before W          Section 5.1, prose
==========  ====================================================================  ==================

A fully connected layer has no space, and there instance norm would divide 0 by 0. Its row of the table
therefore gives each case several positions that share the weights, as the patches of a picture do in a
convolution.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.invariance.transformations import Transformation
from lnlib.norms.batch import batch_norm, batch_norm_by
from lnlib.norms.normalize import group_norm, instance_norm, layer_norm, rms_norm

__all__ = ["EPS_DEFAULTS", "METHODS", "EpsDefault", "eps_factor", "normalized", "statistics", "summed_inputs"]

#: The rows of the table: Table 1 has "batch", "weight" and "layer".
METHODS = ("none", "batch", "weight", "layer", "rms", "group", "instance", "input")
GROUPS = 2  # of group norm
Statistics = tuple[Float[Tensor, " H"], Float[Tensor, " H"]]


def summed_inputs(
    norm: str,
    W: Float[Tensor, "H D"],
    X: Float[Tensor, "N *space D"],
    *,
    eps: float = 0.0,
    input_bias: Float[Tensor, " H"] | None = None,
    by: Transformation | None = None,
) -> Float[Tensor, "N H *space"]:
    r"""What the normalization of a row receives: $a_n = W x_n + \beta$, units before space.

    *Source* Eq. (1). The bias $\beta$ *inside* is ours: the paper adds its bias after the normalization.

    For the row "input" the features are layer-normalized first, with `eps`. `by` is applied on the way.
    Raises ValueError for an unknown row.

    >>> summed_inputs("layer", torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[11.,  4.]])
    """
    if norm not in METHODS:
        raise ValueError(f"no normalization is called {norm!r}; choose one of {METHODS}")
    by = by or Transformation()
    W, X = by.weights(W), by.data(X)
    if norm == "input":
        X = layer_norm(X, eps=eps)
    a = X @ W.T
    if input_bias is not None:
        a = a + input_bias
    return by.summed(a.movedim(-1, 1))


def normalized(
    norm: str,
    W: Float[Tensor, "H D"],
    X: Float[Tensor, "N *space D"],
    *,
    eps: float = 0.0,
    input_bias: Float[Tensor, " H"] | None = None,
    frozen: Statistics | None = None,
    by: Transformation | None = None,
) -> Float[Tensor, "N H *space"]:
    r"""The normalized summed inputs of a layer, before gain, bias and non-linearity.

    $\bar a = (a - \mu)/\sqrt{\sigma^2 + \epsilon}$ with the statistics of the row.

    *Source* Eq. (5) with $g = 1$, $b = 0$.

    Args:
        norm, W, X, eps, input_bias, by: as for :func:`summed_inputs`. Weight norm has no eps: it divides by
            $\lVert w_i\rVert$, a number that is 0 for a useless unit only.
        frozen: for "batch", stored means and variances to use in place of those of the cases.

    >>> normalized("layer", torch.eye(2), torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """
    a = summed_inputs(norm, W, X, eps=eps, input_bias=input_bias, by=by)
    match norm:
        case "batch" if frozen is not None:
            return batch_norm_by(a, *frozen, eps=eps)
        case "batch":
            return batch_norm(a, eps=eps)
        case "weight":
            return a / scales(norm, a, W if by is None else by.weights(W))
        case "layer":
            return layer_norm(a.flatten(1), eps=eps).reshape(a.shape)
        case "rms":
            return rms_norm(a.flatten(1), eps=eps).reshape(a.shape)
        case "group":
            return group_norm(a, GROUPS, eps=eps)
        case "instance":
            return instance_norm(a, eps=eps)
        case _:
            return a


def statistics(a: Float[Tensor, "N H *space"]) -> Statistics:
    """Mean and biased variance of each unit over the cases and space: what batch norm freezes.

    >>> statistics(torch.tensor([[1.0, 0.0], [3.0, 8.0]]))
    (tensor([2., 4.]), tensor([ 1., 16.]))
    """
    others = [axis for axis in range(a.ndim) if axis != 1]
    return a.mean(others), a.var(others, correction=0)


def scales(norm: str, a: Float[Tensor, "N H *space"], W: Float[Tensor, "H D"]) -> Float[Tensor, "..."]:
    """What each summed input is divided by without eps, in a shape that divides `a`; 1 for nothing.

    >>> scales("batch", torch.tensor([[1.0, 0.0], [3.0, 8.0]]), torch.eye(2))
    tensor([[1., 4.]])
    """
    space = list(range(2, a.ndim))
    match norm:
        case "weight":
            return W.norm(dim=1).view(-1, *[1] * len(space))
        case "rms":
            return a.square().mean([1, *space], keepdim=True).sqrt()
        case "group":
            std = a.reshape(len(a), GROUPS, -1).std(-1, correction=0)
            return std.repeat_interleave(a.shape[1] // GROUPS, 1).view(*a.shape[:2], *[1] * len(space))
        case "batch" | "layer" | "instance":
            over = {"batch": [0, *space], "layer": [1, *space], "instance": space}[norm]
            return a.std(over, correction=0, keepdim=True)
        case _:
            return torch.ones_like(a)


def eps_factor(power: Float[Tensor, "..."], eps: float, delta: float) -> Float[Tensor, "..."]:
    r"""The factor by which a scale changes normalized values when `eps` is added to the variance.

    $$\frac{\delta d}{\sqrt{\delta^2 s^2+\epsilon}} = \operatorname{sgn}(\delta)
    \sqrt{\frac{s^2+\epsilon}{s^2+\epsilon/\delta^2}}\;\frac{d}{\sqrt{s^2+\epsilon}}$$

    *Source* ours: the paper prints no epsilon. :func:`prove_eps_factor` is its proof. Weight norm has no
    epsilon and therefore no such factor.

    `power` is $s^2$ before the scale: the variance of what is normalized together, or its mean square
    (RMSNorm). For an `eps` of 0 the factor is the sign of `delta`, otherwise between that and `delta`.

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
