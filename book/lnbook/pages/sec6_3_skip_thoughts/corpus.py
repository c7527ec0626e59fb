"""The books that skip-thoughts reads: triples of sentences in word numbers, and vectors of their words."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from lnbook.data.books import load_books, sentences
from lnbook.data.text import EOS, Vocabulary, pad, tokenize
from lnbook.pages.sec6_3_skip_thoughts.vectors import factorized, neighbor_counts
from lnbook.training import Cases

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
    """The first of the books to learn from, the last twelfth for validation, and the words' vectors.

    Read are so many novels (0: all; of other texts all), with so many words in the vocabulary, `vectors`
    dimensions, and without sentences as long as `longest` and their neighbors' triples.
    """
    found = load_books("silent", name=name)
    count = books if found.provenance["name"] == "gutenberg" else 0
    texts = [[tokenize(s) for s in sentences(text)] for text in found.texts[: count or None]]
    cut = len(texts) - max(1, len(texts) // 12)
    learned = list(chain.from_iterable(texts[:cut]))
    wide = Vocabulary.build(learned, WIDER * words)
    vocabulary = Vocabulary(wide.words[3 : 3 + words])
    space = factorized(neighbor_counts([wide.encode(s) for s in learned], len(wide)), vectors)
    space[:3] = 0
    train, valid = (triples(part, vocabulary, longest) for part in (texts[:cut], texts[cut:]))
    return Corpus(vocabulary, wide, space, train, valid, found.provenance)


def triples(texts: list[list[list[str]]], vocabulary: Vocabulary, longest: int) -> Cases:
    """Every three sentences in a row of one text, each with its end sign and padding; and their lengths.

    >>> one, other = [["a"], ["b", "x"], ["b"]], [["b"], ["a"]]
    >>> [x.tolist() for x in triples([one, other], Vocabulary("ab"), longest=3)]
    [[[3, 2]], [[4, 1, 2]], [[4, 2]], [[2, 3, 2]]]
    """
    told = [sentence for text in texts for sentence in (*text, [])]  # an empty one parts two texts
    ids, length = pad([[*vocabulary.encode(s), EOS] if 0 < len(s) < longest else [] for s in told])
    kept = length > 0
    starts = (kept[:-2] & kept[1:-1] & kept[2:]).nonzero()[:, 0]
    lengths = torch.stack([length[starts + side] for side in range(3)], 1)
    widths = lengths.amax(0).tolist()
    return (*(ids[starts + side, :width] for side, width in enumerate(widths)), lengths)
