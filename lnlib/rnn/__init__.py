"""Recurrent networks with a normalization inside, in torch.nn's shape."""

from lnlib.rnn.backends import Backend, backend, plain
from lnlib.rnn.layers import GRU, LSTM, RNN
from lnlib.rnn.variants import VARIANTS, Variant

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "VARIANTS",
    "Backend",
    "Variant",
    "backend",
    "plain",
]
