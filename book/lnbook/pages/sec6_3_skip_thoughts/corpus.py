"""What skip-thoughts reads, and is judged by: sentences in word numbers, and vectors of their words.

A word is what stands near it: the positive pointwise mutual information of words and their neighbors, cut to
its largest singular values (Levy, Goldberg, Dagan, 2015), which is close to what word2vec factorizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from scipy.sparse.linalg import svds
from torch import Tensor

from lnbook.data.books import load_books, sentences
from lnbook.data.sentences import load_labelled, load_pairs
from lnbook.data.text import EOS, Vocabulary, pad, tokenize
from lnbook.training import Cases

SETS = "sentence_classification", "sick"  # of classes, of scored pairs
TEMPLATES = "sentence_templates", "sentence_templates"  # what scale "smoke" reads
WIDER = 4  # the vocabulary after its expansion, in sizes of the vocabulary


@dataclass(frozen=True)
class Corpus:
    """Books as numbers."""

    vocabulary: Vocabulary  # of the network, special words too: the first of `wide`
    wide: Vocabulary  # more words of the same books, less frequent: those that have a vector
    vectors: Float[np.ndarray, "W k"]  # of the wide vocabulary's words; zero for the special ones
    train: Cases  # sentence before, sentence, sentence after, and their lengths
    valid: Cases  # the same of other books
    provenance: dict[str, Any]


@lru_cache(maxsize=1)
def corpus(name: str, books: int, words: int, vectors: int, longest: int) -> Corpus:
    """So many novels (0: all; of other texts all), the last twelfth for validation, with so many words and
    numbers of a word's vector, and without sentences as long as `longest` and their neighbors' triples.
    """
    found = load_books("silent", name=name)
    count = books if found.provenance["name"] == "gutenberg" else 0
    texts = [[tokenize(s) for s in sentences(text)] for text in found.texts[: count or None]]
    cut = len(texts) - max(1, len(texts) // 12)
    learned = list(chain.from_iterable(texts[:cut]))
    wide = Vocabulary.build(learned, WIDER * words)
    vocabulary = Vocabulary(wide.words[3 : 3 + words])
    space = word_vectors([wide.encode(s) for s in learned], len(wide), vectors)
    space[:3] = 0
    train, valid = (triples(part, vocabulary, longest) for part in (texts[:cut], texts[cut:]))
    return Corpus(vocabulary, wide, space, train, valid, found.provenance)


def triples(texts: list[list[list[str]]], vocabulary: Vocabulary, longest: int) -> Cases:
    """Every three sentences in a row of one text, each with its end sign and padding; and their lengths."""
    told = [sentence for text in texts for sentence in (*text, [])]  # an empty one parts two texts
    ids, length = pad([[*vocabulary.encode(s), EOS] if 0 < len(s) < longest else [] for s in told])
    kept = length > 0
    starts = (kept[:-2] & kept[1:-1] & kept[2:]).nonzero()[:, 0]
    lengths = torch.stack([length[starts + side] for side in range(3)], 1)
    widths = lengths.amax(0).tolist()
    return (*(ids[starts + side, :width] for side, width in enumerate(widths)), lengths)


def word_vectors(
    sentences: Sequence[Sequence[int]], words: int, size: int, window: int = 4
) -> Float[np.ndarray, "words size"]:
    r"""Vectors $U_k \Sigma_k^{1/2}$ of $M_{ij} = \max(0, \log\frac{n_{ij}\,n}{n_i\,\tilde n_j})$,
    $\tilde n_j \propto n_j^{3/4}$, from counts $n_{ij}$ of how often words i and j stand at most `window`
    places apart in one sentence.

    *Source* Levy, Goldberg, Dagan (2015): contexts smoothed by the power 3/4. Vectors have unit length; a
    word without neighbors has the zero vector. Their signs are those that make each column's sum positive.
    """
    stream = np.concatenate([np.asarray(s, dtype=np.int64) for s in sentences])
    owner = np.repeat(np.arange(len(sentences)), [len(s) for s in sentences])
    counts = sparse.csr_matrix((words, words))
    for apart in range(1, window + 1):
        together = owner[apart:] == owner[:-apart]
        pairs = stream[:-apart][together], stream[apart:][together]
        counts = counts + sparse.csr_matrix((np.ones(len(pairs[0])), pairs), (words, words))
    held = (counts + counts.T).tocoo()
    of_word = np.bincount(held.row, held.data, words)
    share = of_word**0.75 / (of_word**0.75).sum()
    held.data = np.log(held.data / (of_word[held.row] * share[held.col])).clip(0)
    matrix = held.tocsr()
    matrix.eliminate_zeros()
    start = np.random.default_rng(0).standard_normal(words)  # so that the result is the same always
    left, values, _ = svds(matrix, k=size, v0=start)
    vectors = left[:, ::-1] * np.sqrt(values[::-1])
    vectors *= np.where(vectors.sum(0) < 0, -1.0, 1.0)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-9)


@lru_cache(maxsize=4)
def tasks(wide: Vocabulary, sets: tuple[str, str], limit: int, seed: int) -> dict[str, Cases]:
    """Sentences to judge by: numbers in the wide vocabulary, lengths and labels; of SICK those of both
    sentences, scores, and 0, 1 or 2 for training, trial and test.

    Of each set and part `limit` cases are drawn at random, half of them of each class; all if that is 0.
    """
    labelled, pairs = load_labelled(sets[0])[0], load_pairs(sets[1])[0]
    draw = np.random.default_rng([seed, 63])
    found: dict[str, Cases] = {}
    for name, held in labelled.items():
        rows = np.arange(len(held.labels))
        if limit:
            kinds = [draw.permutation(np.flatnonzero(held.labels == k))[: limit // 2] for k in (0, 1)]
            rows = np.sort(np.concatenate(kinds))
        ids, lengths = encoded([held.texts[k] for k in rows], wide)
        found[name] = (ids, lengths, torch.from_numpy(held.labels[rows]))
    chosen = [(p, draw.permutation(len(p.scores))[: limit or None]) for p in pairs.values()]
    first, second = (
        encoded([getattr(p, side)[k] for p, rows in chosen for k in rows], wide)
        for side in ("first", "second")
    )
    scores = np.concatenate([p.scores[rows] for p, rows in chosen])
    part = np.repeat(np.arange(3), [len(rows) for _, rows in chosen])
    found["sick"] = (*first, *second, torch.from_numpy(scores), torch.from_numpy(part))
    return found


def encoded(texts: Sequence[str], wide: Vocabulary) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    """Sentences as the encoder reads them, in numbers of the wide vocabulary."""
    return pad([[*wide.encode(tokenize(text)), EOS] for text in texts])
