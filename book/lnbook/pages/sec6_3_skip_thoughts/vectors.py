r"""Vectors of words from a text's own counts; and of sentences: thoughts, and two that never learned.

A word is what stands near it: the positive pointwise mutual information of words and their neighbors, cut to
its largest singular values (Levy, Goldberg, Dagan, 2015), which is close to what word2vec factorizes. A
linear map brings words that a network does not know into its space.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from scipy.sparse.linalg import svds
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from lnbook.pages.sec6_3_skip_thoughts.model import SkipThoughts
from lnlib.rnn import GRU

CHUNK = 500  # sentences at a time


def neighbor_counts(
    sentences: Sequence[Sequence[int]], words: int, window: int = 4
) -> "sparse.csr_matrix[np.float64]":
    """How often two words stand at most `window` places apart in one sentence, in either order.

    >>> neighbor_counts([[0, 1, 0], [1, 2]], 3, window=1).toarray().astype(int).tolist()
    [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    """
    stream = np.concatenate([np.asarray(s, dtype=np.int64) for s in sentences])
    owner = np.repeat(np.arange(len(sentences)), [len(s) for s in sentences])
    counts = sparse.csr_matrix((words, words))
    for apart in range(1, window + 1):
        together = owner[apart:] == owner[:-apart]
        one, other = stream[:-apart][together], stream[apart:][together]
        counts = counts + sparse.coo_matrix((np.ones(len(one)), (one, other)), (words, words)).tocsr()
    return counts + counts.T


def factorized(counts: "sparse.csr_matrix[np.float64]", size: int) -> Float[np.ndarray, "words size"]:
    r"""Vectors $U_k \Sigma_k^{1/2}$ of $M_{ij} = \max(0, \log\frac{n_{ij}\,n}{n_i\,\tilde n_j})$,
    $\tilde n_j \propto n_j^{3/4}$, from counts $n_{ij}$ of words and their neighbors.

    *Source* Levy, Goldberg, Dagan (2015): contexts smoothed by the power 3/4. Vectors have unit length; a
    word without neighbors has the zero vector. Their signs are those that make each column's sum positive.
    """
    words = counts.shape[0]
    held = counts.tocoo()
    of_word = np.bincount(held.row, held.data, words)
    context = of_word**0.75
    share = context / context.sum()
    information = np.log(held.data / (of_word[held.row] * share[held.col]))
    kept = information > 0
    matrix = sparse.csr_matrix((information[kept], (held.row[kept], held.col[kept])), (words, words))
    start = np.random.default_rng(0).standard_normal(words)  # of the iteration: the result is the same always
    left, values, _ = svds(matrix, k=size, v0=start)
    vectors = left[:, ::-1] * np.sqrt(values[::-1])
    vectors *= np.where(vectors.sum(0) < 0, -1.0, 1.0)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-9)


def expanded(model: SkipThoughts, vectors: Float[np.ndarray, "W k"]) -> Float[Tensor, "W D"]:
    r"""The encoder's table of words, and below it what the words' vectors say of those that it lacks:
    $v \mapsto Wv$ with $W = \arg\min \sum_{w} \|W v_w - e_w\|^2$ over the words that both hold.

    *Source* Kiros and others (2015), their Section 2.3. Vectors are of the model's words in their order, then
    of the others. The first three are the special ones, which no map is fitted to.
    """
    known = model.words.weight.detach()
    table = known.double().cpu().numpy()
    solution, *_ = np.linalg.lstsq(vectors[3 : len(table)], table[3:], rcond=None)
    return torch.cat([known, torch.from_numpy(vectors[len(table) :] @ solution).to(known)])


def thoughts(
    model: SkipThoughts, table: Float[Tensor, "W D"], ids: Int64[Tensor, "N T"], lengths: Int64[Tensor, " N"]
) -> Float[np.ndarray, "N H"]:
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
