"""Sentences made from templates: what serves where no published ones are available.

The label of each follows from its words alone, so that a bag of words can reach a perfect score. They show
that a protocol runs; they say nothing about an encoder.
"""

import numpy as np

_WORDS = """
    simple useful valid clear efficient consistent general powerful possible allowed
    empty invalid missing undefined illegal hidden subtle different anonymous long
    syntax expression statement example definition language form rule name text
    module class function method file list string type value code
    calling comparing using creating importing defining
    block loop program package namespace interpreter
"""
_GOOD, _BAD, _IDEA, _PART, _DOING, _WHERE = (line.split() for line in _WORDS.strip().splitlines())

# {mark} is one of the good words or of the bad ones, and that is the label
_PATTERNS = {
    "mr": ("the {thing} is {mark} and the {other} is always the same", _IDEA),
    "cr": ("after one day the {thing} is {mark} , and so is the {other}", _PART),
    "pros_cons": ("{mark} {thing} , {mark2} {other}", _PART),
}
_SUBJECTIVE = "it seems that the {thing} should be {mark} , but the {other} does not"
_OBJECTIVE = "a {who} in the {where} is called with a {what} and another {who2}"


def labelled(task: str, count: int = 160, seed: int = 0) -> tuple[list[str], list[int]]:
    """Sentences of "mr", "cr", "subj" or "pros_cons" and their labels, 1 and 0 in turn."""
    draw = np.random.default_rng([seed, (*_PATTERNS, "subj").index(task)])
    texts = [_sentence(draw, task, k % 2 == 0) for k in range(count)]
    return texts, [1 - k % 2 for k in range(count)]


def _sentence(draw: np.random.Generator, task: str, first: bool) -> str:
    if task == "subj" and not first:
        who, what, who2 = draw.choice(_PART, 3, replace=False)
        return _OBJECTIVE.format(who=who, who2=who2, where=draw.choice(_WHERE), what=what)
    pattern, things = (_SUBJECTIVE, _IDEA) if task == "subj" else _PATTERNS[task]
    words = _GOOD + _BAD if task == "subj" else (_GOOD if first else _BAD)
    thing, other = draw.choice(things, 2, replace=False)
    mark, mark2 = draw.choice(words, 2, replace=False)
    return pattern.format(thing=thing, other=other, mark=mark, mark2=mark2)


def pairs(count: int, seed: int) -> tuple[list[str], list[str], list[float]]:
    """Pairs of sentences with four slots each, and 1 + how many slots agree: a score from 1 to 5."""
    draw = np.random.default_rng(seed)
    slots = (_PART[:5], _DOING, _PART[5:], _WHERE)
    first, second, scores = [], [], []
    for k in range(count):
        alike = draw.choice(4, k % 5, replace=False).tolist()
        drawn = [draw.choice(words, 2, replace=False).tolist() for words in slots]
        one = [word for word, _ in drawn]
        two = [a if n in alike else b for n, (a, b) in enumerate(drawn)]
        first.append("a {} is {} a {} in the {}".format(*one))
        second.append("a {} is {} a {} in the {}".format(*two))
        scores.append(1.0 + len(alike))
    return first, second, scores
