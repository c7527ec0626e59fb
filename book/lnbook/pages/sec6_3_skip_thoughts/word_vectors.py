r"""Word vectors from a text's own counts, and the map that brings new words into a network's space.

They are made of what stands near what: the positive pointwise mutual information of words and their
neighbors, cut to its largest singular values (Levy, Goldberg, Dagan, 2015), which is close to what word2vec
factorizes.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.linalg import svds


def neighbor_counts(
    sentences: Sequence[Sequence[int] | Int[np.ndarray, " _"]], words: int, window: int = 4
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


def expansion(
    known: Float[np.ndarray, "V k"], embeddings: Float[np.ndarray, "V D"], new: Float[np.ndarray, "M k"]
) -> Float[np.ndarray, "M D"]:
    r"""Embeddings for words that a network was not trained on: $v \mapsto Wv$ with
    $W = \arg\min \sum_{w} \|W v_w - e_w\|^2$ over the words that both spaces hold.

    *Source* Kiros and others (2015), their Section 2.3.

    >>> expansion(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0]])).round(12).tolist()
    [[4.0, 6.0]]
    """
    solution, *_ = np.linalg.lstsq(known, embeddings, rcond=None)
    found: np.ndarray = new @ solution
    return found
