r"""The epsilons of public programs: how large, where they sit, and what follows from that.

The place matters as much as the size. *Inside the root* the divisor is $\sqrt{\sigma^2+\epsilon}$, *outside*
it is $\sigma+\epsilon$. All that follows from size and place alone is computed here.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.ledger.tables import Table
from lnlib.invariance import EPS_DEFAULTS, eps_factor

Place = Literal["inside", "outside"]
SITES = {
    "Keras": "https://github.com/keras-team/keras/blob/master/keras/src/layers/normalization/layer_normalization.py",
    "TensorFlow Addons LSTM": "https://www.tensorflow.org/addons/api_docs/python/tfa/rnn/LayerNormLSTMCell",
    "PyTorch": "https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html",
    "MXNet": "https://mxnet.apache.org/versions/master/api/python/docs/api/npx/generated/mxnet.npx.layer_norm.html",
    "PaddlePaddle": "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/nn/LayerNorm_en.html",
    "ONNX": "https://onnx.ai/onnx/operators/onnx__LayerNormalization.html",
    "Haiku": "https://github.com/google-deepmind/dm-haiku/blob/main/haiku/_src/layer_norm.py",
    "the authors' Theano layers": "https://github.com/ryankiros/layer-norm/blob/master/layers.py",
    "Flax": "https://github.com/google/flax/blob/main/flax/linen/normalization.py",
    "Tensor2Tensor": "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_layers.py",
    "T5": "https://huggingface.co/docs/transformers/model_doc/t5",
    "BERT": "https://huggingface.co/docs/transformers/model_doc/bert",
    "TensorFlow 1 contrib": "https://github.com/tensorflow/tensorflow/blob/r1.15/tensorflow/contrib/layers/python/layers/layers.py",
}


class Program(NamedTuple):
    """A program's default: its size, its place, whether the variance is biased, and where that is written."""

    name: str
    eps: float
    place: Place
    link: str
    biased: bool = True


# Read in the code or the documentation behind each link; PyTorch's and ONNX's are also run by the tests.
ATLAS = (
    *(Program(d.program, d.eps, "inside", SITES[d.program]) for d in EPS_DEFAULTS),
    Program(
        "MindSpore",
        1e-7,
        "inside",
        "https://www.mindspore.cn/docs/en/br_base/api_python/nn/mindspore.nn.LayerNorm.html",
    ),
    Program("MLX", 1e-5, "inside", "https://github.com/ml-explore/mlx/blob/main/mlx/fast.cpp"),
    Program(
        "Equinox",
        1e-5,
        "inside",
        "https://github.com/patrick-kidger/equinox/blob/main/equinox/nn/_normalisation.py",
    ),
    Program(
        "Chainer",
        1e-6,
        "inside",
        "https://github.com/chainer/chainer/blob/master/chainer/links/normalization/layer_normalization.py",
    ),
    Program(
        "lstms.pth",
        1e-6,
        "inside",
        "https://github.com/seba-1511/lstms.pth/blob/master/lstms/normalize.py",
        biased=False,
    ),
    Program(
        "the authors' Lua layer",
        1e-5,
        "outside",
        "https://github.com/ryankiros/layer-norm/blob/master/torch_modules/LayerNormalization.lua",
    ),
    Program("CNTK", 1e-5, "outside", "https://microsoft.github.io/CNTK-R/reference/LayerNormalization.html"),
    Program(
        "Flux.jl (2022)",
        1e-5,
        "outside",
        "https://github.com/FluxML/Flux.jl/blob/f943531783da3adc96599a1bc825e93e8875939f/src/layers/stateless.jl",
    ),
    Program(
        "The Annotated Transformer",
        1e-6,
        "outside",
        "https://github.com/harvardnlp/annotated-transformer",
        biased=False,
    ),
)


def loudness(std: Float[Tensor, "*N"], eps: float, place: Place) -> Float[Tensor, "*N"]:
    r"""The standard deviation that comes out: $s/\sqrt{s^2+\epsilon}$ inside, $s/(s+\epsilon)$ outside."""
    return std / ((std.square() + eps).sqrt() if place == "inside" else std + eps)


def short_below(eps: float, place: Place, by: float = 0.01) -> float:
    r"""The standard deviation below which outputs are too small by more than the share `by`.

    With $q = 1 - \mathtt{by}$ it is $\sqrt{\epsilon}\,q/\sqrt{1-q^2}$ inside the root and $\epsilon\,q/(1-q)$
    outside: :func:`loudness` solved for what goes in.
    """
    q = 1 - by
    return math.sqrt(eps) * q / math.sqrt(1 - q * q) if place == "inside" else eps * q / by


def gain_at_zero(eps: float, place: Place) -> float:
    r"""By how much tiny differences are multiplied: $1/\sqrt\epsilon$ inside the root, $1/\epsilon$ outside.

    It bounds the gradient of a quiet case; in float16 it is infinite for an epsilon below 2.3e-10 inside the
    root, or 1.5e-5 outside. It is the limit of `loudness(s) / s` for small s.
    """
    return 1 / (math.sqrt(eps) if place == "inside" else eps)


def factor(std: Float[Tensor, "*N"], eps: float, place: Place, delta: float) -> Float[Tensor, "*N"]:
    r"""By how much outputs change when what goes in is multiplied by `delta`: 1 without an epsilon.

    Inside the root $\sqrt{(s^2+\epsilon)/(s^2+\epsilon/\delta^2)}$ (:func:`lnlib.invariance.eps_factor`),
    outside $(s+\epsilon)/(s+\epsilon/\delta)$: what Table 1's re-scaling cells become.
    """
    if place == "inside":
        return eps_factor(std.square(), eps, delta)
    return (std + eps) / (std + eps / delta)


def stored(eps: float, dtype: torch.dtype) -> float:
    """An epsilon as a dtype stores it: 0 up to half of its smallest number.

    >>> stored(1e-12, torch.float16), stored(1e-12, torch.bfloat16) > 0
    (0.0, True)
    """
    return float(torch.tensor(eps, dtype=torch.float64).to(dtype))


class AtlasTable(Table):
    """Programs and what their epsilons do, in the order given; in a page each name is a link.

    >>> AtlasTable([Program("Mine", 1e-12, "inside", "https://example.org")])
    | program | epsilon | of the root | 1 % short below | gain at zero | in float16 |
    | --- | --- | --- | --- | --- | --- |
    | Mine https://example.org | 1e-12 | inside | 7.0e-06 | 1,000,000 | 0 |
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        header = ("program", "epsilon", "of the root", "1 % short below", "gain at zero", "in float16")
        rows = [
            (
                f"{p.name} {p.link}",
                f"{p.eps:g}",
                p.place,
                f"{short_below(p.eps, p.place):.1e}",
                f"{gain_at_zero(p.eps, p.place):,.0f}",
                f"{stored(p.eps, torch.float16):.3g}",
            )
            for p in programs
        ]
        super().__init__(header, rows)

    @staticmethod
    def _cell(column: str, text: str) -> str:
        name, _, rest = text.partition(" https://")
        shown = f'<a href="https://{escape(rest)}">{escape(name)}</a>' if rest else escape(text)
        return f'<td data-column="{escape(column)}">{shown}</td>'
