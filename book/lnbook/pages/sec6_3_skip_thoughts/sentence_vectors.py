"""Vectors of sentences: a trained encoder's thoughts, and what needs no training at all."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from lnbook.pages.sec6_3_skip_thoughts.model import SkipThoughts
from lnbook.pages.sec6_3_skip_thoughts.word_vectors import expansion
from lnlib.rnn.layers import GRU

CHUNK = 500  # sentences at a time


def expanded(model: SkipThoughts, vectors: Float[np.ndarray, "W k"]) -> Float[Tensor, "W D"]:
    """The encoder's table of words, and below it what the words' vectors say of those that it lacks.

    Vectors are of the model's words in their order, then of the others. The first three are the special ones,
    which no map is fitted to.
    """
    known = model.words.weight.detach()
    table = known.double().cpu().numpy()
    new = expansion(vectors[3 : len(table)], table[3:], vectors[len(table) :])
    return torch.cat([known, torch.from_numpy(new).to(known)])


def thoughts(
    model: SkipThoughts, table: Float[Tensor, "W D"], ids: Int64[Tensor, "N T"], lengths: Int64[Tensor, " N"]
) -> Float[np.ndarray, "N H"]:
    """What the encoder makes of sentences, in evaluation mode and without gradients."""
    return _in_chunks(lambda a, n: model.encode(a.to(table.device), n, table), ids, lengths)


def bag_of_words(
    vectors: Float[np.ndarray, "W k"], ids: Int64[Tensor, "N T"], lengths: Int64[Tensor, " N"]
) -> Float[np.ndarray, "N k"]:
    """The mean of the words' vectors, whatever their order."""
    table = torch.from_numpy(vectors)
    return _in_chunks(lambda a, n: table[a].sum(1) / n[:, None], ids, lengths)  # padding's vector is zero


def random_states(
    vectors: Float[np.ndarray, "W k"],
    units: int,
    generator: torch.Generator,
    ids: Int64[Tensor, "N T"],
    lengths: Int64[Tensor, " N"],
) -> Float[np.ndarray, "N units"]:
    r"""The greatest value over time of each unit of a GRU that reads word vectors and has never learned.

    *Source* the random recurrent encoder of Wieting and Kiela (2019): word vectors that know something,
    weights uniform within $1/\sqrt{k}$, a maximum over the states.
    """
    size = vectors.shape[1]
    gru = GRU(size, units, norm="none", batch_first=True, dtype=torch.float64)
    for weight in gru.parameters():
        nn.init.uniform_(weight.detach(), -(size**-0.5), size**-0.5, generator=generator)
    table = torch.from_numpy(vectors)

    def pooled(a: Tensor, n: Tensor) -> Tensor:
        packed = pack_padded_sequence(a, n.cpu(), batch_first=True, enforce_sorted=False)
        states: PackedSequence = gru(packed._replace(data=table[packed.data]))[0]
        return pad_packed_sequence(states, batch_first=True, padding_value=-torch.inf)[0].amax(1)

    return _in_chunks(pooled, ids, lengths)


def _in_chunks(make: Callable[[Tensor, Tensor], Tensor], ids: Tensor, lengths: Tensor) -> np.ndarray:
    with torch.no_grad():
        parts = [make(a, n) for a, n in zip(ids.split(CHUNK), lengths.split(CHUNK), strict=True)]
    return torch.cat(parts).double().cpu().numpy()
