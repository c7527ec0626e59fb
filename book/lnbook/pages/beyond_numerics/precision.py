r"""A microscope for normalizations: errors in units of roundoff, while the mean grows over the spread.

Every case is judged for the numbers it really holds, after they were rounded to its precision, against
rational arithmetic (see `variances`). `u` is the unit roundoff, half the distance from 1 to the next number:
$2^{-11}$ in float16, $2^{-8}$ in bfloat16, $2^{-24}$ in float32, $2^{-53}$ in float64.

And the epsilons of public programs. The place matters as much as the size: *inside the root* the divisor is
$\sqrt{\sigma^2+\epsilon}$, *outside* it is $\sigma+\epsilon$.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.ledger.tables import Table
from lnbook.pages.beyond_numerics.variances import (
    Moments,
    Way,
    layer_norm_by,
    moments,
    output_error,
    variance_error,
)
from lnlib.invariance import EPS_DEFAULTS

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
Norm = Callable[[Tensor], Tensor]

# Float32 inputs from public reports of a layer norm that returned NaN or nonsense:
# github.com/microsoft/onnxruntime/issues/28463, apache/tvm/pull/19643, ml-explore/mlx/issues/2238 (rounded).
REPORTED = {
    "ONNX Runtime": (40000.0, 40001.0, 40002.0, 40003.0),
    "TVM": (80000.0, 80001.0, 80002.0, 80003.0),
    "MLX": (
        *(1449.5706, 1448.8741, 1450.6504, 1449.2633, 1449.7764, 1449.3171, 1449.3297, 1449.0779),
        *(1449.2181, 1449.4330, 1449.1605, 1449.4133, 1449.7933, 1450.0667, 1449.7763, 1450.3650),
    ),
}

# Programs' defaults: size, place ("inside" or "outside" of the root), whether the variance is biased. Read in
# the code or the documentation behind each link; PyTorch's and ONNX's are also run by the tests. Where the
# table has no epsilon, the library has it.
_table = pd.read_csv(Path(__file__).with_name("programs.csv"), dtype={"eps": str})
_known = {default.program: default.eps for default in EPS_DEFAULTS}
ATLAS = _table.assign(eps=_table["eps"].astype(float).fillna(_table["name"].map(_known)))


class Slide(NamedTuple):
    """Cases of about one tilt |mean|/std, their exact moments, and the median of their exact tilts."""

    cases: Float[Tensor, "N H"]
    true: list[Moments]
    tilt: float


class Reading(NamedTuple):
    """Errors of one method on one slide, in units of roundoff: medians over cases, and the worst output."""

    tilt: float
    variance: float
    output: float
    worst: float


def roundoff(dtype: torch.dtype) -> float:
    """The unit roundoff: the largest relative error of rounding to nearest."""
    return float(torch.finfo(dtype).eps) / 2


def slide(tilt: float, dtype: torch.dtype, cases: int, units: int, generator: torch.Generator) -> Slide:
    """Normal cases with means of 1 to 2, standard deviations `tilt` times as small, not all values equal."""
    kept: list[Tensor] = []
    while len(kept) < cases:
        mean = 1 + torch.rand(cases, 1, generator=generator, dtype=torch.float64)
        noise = torch.randn(cases, units, generator=generator, dtype=torch.float64)
        kept += [row for row in (mean * (1 + noise / tilt)).to(dtype) if row.min() < row.max()]
    drawn = torch.stack(kept[:cases])
    true = [moments(case) for case in drawn]
    return Slide(drawn, true, float(np.median([t.tilt for t in true])))


def slides(
    dtype: torch.dtype, cases: int, units: int, points: int, generator: torch.Generator
) -> list[Slide]:
    """Slides with tilts from 1 to a quarter of the most that the precision can hold, evenly on a log axis."""
    tilts = np.geomspace(1.0, 0.25 / roundoff(dtype), points)
    return [slide(float(tilt), dtype, cases, units, generator) for tilt in tilts]


def readings(
    views: Iterable[Slide], way: Way | None = None, norm: Norm | None = None, wide: bool = False
) -> list[Reading]:
    """Every slide through a way to the variance, or a whole norm; `wide`: halves in float32."""
    result = []
    for view in views:
        unit, x = roundoff(view.cases.dtype), view.cases.float() if wide else view.cases
        outputs = layer_norm_by(x, way, eps=0.0) if way else norm(x)  # type: ignore[misc]
        off = [e / unit for e in map(output_error, view.true, outputs.to(view.cases.dtype))]
        seen = way(x).variance.double().flatten().tolist() if way else []
        wrong = [e / unit for e in map(variance_error, view.true, seen)] or [math.nan]
        result.append(Reading(view.tilt, float(np.median(wrong)), float(np.median(off)), max(off)))
    return result


def verdicts(norm: Norm, case: Float[Tensor, " H"], powers: Sequence[int], dtype: torch.dtype) -> list[str]:
    """What a layer norm makes of a case times powers of ten: right, wrong, or nan for infinite ones, too.

    "" where the dtype cannot hold the case: a value overflows, or nothing but one number is left.

    >>> from lnbook.pages.beyond_numerics.variances import two_passes
    >>> case = torch.tensor([-1.0, 0.5, 0.5], dtype=torch.float64)
    >>> verdicts(lambda x: layer_norm_by(x, two_passes), case, [-9, 0, 3, 5], torch.float16)
    ['', 'right', 'wrong', '']
    """
    found = []
    for power in powers:
        x = (case * 10.0**power).to(dtype)[None]
        if not x.isfinite().all() or x.amin() == x.amax():
            found.append("")
            continue
        y = norm(x)[0]
        verdict = "right" if output_error(moments(x[0]), y) <= 0.01 else "wrong"
        found.append(verdict if y.isfinite().all() else "nan")
    return found


def short_below(eps: float, place: str) -> float:
    r"""The standard deviation s below which outputs are more than one percent too small, with $q = 0.99$.

    $s/\sqrt{s^2+\epsilon}=q$ at $\sqrt{\epsilon}\,q/\sqrt{1-q^2}$ inside the root; outside,
    $s/(s+\epsilon)=q$ at $99\,\epsilon$.
    """
    return math.sqrt(eps) * 0.99 / math.sqrt(1 - 0.99**2) if place == "inside" else 99 * eps


def atlas_table(programs: pd.DataFrame) -> Table:
    """Programs and what their epsilons do, in the order given; in a page each name is a link."""
    header = ("program", "epsilon", "of the root", "1 % short below", "gain at zero", "in float16")
    rows = []
    for p in programs.itertuples():
        gain = 1 / (math.sqrt(p.eps) if p.place == "inside" else p.eps)  # of tiny differences
        short = f"{short_below(p.eps, p.place):.1e}"
        rows.append((p.name, f"{p.eps:g}", p.place, short, f"{gain:,.0f}", f"{np.float16(p.eps):.3g}"))
    return Table(header, rows, programs["link"].tolist())
