"""Measured rows with their provenance, and the ledger that judges the paper's claims by them.

`book/claims.toml` is the only place where a number of the paper is typed. A claim names the quantity that
tests it and the criterion that the quantity must meet; a page measures the quantity; the verdict is
computed here, never typed.
"""

import math
import re
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path

from lnbook.ledger.provenance import provenance
from lnbook.ledger.rows import SCALES, book_dir, read_rows, write_rows

__all__ = [
    "VERDICTS",
    "Claim",
    "Evidence",
    "Ledger",
    "Table",
    "criterion",
    "judge",
    "load_claims",
    "load_evidence",
    "table",
    "tally",
]

VERDICTS = (
    "holds",
    "holds under stated conditions",
    "misprint",
    "direction only",
    "not reproduced",
    "not attempted",
)


@dataclass(frozen=True)
class Claim:
    """One statement of the paper and the criterion that decides it.

    `expect` is a comparison with a number, such as ``"<= 1e-12"``. If the measured quantity meets it the
    verdict is `verdict`, else `otherwise`. `exact` claims are mathematics and must hold at every scale;
    the others are experiments, whose verdict is that of the scale shown.
    """

    id: str
    section: str
    source: str
    says: str
    page: str
    quantity: str
    expect: str
    verdict: str
    otherwise: str = "not reproduced"
    condition: str = ""
    exact: bool = False
    paper: int | float | None = None
    unit: str = ""


@dataclass(frozen=True)
class Evidence:
    """What a page measured for a claim: a value, its 95 % interval where there is one, and the verdict."""

    claim: str
    value: float
    low: float
    high: float
    n: int
    verdict: str

    def __repr__(self) -> str:
        return f"{self.claim}: {_number(self)} -> {self.verdict}"


def load_claims(path: Path | None = None) -> list[Claim]:
    """Read the ledger; the default is the checkout's, else the copy that is installed with the package.

    Raises ValueError naming the claim and the field if an entry is malformed.
    """
    if path is None:
        book = book_dir()
        path = (book or Path(__file__).parents[1]) / "claims.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
    if not isinstance(entries, list):
        raise ValueError(f"{path.name} has a table [claim]; write [[claim]], one for each claim")
    types = {f.name: f.type for f in fields(Claim)}
    required = {"id", "section", "source", "says", "page", "quantity", "expect", "verdict"}
    claims: dict[str, Claim] = {}
    for entry in entries:
        label = f"claim {entry.get('id', '?')!r} in {path.name}"
        if unknown := set(entry) - set(types):
            raise ValueError(f"{label} has unknown fields {sorted(unknown)}; known are {sorted(types)}")
        if missing := required - set(entry):
            raise ValueError(f"{label} lacks {sorted(missing)}; add them")
        if wrong := [key for key, value in entry.items() if not isinstance(value, types[key])]:  # type: ignore[arg-type]
            raise ValueError(f"{label} has the wrong type in {wrong}; quote text, and nothing else")
        claim = Claim(**entry)
        for verdict in (claim.verdict, claim.otherwise):
            if verdict not in VERDICTS:
                raise ValueError(f"{label} has verdict {verdict!r}; use one of {VERDICTS}")
        criterion(claim)
        if claim.id in claims:
            raise ValueError(f"{label} appears twice; ids must be unique")
        claims[claim.id] = claim
    return list(claims.values())


def criterion(claim: Claim) -> tuple[str, float]:
    """A claim's comparison and the number that it compares with.

    >>> criterion(Claim("x", "3", "Eq. (3)", "...", "page", "error", "<= 1e-12", "holds"))
    ('<=', 1e-12)
    """
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    match = re.fullmatch(rf"(<=|>=|<|>|==)\s*({number})", claim.expect.strip())
    if match is None:
        raise ValueError(f"claim {claim.id!r} expects {claim.expect!r}; compare with a number, as '<= 1e-12'")
    return match[1], float(match[2])


def judge(claim: Claim, value: float, low: float | None = None, high: float | None = None) -> str:
    """The verdict on a claim. With an interval, the whole interval must meet the criterion.

    NaN neither meets it nor fails it: whatever `otherwise` says, the claim is then not reproduced.

    >>> claim = Claim("x", "3", "Eq. (3)", "...", "page", "error", "<= 1e-12", "holds")
    >>> judge(claim, 1e-16), judge(claim, 0.0, -1.0, 1.0)
    ('holds', 'not reproduced')
    """
    operator, bound = criterion(claim)
    meets = {
        "<=": lambda x: x <= bound,
        ">=": lambda x: x >= bound,
        "<": lambda x: x < bound,
        ">": lambda x: x > bound,
        "==": lambda x: x == bound,
    }[operator]
    points = [value] + [x for x in (low, high) if x is not None]
    if any(math.isnan(x) for x in points):
        return "not reproduced"
    return claim.verdict if all(meets(x) for x in points) else claim.otherwise


