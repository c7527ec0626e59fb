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

from .questions import PLACEHOLDER, Question, is_marker

_QUOTES = ("''", '"', "'", "”")


def rarity(queries: Iterable[Sequence[str]]) -> Mapping[str, float]:
    """How much a word says that two texts share: log((1 + N) / (1 + n)) if n of N training queries have it.

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


def most_relevant(question: Question, rarity: Mapping[str, float], count: int = 4) -> Question:
    """The question with only the `count` most relevant sentences of its passage, or all if there are fewer.

    >>> passage = "@entity1 sat . it rained . @entity2 won . all slept .".split()
    >>> q = Question(tuple(passage), ("@placeholder", "won", "."), "@entity2")
    >>> " ".join(most_relevant(q, {".": 0.0, "won": 1.6}, count=2).passage)  # "." says nothing
    '@entity1 sat . @entity2 won .'
    """
    told = split_sentences(question.passage)
    asked = set(question.query) - {PLACEHOLDER}
    worth = [fsum(rarity[word] for word in asked & set(sentence)) for sentence in told]
    best = sorted(range(len(told)), key=lambda k: (-worth[k], k))[:count]
    return replace(question, passage=tuple(token for k in sorted(best) for token in told[k]))


def split_sentences(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The sentences of a text: each ends with ".", "?" or "!", and the quotation marks after it.

    >>> split_sentences("a b . c ! '' d".split())
    [('a', 'b', '.'), ('c', '!', "''"), ('d',)]
    """
    found: list[list[str]] = []
    closed = True
    for token in tokens:
        if closed and not (found and token in _QUOTES):
            found.append([])
            closed = False
        found[-1].append(token)
        closed = closed or token in (".", "?", "!")
    return [tuple(sentence) for sentence in found]
