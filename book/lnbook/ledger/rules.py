"""What the ledger judges: sentences of the paper, and the rules by which a measurement decides them.

Both stand in `book/claims.toml`, the only place where a number of the paper is typed. A sentence is one
assertion of the paper. A rule names a quantity that tests a sentence, what the quantity must be, and from
which size on a deviation counts; it is written, and its digest registered, before the data that it judges.
"""

import hashlib
import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from pathlib import Path
from typing import Any

KINDS = ("identity", "error", "code", "computed", "limit", "effect", "same")
SIZES = ("exact", "paper", "stand-in", "implementation")
STEPS = ("", "one", "own")
COMPARISONS = {"<=": le, ">=": ge, "<": lt, ">": gt, "==": eq}


@dataclass(frozen=True)
class Sentence:
    """One assertion of the paper."""

    id: str  # by which rules name it
    section: str  # of the paper, such as "5.2.1"
    place: str  # where in that section
    says: str  # what it asserts, in our words
    reason: str = ""  # why no rule tests it, if none does
    read: str = ""  # where a fact that nothing measured can show is read: the place, and the quotation


@dataclass(frozen=True)
class Rule:
    """A quantity that tests a statement, and what it must be.

    Its kind is "identity", mathematics that must hold at every scale; "error", how wrong the print is, which
    must come out at every scale; "code", that a program of ours computes what is described; "computed", a
    number without sampling noise; "limit", a computed counterexample outside the `condition`, which verifies
    nothing and adds the condition to what others verify; "effect", an estimate from runs or random cases;
    "same", an effect that the statement denies.

    Its size is "exact"; "paper", the paper's own configuration; "stand-in", smaller or other; or
    "implementation", a property of a program.
    """

    id: str  # by which a page measures it
    section: str  # of what it tests: the paper's section, the place, the statement in our words
    source: str
    says: str
    page: str  # the notebook that measures it
    quantity: str  # what is measured
    expect: str  # a comparison with a number, such as "<= 1e-12"
    kind: str
    size: str = "exact"
    sentence: str = ""  # of the paper that it tests; "" for ours, an explainer's, later literature's
    scale: str = ""  # of an effect: "ratio", judged by logarithms, or "difference"
    effect: int | float | None = None  # what counts on the claimed side, the paper's or ours
    effect_from: str = ""  # "paper" or "ours"
    margin: int | float | None = None  # of "same": no difference within it; for a ratio a factor above 1
    counts: str = "seeds"  # what n counts
    # "own" where each of the networks compared has its own step size, "one" where all have the same; if a
    # sentence has rules of both kinds, the first decide it and the others stand beside them
    steps: str = ""
    group: str = ""  # of rules that ask one question by several fair criteria; undecided where they differ
    condition: str = ""  # under which the statement holds or was tested; always shown
    study: str = ""  # recorded rows, `results/<study>.json`, that it is computed from; "" for the page's runs
    paper: int | float | None = None  # the paper's number for the quantity
    unit: str = ""  # of both

    def __post_init__(self) -> None:
        if wrong := _mistake(self):
            raise ValueError(f"rule {self.id!r} cannot judge: {wrong}")

    @property
    def exact(self) -> bool:
        """Whether it is mathematics, which must come out at every scale and on every build."""
        return self.kind in ("identity", "error", "code")

    @property
    def sampled(self) -> bool:
        """Whether its quantity is an estimate with an interval."""
        return self.kind in ("effect", "same")


def criterion(rule: Rule) -> tuple[str, float]:
    """A rule's comparison and the number that it compares with."""
    operator, _, bound = rule.expect.partition(" ")
    if operator not in COMPARISONS:
        raise ValueError(f"rule {rule.id!r} expects {rule.expect!r}; compare with a number, as '<= 1e-12'")
    return operator, float(bound)


def digest(rule: Rule) -> str:
    """What changes exactly if the rule does: 16 digits of the SHA-256 of all that enters a verdict.

    >>> digest(Rule("x", "3", "Eq. (3)", "...", "page", "error", "<= 1e-12", "identity"))
    'a67f8e9d2b1e1003'
    """
    enters = ("quantity", "expect", "kind", "size", "scale", "effect", "margin")
    parts = {name: getattr(rule, name) for name in enters}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def origin(rule: Rule) -> str:
    """Whose statement a rule tests: "the paper", "this book", "explainers" or "later literature"."""
    if rule.sentence:
        return "the paper"
    if "(ours)" in rule.source or rule.source.startswith("ours"):
        return "this book"
    return "explainers" if "explainer" in rule.source else "later literature"


def claims_file() -> Path:
    """The checkout's `claims.toml`, else the copy installed with the package."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent / "claims.toml"
    return checkout if checkout.is_file() else package / "claims.toml"


def load_rules(path: Path | None = None) -> list[Rule]:
    """The rules of a ledger's file, by default `claims_file()`; one that cannot judge raises ValueError."""
    place = path or claims_file()
    rules = _entries(place, "rule", Rule)
    known = {sentence.id for sentence in load_sentences(place)}
    if lost := [rule.id for rule in rules if rule.sentence and rule.sentence not in known]:
        raise ValueError(f"the rules {lost} in {place.name} test what is no [[sentence]]")
    return rules


def load_sentences(path: Path | None = None) -> list[Sentence]:
    """The paper's sentences, in its order; see :func:`load_rules`."""
    return _entries(path or claims_file(), "sentence", Sentence)


_loads = lru_cache(maxsize=2)(tomllib.loads)  # takes longer than all else that a page asks of it


def parsed(path: Path) -> dict[str, Any]:
    """The tables of a ledger's file."""
    return _loads(path.read_text(encoding="utf-8"))


def _entries(path: Path, name: str, kind: type[Any]) -> list[Any]:
    made = [kind(**entry) for entry in parsed(path).get(name, [])]
    ids = Counter(one.id for one in made)
    if twice := [id for id, count in ids.items() if count > 1]:
        raise ValueError(f"{name} {twice} in {path.name} appears twice; ids must be unique")
    return made


def _mistake(rule: Rule) -> str:
    """What is wrong with a rule, in words that name the fix; nothing of a sound one."""
    scales = ("ratio", "difference") if rule.sampled else ("",)
    for name, known in {"kind": KINDS, "size": SIZES, "steps": STEPS, "scale": scales}.items():
        if getattr(rule, name) not in known:
            return f"{name} is {getattr(rule, name)!r}; use one of {known}"
    operator, bound = criterion(rule)
    if rule.kind == "same":
        none = 1 if rule.scale == "ratio" else 0
        if operator != "==" or rule.margin is None or rule.margin <= none:
            return "a rule that denies a difference expects '== ' and a number, and a margin"
    elif rule.kind == "effect":
        if rule.effect is None or rule.effect_from not in ("paper", "ours"):
            return "it has no effect; give the size that counts, and effect_from, 'paper' or 'ours'"
        beyond = rule.effect < bound if operator in ("<", "<=") else rule.effect > bound
        if operator == "==" or not beyond:
            return f"the effect {rule.effect:g} is not on the claimed side of {rule.expect!r}"
    return ""
