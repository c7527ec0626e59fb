"""A corpus too large for memory, as skip-thoughts read it: its triples are gathered batch by batch."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from torch import Tensor

from lnbook.data.bookcorpus import Store, load_store
from lnbook.data.datasets import DataError
from lnbook.data.text import EOS, PAD, UNKNOWN, Vocabulary
from lnbook.pages.sec6_3_skip_thoughts.reading import WIDER, Corpus
from lnbook.pages.sec6_3_skip_thoughts.word_vectors import factorized, neighbor_counts
from lnbook.training import Cases, LengthBatches

SHOWN = 10_000  # triples that `Corpus.train` holds, to look at
COUNTED = 10_000_000  # sentences whose neighbors make the word vectors
CHUNK = 500_000  # of them at a time


def triples(store: Store, starts: Int64[np.ndarray, " N"], known: int) -> Cases:
    """Sentence before, sentence, sentence after, each with its end sign; and their lengths.

    Args:
        store: the sentences.
        starts: the number of each triple's first sentence.
        known: words with this number or a higher one are unknown.

    >>> words = Vocabulary("abc")
    >>> store = Store(words, np.array([3, 4, 5, 3], np.int32), np.array([0, 1, 3, 4]), 0, {})
    >>> [x.tolist() for x in triples(store, np.array([0]), known=5)]
    [[[3, 2]], [[4, 1, 2]], [[3, 2]], [[2, 3, 2]]]
    """
    sides = [_padded(store, starts + side, known) for side in range(3)]
    return (*(ids for ids, _ in sides), torch.stack([lengths for _, lengths in sides], 1))


def _padded(
    store: Store, rows: Int64[np.ndarray, " N"], known: int
) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    begin = store.offsets[rows]
    words = store.offsets[rows + 1] - begin
    place = np.arange(words.max())
    inside = place < words[:, None]
    ids = np.full((len(rows), len(place) + 1), PAD)
    found = store.numbers[(begin[:, None] + place)[inside]]
    ids[:, :-1][inside] = np.where(found < known, found, UNKNOWN)
    ids[np.arange(len(rows)), words] = EOS
    return torch.from_numpy(ids), torch.from_numpy(words + 1)


class StoredTriples(LengthBatches):
    """`LengthBatches` of triples, read from disk when their batch is due.

    Order and padding are those of batches made from all triples in memory. A batch is cut to its longest
    sentence, even if several processes share it.

    Args:
        store: the sentences.
        starts: of the triples, as in `triples`.
        known: as in `triples`.
        batch_size, generator: as in `LengthBatches`; so are rank and world.
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
        words = np.diff(store.offsets)
        lengths = torch.from_numpy(np.stack([words[starts + side] + 1 for side in range(3)], 1))
        # in place of the sentences: at every step, the number of the triple
        steps = torch.from_numpy(starts)[:, None].expand(-1, int(lengths.max()))
        super().__init__((steps, steps, steps), lengths, batch_size, generator, cut=[0, 1, 2], **share)

    def __next__(self) -> Cases:
        cut = super().__next__()
        *sides, lengths = triples(self.store, cut[0][:, 0].numpy(), self.known)
        widths = [x.shape[1] for x in cut]
        padded = [
            torch.nn.functional.pad(x, (0, width - x.shape[1]), value=PAD)
            for x, width in zip(sides, widths, strict=True)
        ]
        return (*padded, lengths)


@dataclass(frozen=True)
class StoredCorpus(Corpus):
    """A corpus whose `train` holds only the first triples, to look at; `batches` takes all.

    Attributes:
        store: the sentences.
        starts: of all triples to learn from, as in `triples`.
    """

    store: Store
    starts: Int64[np.ndarray, " N"]

    def batches(self, batch_size: int, generator: torch.Generator, **share: int) -> LengthBatches:
        """Mini-batches of all triples, gathered from disk."""
        known = len(self.vocabulary)
        return StoredTriples(self.store, self.starts, known, batch_size, generator, **share)


@lru_cache(maxsize=1)
def corpus(words: int, vectors: int, longest: int) -> StoredCorpus:
    """BookCorpus from a user's folder: the last sentences (`HELD_OUT`) for validation, the others to learn.

    Word vectors come from the neighbors in the first ten million sentences.

    Args:
        words, vectors, longest: as in `lnbook.pages.sec6_3_skip_thoughts.reading.corpus`.

    Raises `DataError` as `load_store` does, and if a part has no three sentences in a row.
    """
    store = load_store(WIDER * words)
    vocabulary = Vocabulary(store.vocabulary.words[3 : 3 + words])
    whole = len(store.offsets) - 1
    train, valid = (
        _starts(store, *ends, longest) for ends in ((0, whole - store.held), (whole - store.held, whole))
    )
    space = np.zeros((len(store.vocabulary), vectors))
    if vectors:
        space[3:] = _word_vectors(store, min(COUNTED, whole - store.held), vectors)[3:]
    shown, judged = (triples(store, starts, len(vocabulary)) for starts in (train[:SHOWN], valid))
    return StoredCorpus(
        vocabulary, store.vocabulary, space, shown, judged, store.provenance, store=store, starts=train
    )


def _starts(store: Store, first: int, last: int, longest: int) -> Int64[np.ndarray, " N"]:
    """The first of every three sentences in a row, in `first` to `last - 1`, none empty or too long."""
    words = np.diff(store.offsets[first : last + 1])
    short = (words > 0) & (words < longest)
    starts = first + np.flatnonzero(short[:-2] & short[1:-1] & short[2:])
    if not len(starts):
        raise DataError(
            f"{len(words)} sentences of {store.provenance['name']} hold no three in a row of fewer than "
            f"{longest} words; put one sentence on each line."
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
