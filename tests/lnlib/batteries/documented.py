"""Where lnlib does not do what torch does with torch's own test inputs, and why: data of the two batteries.

Each entry is tried on both sides: one that no longer differs fails, and so does one that no input meets.
Rows of the table in the docstring of `lnlib.norms` are named by their first column, with their own tests in
tests/lnlib/norms/test_differences.py.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """`ours` raises that with these `words`; or gives other values ("values"), or a result ("result")."""

    name: str
    inputs: str  # a pattern of the input as text
    ours: type[Exception] | str
    words: str
    reason: str


AXIS = "a row of lnlib.norms: InstanceNorm: no axis of cases"
AVERAGES = "a row of lnlib.norms: InstanceNorm: momentum, running averages"
NEGATIVE = "a row of lnlib.norms: a negative epsilon"
ZERO = "a row of lnlib.norms: BatchNorm: an epsilon of 0"
EMPTY = "a row of lnlib.norms: BatchNorm: a batch without cases"
ONE_AXIS = "one axis has either cases or units, and a batch norm needs both; torch takes an empty one"

MODULES = [
    entry
    for d, space in enumerate(("15", "6, 6", "4, 4, 4"), start=1)
    for entry in (
        Difference(f"nn.BatchNorm{d}d", r"on \(\(0, .* in training", "values", "", EMPTY),
        Difference(f"nn.InstanceNorm{d}d", rf"on \(\(3, {space}\)\)", ValueError, "axis 1 holds", AXIS),
        Difference(f"nn.InstanceNorm{d}d", r"False, True\) on .* in evaluation", "values", "", AVERAGES),
    )
]
MODULE_ERRORS = [
    entry
    for d in (1, 2, 3)
    for entry in (
        Difference(f"nn.BatchNorm{d}d", r"eps=0\.0", "result", "", ZERO),
        Difference(f"nn.BatchNorm{d}d", r"eps=-1\.0", ValueError, "eps is .* it is -1.0; 1e-05", NEGATIVE),
    )
]
OPERATORS = [
    Difference("nn.functional.batch_norm", r"^\(\(0,\)", ValueError, "needs 2 axes", ONE_AXIS),
    *(
        Difference(f"nn.functional.{norm}_norm", r"eps=-0\.5", ValueError, "eps is .* it is -0.5;", NEGATIVE)
        for norm in ("group", "layer", "rms")
    ),
]


def rows() -> set[str]:
    """The rows of the table in the docstring of lnlib.norms that reasons name."""
    reasons = {entry.reason for entry in (*MODULES, *MODULE_ERRORS, *OPERATORS)}
    return {reason.partition(": ")[2] for reason in reasons if reason.startswith("a row of lnlib.norms")}
