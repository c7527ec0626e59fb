"""The books that skip-thoughts reads, as word numbers; their triples are gathered batch by batch.

Scale "paper" reads the paper's data where a user has them (BookCorpus; word2vec, which widens the vocabulary
by the words of the judging sentences that a network did not learn), every other scale their stand-ins.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from torch import Tensor

from lnbook.data.bookcorpus import Store, load_store
from lnbook.data.books import load_books, sentences
from lnbook.data.datasets import DataError
from lnbook.data.text import EOS, PAD, UNKNOWN, Vocabulary, tokenize
from lnbook.data.users import present
from lnbook.data.word2vec import load_word2vec
from lnbook.pages.sec6_3_skip_thoughts.judges import judged_words, sets_of
from lnbook.pages.sec6_3_skip_thoughts.word_vectors import factorized, neighbor_counts
from lnbook.training import Cases, Job, LengthBatches

BOOKS = {"smoke": "python_topics", "book": "gutenberg", "study": "gutenberg", "paper": "gutenberg"}
WIDER = 4  # the vocabulary after its expansion, in sizes of the vocabulary
SHOWN = 10_000  # triples that `Corpus.train` holds
COUNTED = 10_000_000  # sentences whose neighbors make the word vectors
CHUNK = 500_000  # of them at a time


@dataclass(frozen=True)
class Corpus:
    """Books as numbers.

    Attributes:
        vocabulary: of the network, special words too: the first of `wide`.
        wide: more words of the same books, less frequent: those that have a vector.
        vectors: of the wide vocabulary's words; zero for the special ones.
        store: the sentences.
        starts: the first sentence of each triple to learn from.
        train, valid: sentence before, sentence, sentence after, and their lengths. In `train` only the first
            triples, to look at; `valid` is of other books.
    """

    vocabulary: Vocabulary
    wide: Vocabulary
    vectors: Float[np.ndarray, "W k"]
    store: Store
    starts: Int64[np.ndarray, " N"]
    train: Cases
    valid: Cases

    @property
    def provenance(self) -> dict[str, Any]:
        return self.store.provenance

    def batches(self, batch_size: int, generator: torch.Generator, **share: int) -> LengthBatches:
        """Mini-batches of all triples to learn from; the arguments are those of `LengthBatches`."""
        return Triples(self.store, self.starts, len(self.vocabulary), batch_size, generator, **share)


def triples(store: Store, starts: Int64[np.ndarray, " N"], known: int, widths: list[int]) -> Cases:
    """Sentence before, sentence, sentence after, each with its end sign and padding; and their lengths.

    Words with the number `known` or a higher one are unknown.

    >>> words = Vocabulary("abc")
    >>> store = Store(words, np.array([3, 4, 5, 3], np.int32), np.array([0, 1, 3, 4]), 0, {})
    >>> [x.tolist() for x in triples(store, np.array([0]), known=5, widths=[2, 3, 3])]
    [[[3, 2]], [[4, 1, 2]], [[3, 2, 0]], [[2, 3, 2]]]
    """
    sides = [_padded(store, starts + side, known, width) for side, width in enumerate(widths)]
    return (*(ids for ids, _ in sides), torch.stack([lengths for _, lengths in sides], 1))


def _padded(
    store: Store, rows: Int64[np.ndarray, " N"], known: int, width: int
) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    begin = store.offsets[rows]
    words = store.offsets[rows + 1] - begin
    place = np.arange(width)
    inside = place < words[:, None]
    ids = np.full((len(rows), width), PAD)
    found = store.numbers[(begin[:, None] + place)[inside]]
    ids[inside] = np.where(found < known, found, UNKNOWN)
    ids[np.arange(len(rows)), words] = EOS
    return torch.from_numpy(ids), torch.from_numpy(words + 1)


class Triples(LengthBatches):
    """`LengthBatches` of the triples with these `starts`, gathered when their batch is due.

    All processes that share a batch cut it to the longest sentences of the whole.
    """

    def __init__(
        self,
        store: Store,
        starts: Int64[np.ndarray, " N"],
        known: int,
        batch_size: int,
        generator: torch.Generator,
        **share: int,
    ) -> None:
        self.store, self.known = store, known
        lengths = _lengths(store, starts)
        # in place of the sentences: at every step, the number of the triple
        steps = torch.from_numpy(starts)[:, None].expand(-1, int(lengths.max()))
        super().__init__((steps, steps, steps), lengths, batch_size, generator, cut=[0, 1, 2], **share)

    def __next__(self) -> Cases:
        cut = super().__next__()
        return triples(self.store, cut[0][:, 0].numpy(), self.known, [x.shape[1] for x in cut])


def _lengths(store: Store, starts: Int64[np.ndarray, " N"]) -> Int64[Tensor, "N 3"]:
    words = np.diff(store.offsets)
    return torch.from_numpy(np.stack([words[starts + side] + 1 for side in range(3)], 1))


def corpus_of(job: Job, scale: str) -> Corpus:
    """The books that a job reads, and the word vectors that its judging uses."""
    books, words, vectors, longest = (int(job[key]) for key in ("books", "words", "vectors", "longest"))
    own = _word2vec(scale)
    text = corpus(_books(scale), books, words, 0 if own else vectors, longest)
    return widened(text, judged_words(sets_of(scale))) if own else text


def names_of(job: Job, scale: str) -> list[str]:
    """The names of the data sets that a run is meant to read."""
    vectors = ["word2vec"] if _word2vec(scale) else []
    return [_books(scale), *vectors, *(sets_of(scale) if job["judged"] and scale != "smoke" else [])]


def _books(scale: str) -> str:
    return "bookcorpus" if scale == "paper" and present("bookcorpus") else BOOKS[scale]


def _word2vec(scale: str) -> bool:
    return scale == "paper" and present("word2vec")


@lru_cache(maxsize=1)
def corpus(name: str, books: int, words: int, vectors: int, longest: int) -> Corpus:
    """The first of the books to learn from, the last for validation, and vectors from the words' neighbors.

    Args:
        name: "bookcorpus", or as for `lnbook.data.books.load_books`.
        books: how many novels to read; 0 for all. Of other texts all are read.
        words: in the vocabulary; all others are unknown.
        vectors: dimensions of the word vectors; 0 for none, where others take their place.
        longest: sentences with as many words or more are left out, and with them their neighbors' triples.

    Raises `DataError` if a part has no three sentences in a row.
    """
    store = load_store(WIDER * words) if name == "bookcorpus" else _novels(name, books, WIDER * words)
    whole = len(store.offsets) - 1
    cut = whole - store.held
    train, valid = (_starts(store, *ends, longest) for ends in ((0, cut), (cut, whole)))
    space = np.zeros((len(store.vocabulary), vectors))
    if vectors:
        space[3:] = _word_vectors(store, min(COUNTED, cut), vectors)[3:]
    vocabulary = Vocabulary(store.vocabulary.words[3 : 3 + words])
    shown, judged = (
        triples(store, starts, len(vocabulary), _lengths(store, starts).amax(0).tolist())
        for starts in (train[:SHOWN], valid)
    )
    return Corpus(vocabulary, store.vocabulary, space, store, train, shown, judged)


def _novels(name: str, books: int, words: int) -> Store:
    """The first of the books, the last twelfth of them held out; an empty sentence ends each."""
    found = load_books("silent", name=name)
    count = books if found.provenance["name"] == "gutenberg" else 0
    texts = [[tokenize(s) for s in sentences(text)] for text in found.texts[: count or None]]
    cut = len(texts) - max(1, len(texts) // 12)
    wide = Vocabulary.build(chain.from_iterable(texts[:cut]), words)
    rows = [wide.encode(sentence) for text in texts for sentence in (*text, [])]
    numbers = np.fromiter(chain.from_iterable(rows), np.int32)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Store(wide, numbers, offsets, sum(len(text) + 1 for text in texts[cut:]), found.provenance)


def _starts(store: Store, first: int, last: int, longest: int) -> Int64[np.ndarray, " N"]:
    """The first of every three sentences in a row, in `first` to `last - 1`, none empty or too long."""
    words = np.diff(store.offsets[first : last + 1])
    short = (words > 0) & (words < longest)
    starts = first + np.flatnonzero(short[:-2] & short[1:-1] & short[2:])
    if not len(starts):
        raise DataError(
            f"{len(words)} sentences of {store.provenance['name']} hold no three in a row of fewer than "
            f"{longest} words; read more books, or put one sentence on each line."
        )
    return starts


def _word_vectors(store: Store, count: int, size: int) -> Float[np.ndarray, "W k"]:
    words = len(store.vocabulary)
    counts = sparse.csr_matrix((words, words))
    for first in range(0, count, CHUNK):
        ends = store.offsets[first : min(first + CHUNK, count) + 1]
        part = np.split(store.numbers[ends[0] : ends[-1]], ends[1:-1] - ends[0])
        counts = counts + neighbor_counts(part, words)
    return factorized(counts, size)


def widened(text: Corpus, judged: Collection[str]) -> Corpus:
    """The corpus with word2vec's vectors of its network's words and of all other words to be judged.

    *Source* Kiros and others (2015), their Section 2.3, where all of word2vec's words are added; words that
    no sentence has make no difference. `sentence_vectors.expanded` fits the map to the shared words: a word
    of the network without a vector has zeros here, which do not change the least-squares fit. A `judged`
    word without a vector stays unknown.

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
