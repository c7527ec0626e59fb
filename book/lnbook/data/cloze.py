r"""Questions about passages of four sentences: from books, from CNN's news, and generated.

`cloze` makes them of books as the Children's Book Test (Hill and others, 2016) and CNN's are made: a sentence
with a name becomes the question, its name the answer, the sentences before it the passage; and as in CNN's,
names are markers, numbered anew in each question.

CNN's news may not be redistributed: unpack the DeepMind Q&A data, so that `$LNLIB_DATA/cnn/questions/` has
training/ and validation/ with `.question` files. Each has five parts between empty lines: an address, the
passage, the query with `@placeholder` in place of a name, the name's marker, and what the markers stand for.
Each passage is cut to the sentences most relevant to its query,

$$\mathrm{relevance}(s) = \sum_{w \in s \cap q} \log\frac{1 + N}{1 + n_w},$$

where s and q are the sets of words of a sentence and of the query, and $n_w$ of the N training queries have
the word w. The placeholder is no word; a marker is one that no query has, since its number stands for another
entity in each question. Of equally relevant sentences the earlier ones are kept. The answer is never read, so
a passage may lose it.

*Source* Section 6.2: "each passage is limited to 4 sentences". In the files of Cooijmans and others (2016)
these are the 4 most relevant ones "as identified by a string matching procedure", which is not published. The
formula is ours: the inverse document frequency of Spärck Jones (1972).

`stories` are the stand-in, whose best possible error is known. A story is four sentences in which two of six
people hand things to each other. A question asks who handed on a thing. A share of the questions ask for a
thing that the story does not mention, and their answer is one of the people whom it does not mention, any of
them with equal probability: as in the paper's data, where four sentences of a longer text often do not hold
the answer. So no reader errs less often than

$$\text{floor} = \text{share}\left(1 - \frac1{\text{people not mentioned}}\right).$$
"""

import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum, log
from pathlib import Path

from .questions import PLACEHOLDER, Question, is_marker, marker
from .sources import DataError, Provenance
from .text import tokenize
from .users import provenance_of, reading, users_own

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

    Markers are numbered by first use, so `renumber` them; more entities than `markers` make no question.
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


def load_cnn() -> tuple[list[Question], list[Question], Provenance]:
    """The questions for training and for validation, and their provenance; `DataError` without the files."""
    folder = users_own("cnn", "Unpack cnn.tgz of the DeepMind Q&A data there.")
    folders = [folder / "questions" / part for part in ("training", "validation")]
    queries = [{*question.query} for question in _read(folders[0])]
    having = Counter(word for query in queries for word in query if not is_marker(word))
    train, valid = ([most_relevant(q, having, len(queries)) for q in _read(place)] for place in folders)
    citation = "Hermann et al.: Teaching machines to read and comprehend, NIPS (2015)"
    return train, valid, provenance_of(folder, "CNN's copyright", citation)


def _read(folder: Path) -> Iterator[Question]:
    paths = sorted(folder.glob("*.question"))
    if not paths:
        raise DataError(f"{folder} holds no *.question file of the DeepMind Q&A data; get them again.")
    for path in paths:
        with reading(path):
            address, passage, query, answer, listing = path.read_text("utf-8").strip().split("\n\n")
            names = dict(line.split(":", 1) for line in listing.splitlines())
            found = Question(tuple(passage.split()), tuple(query.split()), answer.strip(), names, address)
            if PLACEHOLDER not in found.query or not is_marker(found.answer):
                raise ValueError(f"its question has no {PLACEHOLDER}, or its answer is no entity")
        yield found


def most_relevant(question: Question, having: Counter[str], total: int) -> Question:
    """The question with the four most relevant sentences of its passage, or all if there are fewer."""
    told = split_sentences(question.passage)
    asked = set(question.query) - {PLACEHOLDER}
    worth = [fsum(log((1 + total) / (1 + having[word])) for word in asked & {*some}) for some in told]
    best = sorted(range(len(told)), key=lambda k: -worth[k])[:PASSAGE]
    return replace(question, passage=tuple(token for k in sorted(best) for token in told[k]))


def split_sentences(tokens: Sequence[str]) -> list[list[str]]:
    """The sentences of a text: each ends with ".", "?" or "!", and the quotation marks after it."""
    found: list[list[str]] = [[]]
    for token in tokens:
        if not {".", "?", "!"}.isdisjoint(found[-1]) and token not in ("''", '"', "'", "”"):
            found.append([])
        found[-1].append(token)
    return found


PEOPLE, MENTIONED = 6, 2
UNANSWERABLE = 0.3
_VERBS = ("sold", "gave", "lent", "sent", "showed", "brought")
_THINGS = ("lamp", "book", "ring", "map", "coat", "key", "cup", "knife")
_WHEN = ("", "", "at noon", "without a word")


def stories(count: int, seed: int = 0) -> Iterator[Question]:
    """So many questions about stories, equal for equal seeds."""
    draw = random.Random(seed)
    for _ in range(count):
        numbers = draw.sample(range(PEOPLE), PEOPLE)
        people, absent = numbers[:MENTIONED], numbers[MENTIONED:]
        *things, other = draw.sample(_THINGS, PASSAGE + 1)
        told = [(draw.sample(people, 2), thing, draw.choice(_VERBS)) for thing in things]
        passage: list[str] = []
        for (giver, taker), thing, verb in told:
            end = draw.choice(_WHEN).split()
            passage += [marker(giver), verb, "the", thing, "to", marker(taker), *end, "."]
        (giver, _), thing, verb = draw.choice(told)
        if draw.random() < UNANSWERABLE:
            giver, thing = draw.choice(absent), other
        query = (PLACEHOLDER, verb, "the", thing, ".")
        yield Question(tuple(passage), query, marker(giver), source="a generated story")


def floor() -> float:
    """The error of the best possible reader."""
    return UNANSWERABLE * (1 - 1 / (PEOPLE - MENTIONED))
