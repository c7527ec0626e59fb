"""What skip-thoughts read: sentences in a row from books to learn from, and labelled ones to be judged by."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from lnbook.data.books import load_books, sentences
from lnbook.data.datasets import DataError
from lnbook.data.mpqa import load_mpqa
from lnbook.data.sentences import CLASSIFICATIONS, Labelled, Pairs, load_labelled, load_pairs
from lnbook.data.text import EOS, Vocabulary, pad, tokenize
from lnbook.pages.sec6_3_skip_thoughts.word_vectors import word_vectors
from lnbook.training import Cases, LengthBatches

TASKS = (*CLASSIFICATIONS, "sick")
WIDER = 4  # the vocabulary after its expansion, in sizes of the vocabulary
PARTS = ("train", "trial", "test")


@dataclass(frozen=True)
class Corpus:
    """Books as numbers.

    Attributes:
        vocabulary: of the network, special words too: the first of `wide`.
        wide: more words of the same books, less frequent: those that have a vector.
        vectors: of the wide vocabulary's words; zero for the special ones.
        train, valid: sentence before, sentence, sentence after, and their lengths; valid: of other books.
        provenance: of the books.
    """

    vocabulary: Vocabulary
    wide: Vocabulary
    vectors: Float[np.ndarray, "W k"]
    train: Cases
    valid: Cases
    provenance: dict[str, Any]

    def batches(self, batch_size: int, generator: torch.Generator, **share: int) -> LengthBatches:
        """Mini-batches of all triples to learn from; the arguments are those of `LengthBatches`."""
        lengths = self.train[3]
        return LengthBatches(self.train, lengths, batch_size, generator, cut=[0, 1, 2], **share)


@lru_cache(maxsize=1)
def corpus(name: str, books: int, words: int, vectors: int, longest: int) -> Corpus:
    """The first of the books, the last twelfth of them for validation.

    Args:
        name: "gutenberg" or "python_topics", as for `lnbook.data.books.load_books`.
        books: how many novels to read; 0 for all. Of Python's help, whose topics are short, all are read.
        words: in the vocabulary; all others are unknown.
        vectors: dimensions of the word vectors; 0 for none, where others take their place.
        longest: sentences with more words are left out, and with them their neighbors' triples.

    Raises `DataError` if a part of the books has no three sentences in a row.
    """
    found = load_books("silent", name=name)
    count = books if found.provenance["name"] == "gutenberg" else 0
    texts = [[tokenize(s) for s in sentences(text)] for text in found.texts[: count or None]]
    cut = len(texts) - max(1, len(texts) // 12)
    known = [sentence for text in texts[:cut] for sentence in text]
    wide = Vocabulary.build(known, WIDER * words)
    vocabulary = Vocabulary(wide.words[3 : 3 + words])
    space = np.zeros((len(wide), vectors))
    if vectors:
        space[3:] = word_vectors([wide.encode(sentence) for sentence in known], len(wide), vectors)[3:]
    train, valid = (_triples(part, vocabulary, longest) for part in (texts[:cut], texts[cut:]))
    return Corpus(vocabulary, wide, space, train, valid, found.provenance)


def _triples(texts: Sequence[Sequence[Sequence[str]]], vocabulary: Vocabulary, longest: int) -> Cases:
    """Three sentences in a row, each with the sign of its end, and their lengths."""
    rows: list[list[int]] = []
    starts: list[int] = []
    for text in texts:
        short = [0 < len(sentence) < longest for sentence in text]
        starts += [len(rows) + k for k in range(len(text) - 2) if all(short[k : k + 3])]
        rows += [[*vocabulary.encode(s), EOS] if ok else [EOS] for s, ok in zip(text, short, strict=True)]
    if not starts:
        raise DataError(
            f"{len(texts)} books with {len(rows)} sentences hold no three in a row of fewer than {longest} "
            "words; read more books, or longer sentences."
        )
    ids, lengths = pad(rows)
    first = torch.tensor(starts)
    places = [first, first + 1, first + 2]
    return (*(ids[place] for place in places), torch.stack([lengths[place] for place in places], 1))


def encoded(texts: Sequence[str], wide: Vocabulary) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    """Sentences as the encoder reads them, in numbers of the wide vocabulary."""
    return pad([[*wide.encode(tokenize(text)), EOS] for text in texts])


@lru_cache(maxsize=2)
def judges(
    real: bool, *, mpqa: bool = False
) -> tuple[dict[str, Labelled], dict[str, Pairs], tuple[str, str]]:
    """Labelled sentences, scored pairs, and the names of the two sets that were read.

    Args:
        real: the published sets, each where it is available, the generated one elsewhere; else these always.
        mpqa: a user's MPQA in place of pros and cons.

    >>> judges(real=False)[2]
    ('sentence_templates', 'sentence_templates')
    """
    names = ("sentence_classification", "sick") if real else ("sentence_templates",) * 2
    labelled, one = load_labelled("silent", name=names[0])
    if mpqa:
        labelled = {task: labelled[task] for task in CLASSIFICATIONS[:-1]} | {"mpqa": load_mpqa()[0]}
    pairs, other = load_pairs("silent", name=names[1])
    return labelled, pairs, (one["name"], other["name"])


def judged_words(real: bool, *, mpqa: bool = False) -> set[str]:
    """All words of the sentences to be judged by; the arguments are those of `judges`.

    >>> {"a", "the"} < judged_words(real=False)
    True
    """
    labelled, pairs, _ = judges(real, mpqa=mpqa)
    texts = [text for held in labelled.values() for text in held.texts]
    texts += [text for held in pairs.values() for text in (*held.first, *held.second)]
    return {token for text in texts for token in tokenize(text)}


@lru_cache(maxsize=4)
def tasks(wide: Vocabulary, *, real: bool, limit: int, seed: int, mpqa: bool = False) -> dict[str, Cases]:
    """The sentences to be judged by: numbers, lengths and labels; of SICK numbers and lengths of both
    sentences, scores, and 0, 1 or 2 for training, trial and test.

    Args:
        wide: the numbers' words.
        real, mpqa: as in `judges`.
        limit: so many cases of each set and part, drawn at random, half of them of each class; 0 for all.
        seed: of the draw.
    """
    labelled, pairs, _ = judges(real, mpqa=mpqa)
    draw = np.random.default_rng([seed, 63])
    found: dict[str, Cases] = {}
    for name, held in labelled.items():
        rows = _balanced(held.labels, limit, draw)
        ids, lengths = encoded([held.texts[k] for k in rows], wide)
        found[name] = (ids, lengths, torch.from_numpy(held.labels[rows]))
    chosen = {part: draw.permutation(len(p.scores))[: limit or None] for part, p in pairs.items()}
    first, second = (
        [getattr(pairs[p], side)[k] for p in PARTS for k in chosen[p]] for side in ("first", "second")
    )
    scores = np.concatenate([pairs[part].scores[chosen[part]] for part in PARTS])
    part = np.repeat(np.arange(3), [len(chosen[p]) for p in PARTS])
    numbers = (*encoded(first, wide), *encoded(second, wide))
    found["sick"] = (*numbers, torch.from_numpy(scores), torch.from_numpy(part))
    return found


def _balanced(labels: np.ndarray, limit: int, draw: np.random.Generator) -> np.ndarray:
    if not limit:
        return np.arange(len(labels))
    kinds = [draw.permutation(np.flatnonzero(labels == k))[: limit // 2] for k in (0, 1)]
    return np.sort(np.concatenate(kinds))
