"""The labelled sentences that skip-thoughts are judged by."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from lnbook.data.sentences import CLASSIFICATIONS, load_labelled, load_pairs
from lnbook.data.text import EOS, Vocabulary, pad, tokenize
from lnbook.training import Cases

TASKS = (*CLASSIFICATIONS, "sick")
PARTS = ("train", "trial", "test")
SETS = "sentence_classification", "sick"  # of classes, of scored pairs
TEMPLATES = "sentence_templates", "sentence_templates"  # what scale "smoke" reads


@lru_cache(maxsize=4)
def tasks(wide: Vocabulary, sets: tuple[str, str], limit: int, seed: int) -> dict[str, Cases]:
    """The sentences to be judged by, in numbers of the wide vocabulary: numbers, lengths and labels; of SICK
    numbers and lengths of both sentences, scores, and 0, 1 or 2 for training, trial and test.

    Of each set and part `limit` cases are drawn at random, half of them of each class; all if that is 0.
    """
    labelled, pairs = load_labelled("silent", name=sets[0])[0], load_pairs("silent", name=sets[1])[0]
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


def encoded(texts: Sequence[str], wide: Vocabulary) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    """Sentences as the encoder reads them, in numbers of the wide vocabulary."""
    return pad([[*wide.encode(tokenize(text)), EOS] for text in texts])


def _balanced(labels: np.ndarray, limit: int, draw: np.random.Generator) -> np.ndarray:
    if not limit:
        return np.arange(len(labels))
    kinds = [draw.permutation(np.flatnonzero(labels == k))[: limit // 2] for k in (0, 1)]
    return np.sort(np.concatenate(kinds))
