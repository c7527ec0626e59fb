"""Reading the ledger: by section of the paper, by experiment, and by how close each verdict was."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from scipy import stats

from lnbook.ledger.results import Claim, Evidence, criterion, judge

__all__ = ["EXPERIMENTS", "SECTIONS", "margin", "run_here", "section_of", "with_confidence"]

SECTIONS = {
    "1": "1 Introduction",
    "2": "2 Background",
    "3": "3 The method",
    "3.1": "3.1 Recurrent networks",
    "4": "4 Related work",
    "5.1": "5.1 Invariance",
    "5.2": "5.2 Geometry",
    "6": "6 Experiments, at large",
    "6.1": "6.1 Order embeddings",
    "6.2": "6.2 Question answering",
    "6.3": "6.3 Skip-thoughts",
    "6.4": "6.4 DRAW",
    "6.5": "6.5 Handwriting",
    "6.6": "6.6 MNIST",
    "6.7": "6.7 ConvNets",
    "7": "7 Conclusion",
    "supplement": "Supplement",
}
EXPERIMENTS = tuple(section for section in SECTIONS if section.startswith("6."))


def section_of(claim: Claim) -> str | None:
    """The section of the paper, a key of `SECTIONS`, that makes a claim; None for a claim of ours.

    >>> section_of(Claim("x", "5.2.2", "...", "...", "page", "size", "< 1", "holds"))
    '5.2'
    """
    if "(ours)" in claim.source or claim.source.startswith("ours"):
        return None
    inside = [s for s in SECTIONS if claim.section == s or claim.section.startswith(f"{s}.")]
    return max(inside, key=len, default=None)


def run_here(claims: Iterable[Claim], evidence: Mapping[str, Evidence]) -> dict[str, list[Claim]]:
    """For each experiment of Section 6, the claims that a page of its own has measured.

    A page of its own is one whose name begins with the experiment's number, such as `sec6_6_...`. Other
    pages may hold claims of that section too, but they do not run its experiment.
    """
    measured = [claim for claim in claims if claim.id in evidence]
    return {
        section: [c for c in measured if c.page.startswith(f"sec{section.replace('.', '_')}_")]
        for section in EXPERIMENTS
    }


def margin(claim: Claim, evidence: Evidence) -> float | None:
    r"""How far a measurement is from the claim's bound, in half widths of its interval.

    $\lvert v-b\rvert/w$ with the value v, the bound b, and w from v to the end of the 95 % interval that
    lies towards b. Above 1 the whole interval is on one side of the bound, which decides the claim; below 1
    it holds the bound, and a claim is then "not reproduced" because it is undecided.

    *Source* ours.

    Returns:
        The margin; None where the measurement has no interval.

    >>> claim = Claim("x", "3", "...", "...", "page", "size", "> 0", "holds")
    >>> margin(claim, Evidence("x", 3.0, 1.0, 5.0, 5, "holds"))
    1.5
    """
    _, bound = criterion(claim)
    width = evidence.value - evidence.low if evidence.value > bound else evidence.high - evidence.value
    return abs(evidence.value - bound) / width if width > 0 else None


def with_confidence(claim: Claim, evidence: Evidence, confidence: float) -> Evidence:
    """The same measurement with an interval of another confidence than 0.95, judged anew.

    Both ends move away from the value, or towards it, as the quantile of Student's t over n - 1 degrees of
    freedom does; a measurement without an interval stays as it is.

    *Source* ours.

    Args:
        claim: whose criterion judges.
        evidence: with a 95 % interval over n independent measurements.
        confidence: of the interval wanted, between 0 and 1.

    Raises:
        ValueError: no such confidence.

    >>> claim = Claim("x", "3", "...", "...", "page", "size", "> 0", "holds")
    >>> with_confidence(claim, Evidence("x", 3.0, 1.0, 5.0, 5, "holds"), 0.99)
    x: 3 [-0.317, 6.32], n = 5 -> not reproduced
    """
    if not 0 < confidence < 1:
        raise ValueError(f"The confidence is {confidence}; it must be between 0 and 1.")
    if evidence.low == evidence.high:
        return evidence
    wanted, had = (stats.t.ppf((1 + c) / 2, evidence.n - 1) for c in (confidence, 0.95))
    low, high = (
        evidence.value + (end - evidence.value) * wanted / had for end in (evidence.low, evidence.high)
    )
    return replace(evidence, low=low, high=high, verdict=judge(claim, evidence.value, low, high))
