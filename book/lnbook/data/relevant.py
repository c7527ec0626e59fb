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

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum, log

from .questions import PLACEHOLDER, Question, is_marker, split_sentences

__all__ = ["most_relevant", "rarity", "relevance"]


def rarity(queries: Iterable[Sequence[str]]) -> Mapping[str, float]:
    """How much a word says that two texts share: log((1 + N) / (1 + n)) if n of N queries have it.

    The queries are those of training, so that nothing of validation is used.

    >>> found = rarity([["@placeholder", "won"], ["who", "won"], ["who", "@entity1", "won"]])
    >>> [round(found[word], 2) for word in ("won", "who", "lost", "@entity1")]  # of 3, 2, 0, and a marker
    [0.0, 0.29, 1.39, 1.39]
    """
    having: Counter[str] = Counter()
    total = 1
    for query in queries:
        having.update({token for token in query if not is_marker(token)})
        total += 1
    return defaultdict(lambda: log(total), {word: log(total / (1 + n)) for word, n in having.items()})


def relevance(sentence: Iterable[str], query: Iterable[str], rarity: Mapping[str, float]) -> float:
    """The formula above.

    >>> relevance("she won .".split(), "@placeholder won".split(), {"won": 0.5})
    0.5
    """
    common = set(sentence) & set(query) - {PLACEHOLDER}
    return fsum(rarity[word] for word in common)  # exact, whatever the order of a set


def most_relevant(question: Question, rarity: Mapping[str, float], count: int = 4) -> Question:
    """The question with only the `count` most relevant sentences of its passage, or all if there are fewer.

    >>> passage = "@entity1 sat . it rained . @entity2 won . all slept .".split()
    >>> q = Question(tuple(passage), ("@placeholder", "won", "."), "@entity2")
    >>> " ".join(most_relevant(q, {".": 0.0, "won": 1.6}, count=2).passage)  # "." says nothing
    '@entity1 sat . @entity2 won .'
    """
    told = split_sentences(question.passage)
    worth = [relevance(sentence, question.query, rarity) for sentence in told]
    best = sorted(range(len(told)), key=lambda k: (-worth[k], k))[:count]
    return replace(question, passage=tuple(token for k in sorted(best) for token in told[k]))
