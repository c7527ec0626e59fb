"""Words for networks: tokens, a vocabulary of the most frequent words, padded batches of their numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int64
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PAD, UNKNOWN, EOS = 0, 1, 2
_SPECIAL = ("<pad>", "<unk>", "<eos>")
# a marker such as @entity3, a word with inner apostrophes or hyphens, or any one other sign
_TOKEN = re.compile(r"@\w+|\w+(?:['’-]\w+)*|[^\w\s]")
_CLITIC = re.compile(r"(?<=\w)(n['’]t|['’](?:s|re|ve|ll|d|m))$")


def tokenize(text: str) -> list[str]:
    """Lower-case words and signs of a text; "n't", "'s" and their like are tokens of their own.

    The rules are the commonest ones of the Penn Treebank, without its list of exceptions.
    """
    found: list[str] = []
    for token in _TOKEN.findall(text.lower().replace("’", "'")):
        stem = _CLITIC.sub("", token)
        found += [stem, token[len(stem) :]] if 0 < len(stem) < len(token) else [token]
    return found


class Vocabulary:
    """Words by number: 0 is padding, 1 any word that is not here, 2 the end of a sentence, then `words`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*_SPECIAL, *words)
        self.number = {word: n for n, word in enumerate(self.words)}

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], size: int) -> "Vocabulary":
        """The `size` most frequent words of tokenized sentences, frequent ones first, ties by spelling."""
        counts = Counter(token for sentence in sentences for token in sentence)
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([word for word in frequent if word not in _SPECIAL][:size])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of tokens, 1 for those that are not in the vocabulary."""
        return [self.number.get(token, UNKNOWN) for token in tokens]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words of numbers, padding left out."""
        return [self.words[n] for n in numbers if n != PAD]


def pad(sequences: Sequence[Sequence[int]]) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    """Sequences of numbers as one tensor, zeros after the end of the shorter ones; and their lengths."""
    whole = pad_sequence([torch.tensor(s, dtype=torch.int64) for s in sequences], batch_first=True)
    return whole, torch.tensor([len(sequence) for sequence in sequences])
