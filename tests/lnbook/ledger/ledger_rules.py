"""Rules and measurements to try the ledger with."""

from collections.abc import Sequence
from pathlib import Path

from lnbook.ledger.rules import Rule
from lnbook.ledger.verdicts import Measurement

# An entry of claims.toml, its values as they are written there.
FIELDS = {
    "id": '"a"',
    "section": '"3"',
    "source": '"Eq. (3)"',
    "says": '"small"',
    "page": '"page"',
    "quantity": '"error"',
    "expect": '"<= 1e-12"',
    "kind": '"identity"',
}
SENTENCE = {"id": '"p"', "section": '"3"', "place": '"Section 3"', "says": '"it is small"'}


def rule(expect: str = "> 0", **fields: object) -> Rule:
    """A rule on an estimate in a stand-in, unless the fields say otherwise."""
    given = {key: value.strip('"') for key, value in FIELDS.items() if key not in ("expect", "kind")}
    if fields.get("kind", "effect") not in ("effect", "same"):
        defaults = {"expect": "<= 1e-12" if expect == "> 0" else expect}
    else:
        estimate = {"kind": "effect", "size": "stand-in", "scale": "difference"}
        defaults = estimate | {"expect": expect, "effect": 1, "effect_from": "ours"}
    return Rule(**(given | defaults | fields))


def measurement(value: float, low: float, high: float, n: int = 8, name: str = "a") -> Measurement:
    """One with an interval over n."""
    return Measurement(name, value, low, high, n)


def write(path: Path, *rules: dict[str, str], sentences: Sequence[dict[str, str]] = ()) -> Path:
    """A ledger's file with these entries."""
    entries = [("sentence", entry) for entry in sentences] + [("rule", entry) for entry in rules]
    lines = [f"[[{kind}]]\n" + "".join(f"{k} = {v}\n" for k, v in entry.items()) for kind, entry in entries]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
