r"""The sentences of a passage most relevant to its question, in the passage's order.

$$\mathrm{relevance}(s) = \sum_{w \in s \cap q} \log\frac{1 + N}{1 + n_w},$$

where s and q are the sets of words of a sentence and of the query, and $n_w$ of the N training queries have
the word w. Each word counts once. The placeholder is not a word. A marker counts as a word that no query
has, $n_w = 0$, since its number stands for a different entity in each question. Of equally relevant sentences
the earlier ones are kept. Only passage and query are read, never the answer, so a passage may lose it.

*Source* Section 6.2: "each passage is limited to 4 sentences". In the files of Cooijmans and others (2016),
"top4", these are the 4 most relevant ones "as identified by a string matching procedure"; some passages lose
the answer this way. The program is not published. The files were, at an address that we have not been able
to try. The formula is ours: the inverse document frequency of Spärck Jones (1972).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log

from .questions import PLACEHOLDER, Question, is_marker

__all__ = ["Rarity", "most_relevant", "relevance"]


@dataclass(frozen=True)
class Rarity:
    """How much a word says that two texts share: log((1 + N) / (1 + n)) if n of N queries have it.

    Args:
        queries: N.
        having: n of each word.

    >>> rarity = Rarity.of([["@placeholder", "won"], ["who", "won"], ["who", "@entity1", "won"]])
    >>> [round(rarity[word], 2) for word in ("won", "who", "lost", "@entity1")]  # of 3, 2, 0, and a marker
    [0.0, 0.29, 1.39, 1.39]
    """

    queries: int
    having: Mapping[str, int]

    @classmethod
    def of(cls, queries: Iterable[Sequence[str]]) -> "Rarity":
        """From the words of these queries: those of training, so that nothing of validation is used."""
        having: Counter[str] = Counter()
        count = 0
        for query in queries:
            having.update({token for token in query if not is_marker(token)})
            count += 1
        return cls(count, having)

    def __getitem__(self, word: str) -> float:
        return log((1 + self.queries) / (1 + self.having.get(word, 0)))


def relevance(sentence: Iterable[str], query: Iterable[str], rarity: Rarity) -> float:
    """The formula above.

    >>> relevance("she won .".split(), "@placeholder won".split(), Rarity(3, {"won": 1}))  # log(4 / 2)
    0.6931471805599453
    """
    common = set(sentence) & set(query) - {PLACEHOLDER}
    return fsum(rarity[word] for word in common)  # exact, whatever the order of a set


def most_relevant(question: Question, rarity: Rarity, count: int = 4) -> Question:
    """The question with only the `count` most relevant sentences of its passage, or all if there are fewer.

    >>> passage = "@entity1 sat . it rained . @entity2 won . all slept .".split()
    >>> q = Question(tuple(passage), ("@placeholder", "won", "."), "@entity2")
    >>> rarity = Rarity(9, {".": 9, "won": 1})  # "." is in every query and says nothing
    >>> " ".join(most_relevant(q, rarity, count=2).passage)
    '@entity1 sat . @entity2 won .'
    """
    told = question.sentences
    worth = [relevance(sentence, question.query, rarity) for sentence in told]
    best = sorted(range(len(told)), key=lambda k: (-worth[k], k))[:count]
    kept = [told[k] for k in sorted(best)]
    return replace(question, passage=tuple(token for sentence in kept for token in sentence), ends=())
