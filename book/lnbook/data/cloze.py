"""Questions from books: which name is missing in the sentence after these four?

As the Children's Book Test (Hill and others, 2016) and CNN's questions are made: a sentence with a name
becomes the question, its name the answer, the sentences before it the passage; and as in CNN's, names are
markers, numbered anew in each question.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from .questions import PLACEHOLDER, Question, marker
from .text import tokenize

PASSAGE = 4  # sentences
LONGEST = 64, 20  # tokens of a passage and of a query; longer ones make no question

# capitals that are no names: forms of address, peoples and tongues, days and months, what one swears by
_NO_NAMES = """Mr Mrs Miss Ms Dr Sir Lady Lord Madam Madame Ma Captain Colonel General Major Prince Princess
    Count Countess Aunt Uncle King Queen Saint St Master Father Mother Papa Mamma Professor Monsieur
    Mademoiselle Mistress Reverend God Heaven Providence Christian English French German Russian Russians
    American Latin Greek Jew British Scotch Irish Italian Turkish Monday Tuesday Wednesday Thursday Friday
    Saturday Sunday January February March April May June July August September October November December
    Christmas Easter Michaelmas Oh Ah Yes No Well Chapter"""
_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\b")  # capitalized, and not because a sentence begins there
_SMALL = re.compile(r"\b[a-z]+\b")


def names(sentences: Sequence[str], at_least: int = 20) -> set[str]:
    """The names of a book: words with a capital, often inside a sentence, and seldom without one."""
    capital = Counter(word for sentence in sentences for word in _INSIDE.findall(sentence))
    often = {word for word, count in capital.items() if count >= at_least} - {*_NO_NAMES.split()}
    small = Counter(word for sentence in sentences for word in _SMALL.findall(sentence))
    return {word for word in often if 10 * small[word.lower()] < capital[word]}


def cloze(
    sentences: Sequence[str], known: Collection[str], markers: int = 10, source: str = ""
) -> Iterator[Question]:
    """Questions whose answer is one of at least two names in the passage, and once in the query.

    Markers are numbered by their first use in the passage, so `lnbook.data.questions.renumber` them. More
    entities than `markers` make no question; `source` is a title.

    >>> book = ["Emma met Jane.", "They sat.", "It rained.", "Jane left.", "So Emma was alone."]
    >>> (q,) = cloze(book, {"Emma", "Jane"})
    >>> " ".join(q.query), q.answer, q.names[q.answer]
    ('so @placeholder was alone .', '@entity0', 'Emma')
    """
    if not known:
        return
    name = re.compile(rf"\b(?:{'|'.join(sorted(known))})\b")
    found = [name.findall(sentence) for sentence in sentences]
    words = [sentence.count(" ") + 1 for sentence in sentences]
    for k in range(PASSAGE, len(sentences)):
        if sum(words[k - PASSAGE : k]) > LONGEST[0] or words[k] > LONGEST[1]:
            continue
        before = [word for some in found[k - PASSAGE : k] for word in some]
        everyone = dict.fromkeys(before + found[k])
        answers = [word for word in dict.fromkeys(found[k]) if word in before and found[k].count(word) == 1]
        if not answers or len(set(before)) < 2 or len(everyone) > markers:
            continue
        tokens = {word: marker(number) for number, word in enumerate(everyone)}
        told = [_tokens(name, sentence, tokens) for sentence in sentences[k - PASSAGE : k]]
        read = tuple(token for sentence in told for token in sentence)
        if len(read) > LONGEST[0]:
            continue
        by_marker = {token: word for word, token in tokens.items()}
        for answer in answers:
            query = _tokens(name, sentences[k], tokens | {answer: PLACEHOLDER})
            if len(query) <= LONGEST[1]:
                yield Question(read, query, tokens[answer], by_marker, source)


def _tokens(name: re.Pattern[str], text: str, markers: Mapping[str, str]) -> tuple[str, ...]:
    """The tokens of a text, names as markers; first as words, since "@entity0's" would fall into three."""
    words = {token[1:]: token for token in markers.values()}
    plain = name.sub(lambda match: f" {markers[match[0]][1:]}", text)
    plain = re.sub(r"\b(entity\d+|placeholder)(?!['’]s(?![\w-]))", r"\1 ", plain)
    return tuple(words.get(token, token) for token in tokenize(plain))
