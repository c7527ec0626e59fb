"""Recurrent networks with a normalization inside, in torch.nn's shape."""

from lnlib.rnn.backends import Backend, plain
from lnlib.rnn.network import GRU, LSTM, RNN, backend
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
