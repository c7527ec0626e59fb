"""Recurrent networks with a normalization inside, in torch.nn's shape."""

from lnlib.rnn.layers import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN"]
