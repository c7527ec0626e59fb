"""Cells of Table 1 decided for all layers: proofs by algebra, disproofs by an exact counterexample.

A proof covers every H, D and N, every non-linearity, gain and bias (they come after what is shown to be
unchanged), and every layer without 0 / 0. It stops at eps = 0, scales above 0 and exact arithmetic: for an
epsilon there is `prove_eps_factor`, for rounding `rounding`. A disproof is one layer of small integers on
which exact fractions differ.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt

import torch
from torch import Tensor

from lnlib.invariance.methods import METHODS
from lnlib.invariance.transformations import PAPER, Transformation, columns

__all__ = ["Proof", "prove", "prove_eps_factor", "prove_table1"]


@dataclass(frozen=True)
class Proof:
    """What is claimed, whether it is true, how far that reaches, how it was found, and the steps."""

    statement: str
    holds: bool
    generality: str
    method: str
    steps: tuple[str, ...]


def prove(norm: str, transformation: str) -> Proof:
    """Decide whether the normalized outputs are invariant to a transformation.

    *Source* Table 1, Eqs. (6) and (7); ours beyond.

    Args:
        norm: a row, one of :data:`METHODS`.
        transformation: a column by its name in :data:`COLUMNS` or :data:`BEYOND`. The three that mix units
            have no invariance to prove.

    Returns:
        A proof for all sizes if the invariance holds, else a counterexample; for a negative scale, the steps
        give the factor -1.

    Raises:
        ValueError: unknown or unsuitable names.
        ArithmeticError: neither a proof nor a counterexample was found.

    >>> prove("layer", "weight matrix re-centering").holds, prove("batch", "weight matrix re-centering").holds
    (True, False)
    """
    from lnlib.invariance import symbolic  # sympy takes half a second to import

    if norm not in METHODS or transformation not in symbolic.CHANGED:
        raise ValueError(
            f"prove: no cell ({norm!r}, {transformation!r}); choose a row out of {METHODS} and a column out "
            f"of {tuple(symbolic.CHANGED)}"
        )
    statement = f"{norm} norm is invariant to {transformation}"
    factor, steps = symbolic.factor_of(norm, transformation)
    if factor == 1:
        return Proof(statement, True, "all H, D, N", "linearity of sums (sympy)", tuple(steps))
    found = _counterexample(norm, transformation)
    if found is None:
        raise ArithmeticError(f"prove: neither a proof nor a counterexample for: {statement}")
    return Proof(statement, False, "one layer is enough", "exact counterexample", (*steps, found))


def prove_table1() -> dict[tuple[str, str], Proof]:
    """All 18 cells of Table 1, each with a proof or a counterexample.

    >>> all(proof.holds == PAPER[cell] for cell, proof in prove_table1().items())
    True
    """
    return {cell: prove(*cell) for cell in PAPER}


def prove_eps_factor() -> Proof:
    """The factor of :func:`eps_factor`, for every variance, epsilon and positive scale.

    >>> prove_eps_factor().holds
    True
    """
    from lnlib.invariance import symbolic

    rest = symbolic.eps_identity()
    statement = "a scale changes outputs by sqrt((s^2 + eps) / (s^2 + eps / delta^2))"
    return Proof(statement, rest == 0, "all s, eps, delta > 0", "sympy", (f"difference {rest}",))


def _counterexample(norm: str, transformation: str) -> str | None:
    """A layer of small integers on which exact outputs differ, as text."""
    for seed in range(100):
        generator = torch.Generator().manual_seed(seed)

        def draw(*sizes: int, source: torch.Generator = generator) -> Tensor:
            return torch.randint(-3, 4, sizes, generator=source).double()

        space = (3,) if norm == "instance" else ()
        W, X = draw(4, 2), draw(3, *space, 2)
        by = columns(2.0, draw, units=4, inputs=2, cases=3)[transformation]
        before, after = _exact(norm, W, X, Transformation()), _exact(norm, W, X, by)
        if before is None or after is None:  # 0 / 0 somewhere: not a fair example
            continue
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                return (
                    f"W = {W.int().tolist()}, x = {X.int().tolist()}: output {place + 1} goes from "
                    f"{_root(*old)} to {_root(*new)}"
                )
    return None


def _root(sign: int, square: Fraction) -> str:
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return f"{'-' if sign < 0 else ''}{root if root * root == square else f'sqrt({square})'}"


def _exact(norm: str, W: Tensor, X: Tensor, by: Transformation) -> list[tuple[int, Fraction]] | None:
    """Normalized outputs as (sign, square), which are rational, in order; None if a divisor is 0.

    Weights and data are small integers or halves, so that float64 holds them and their sums exactly.
    """
    data = by.data(X)
    if norm == "input":  # two features: normalized, each is exactly a sign
        data = (data - data.mean(-1, keepdim=True)).sign()
        if not data.all():
            return None
    a = by.summed((data @ by.weights(W).T).movedim(-1, 1))
    rows, out = a if a.ndim == 3 else a[..., None], []
    for n, i, s in product(*map(range, rows.shape)):
        sets = {
            "batch": rows[:, i],
            "layer": rows[n],
            "rms": rows[n],
            "group": rows[n, i // 2 * 2 : i // 2 * 2 + 2],
            "instance": rows[n, i],
            "weight": by.weights(W)[i],
        }
        value, square = Fraction(rows[n, i, s].item()), Fraction(1)
        if norm in sets:
            values = [Fraction(v) for v in sets[norm].flatten().tolist()]
            mean = Fraction(0) if norm in ("rms", "weight") else sum(values, Fraction(0)) / len(values)
            power = sum(((v - mean) ** 2 for v in values), Fraction(0))
            value, square = value - mean, power if norm == "weight" else power / len(values)
        if square == 0:
            return None
        out.append(((value > 0) - (value < 0), value * value / square))
    return out
