"""Recurrent networks with a normalization inside, in torch.nn's shape."""

from lnlib.rnn.backends import Backend, backend, plain
from lnlib.rnn.foreign import from_addons, from_haste, from_keras
from lnlib.rnn.layers import GRU, LSTM, RNN
from lnlib.rnn.quantization import Quantized, quantized
from lnlib.rnn.variants import VARIANTS, Variant

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "VARIANTS",
    "Backend",
    "Quantized",
    "Variant",
    "backend",
    "from_addons",
    "from_haste",
    "from_keras",
    "plain",
    "quantized",
]