class Ledger:
    """The claims of one page while it runs: `measure` each, then `show` the table and keep the rows.

    >>> ledger = Ledger("some_page", scale="smoke", claims=[Claim("x", "3", "Eq. (3)", "it is small",
    ...     "some_page", "size", "< 1", "holds")])
    >>> ledger.measure("x", 0.5)
    x: 0.5 -> holds
    """

    def __init__(
        self, page: str, *, scale: str, seed: int = 0, claims: Iterable[Claim] | None = None
    ) -> None:
        if scale not in SCALES:
            raise ValueError(f"scale is {scale!r}; it must be one of {SCALES}")
        known = load_claims() if claims is None else list(claims)
        self.page, self.scale, self.seed = page, scale, seed
        self.claims = {c.id: c for c in known if c.page == page}
        self.evidence: dict[str, Evidence] = {}
        self._started = time.perf_counter()

    def measure(
        self,
        claim_id: str,
        value: float,
        *,
        low: float | None = None,
        high: float | None = None,
        n: int = 1,
    ) -> Evidence:
        """Record the quantity that a claim names, with its 95 % interval over n seeds if it has one."""
        if claim_id not in self.claims:
            raise ValueError(
                f"{claim_id!r} is not a claim of page {self.page!r}; the ledger has {sorted(self.claims)} "
                "(add it to book/claims.toml)"
            )
        if n < 2 and (low is not None or high is not None):
            raise ValueError(f"the interval of {claim_id!r} is over n = {n} measurements; give n, at least 2")
        value = float(value)
        ends = [value if x is None else float(x) for x in (low, high)]
        verdict = judge(self.claims[claim_id], value, *ends)
        self.evidence[claim_id] = Evidence(claim_id, value, ends[0], ends[1], n, verdict)
        return self.evidence[claim_id]

    def show(self) -> "Table":
        """Keep the rows and return the page's table.

        Raises ValueError if a claim of the page was not measured, or an exact one does not hold.
        """
        if missing := sorted(set(self.claims) - set(self.evidence)):
            raise ValueError(f"page {self.page!r} did not measure its claims {missing}; measure each")
        exact = [c for c in self.claims.values() if c.exact]
        if failed := [self.evidence[c.id] for c in exact if self.evidence[c.id].verdict != c.verdict]:
            raise ValueError(f"exact claims hold at every scale, these do not: {failed}; correct the page")
        facts = provenance(scale=self.scale, seed=self.seed, seconds=time.perf_counter() - self._started)
        write_rows(self.page, [asdict(e) for e in self.evidence.values()], facts, scale=self.scale)
        return table(list(self.claims.values()), self.evidence)


class Table:
    """Claims with their verdicts, shown as HTML in a page and as Markdown elsewhere."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.header, self.rows = header, rows

    def to_markdown(self) -> str:
        """GitHub's table syntax; a bar inside a cell is escaped."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join("| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines)

    __repr__ = to_markdown

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(c)}</th>' for c in self.header)
        body = "".join(f"<tr>{''.join(map(self._cell, self.header, row))}</tr>" for row in self.rows)
        return (
            f'<div class="lnlib-table" tabindex="0"><table class="table"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    @staticmethod
    def _cell(column: str, text: str) -> str:
        """A cell that carries its column's name: on a phone, rows become cards and the head is not seen."""
        return f'<td data-column="{escape(column)}">{escape(text)}</td>'


def table(claims: Sequence[Claim], evidence: Mapping[str, Evidence]) -> Table:
    """The ledger as a table: source, claim, what was measured against which criterion, verdict."""
    rows = []
    for c in claims:
        e = evidence.get(c.id)
        verdict = e.verdict if e else "not attempted"
        if c.condition and e and e.verdict == c.verdict:
            verdict += f": {c.condition}"
        needs = c.expect.replace("<=", "≤").replace(">=", "≥").replace("==", "=")
        paper = "" if c.paper is None else f"; the paper has {c.paper:g}"
        measured = f"{c.quantity}: {_number(e, c.unit)} (needs {needs}{paper})" if e else "-"
        rows.append([c.source, c.says, measured, verdict])
    return Table(["Where", "Statement", "We measured", "Verdict"], rows)


def tally(claims: Sequence[Claim], evidence: Mapping[str, Evidence]) -> Table:
    """How many claims have each verdict, in the order of `VERDICTS`; verdicts that none has are left out."""
    verdicts = [evidence[c.id].verdict if c.id in evidence else "not attempted" for c in claims]
    return Table(["Verdict", "Statements"], [[v, str(verdicts.count(v))] for v in VERDICTS if v in verdicts])


def _number(e: Evidence, unit: str = "") -> str:
    value = f"{e.value:.3g}" + (f" {unit}" if unit else "")
    if e.low == e.high == e.value or math.isnan(e.value):
        return value
    return f"{value} [{e.low:.3g}, {e.high:.3g}], n = {e.n}"


def load_evidence(claims: Iterable[Claim], *, scale: str, folder: Path | None = None) -> dict[str, Evidence]:
    """The evidence stored for these claims, judged anew by today's criteria."""
    known = {c.id: c for c in claims}
    evidence: dict[str, Evidence] = {}
    for page in dict.fromkeys(c.page for c in known.values()):
        try:
            rows = read_rows(page, scale=scale, folder=folder)
        except FileNotFoundError:
            continue
        for row in rows:
            if row["claim"] in known:
                value, low, high = (float(row[k]) for k in ("value", "low", "high"))
                verdict = judge(known[row["claim"]], value, low, high)
                evidence[row["claim"]] = Evidence(row["claim"], value, low, high, int(row["n"]), verdict)
    return evidence
