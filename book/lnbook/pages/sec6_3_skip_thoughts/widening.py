"""A vocabulary widened by word2vec: the words of the judging sentences that a network did not learn."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from lnbook.data.datasets import DataError
from lnbook.data.text import Vocabulary
from lnbook.data.word2vec import load_word2vec
from lnbook.pages.sec6_3_skip_thoughts.reading import Corpus


def widened(text: Corpus, judged: Collection[str]) -> Corpus:
    """The corpus with word2vec's vectors of its network's words and of all other words to be judged.

    *Source* Kiros and others (2015), their Section 2.3, where all of word2vec's words are added; words that
    no sentence has make no difference. `sentence_vectors.expanded` fits the map to the shared words: a word
    of the network without a vector has zeros here, which do not change the least-squares fit.

    Args:
        text: its own vectors are not used.
        judged: the words of the sentences to be judged; those without a vector stay unknown.

    Raises DataError as `load_word2vec` does, and if fewer words are shared than a vector has numbers, since
    they determine no map.
    """
    own = text.vocabulary.words[3:]
    new = sorted(set(judged) - set(text.vocabulary.words))
    vectors, size, provenance = load_word2vec({*own, *new})
    if (shared := sum(word in vectors for word in own)) < size:
        raise DataError(
            f"{provenance['file']} has {shared} of the network's {len(own)} words; a map from {size} numbers "
            f"needs at least {size} shared ones. Use vectors of the books' language, in lowercase."
        )
    wide = Vocabulary([*own, *(word for word in new if word in vectors)])
    space = np.zeros((len(wide), size))
    for word, vector in vectors.items():
        space[wide.number[word]] = vector
    return replace(text, wide=wide, vectors=space)
