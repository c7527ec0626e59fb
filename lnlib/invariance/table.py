r"""Table 1, computed: which transformation leaves which normalization's output alone, cell by cell.

Every cell is measured on random layers: transform, normalize, compare. Two numbers decide. *Invariant*
means that the change is within a bound on what rounding can do, computed from the unit roundoff of the
dtype and the conditioning of the layer at hand. *No* means a change above :data:`CLEAR`. Between the two,
invariance is broken, yet by little (`eps` does that), and the verdict says "nearly"; where rounding itself
comes near `CLEAR` there is no verdict but an error.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.invariance.methods import normalized, scales, statistics, summed_inputs
from lnlib.invariance.transformations import BEYOND, COLUMNS, PAPER, Transformation, columns
from lnlib.norms.normalize import layer_norm

__all__ = ["CLEAR", "Row", "measure", "rounding", "table1"]

#: A relative change that nobody takes for rounding: float32 stays three powers of ten below.
CLEAR = 1e-2


class Row(NamedTuple):
    """One cell of the table.

    `invariant`: the outputs are unchanged, up to rounding. `max_relative_change`: the largest change of an
    output over the largest output. `paper`: the cell of Table 1, if it has one. `equivariant`: the outputs
    move along as its transformation says, by which `max_relative_error` is the largest miss.
    `tolerance`: what rounding can do.
    """

    norm: str
    transformation: str
    invariant: bool
    max_relative_change: float
    paper: bool | None
    equivariant: bool
    max_relative_error: float
    tolerance: float

    @property
    def verdict(self) -> str:
        """ "invariant", "equivariant" (and not invariant), "nearly" (change of at most CLEAR), or "no"."""
        if self.invariant:
            return "invariant"
        if self.equivariant:
            return "equivariant"
        return "nearly" if self.max_relative_change <= CLEAR else "no"


def measure(
    norm: str,
    transformation: Transformation,
    W: Float[Tensor, "H D"],
    X: Float[Tensor, "N *space D"],
    *,
    name: str = "",
    eps: float = 0.0,
    input_bias: Float[Tensor, " H"] | None = None,
    frozen: bool = False,
) -> Row:
    r"""One cell, on a layer of yours: how much does a transformation change the normalized summed inputs?

    Gain, bias and non-linearity come after and are the same before and after the transformation: what does
    not change here does not change there.

    Args:
        norm, W, X, eps, input_bias: as for :func:`normalized`.
        transformation, name: what to do to the layer; how the result calls it.
        frozen: for "batch", keep the statistics of before the transformation, as in evaluation.

    Raises:
        ValueError: unknown method; or the normalized values are all 0 and would stay so under any
            transformation (layer norm of one unit, batch norm of one case).
        ArithmeticError: not finite, or a change that rounding might make, and more than a tenth of CLEAR.

    >>> from lnlib.invariance import affine_weights
    >>> W, X = torch.eye(2, dtype=torch.float64), torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    >>> [measure(norm, affine_weights(2.7), W, X).verdict for norm in ("layer", "none")]
    ['invariant', 'no']
    """
    options: dict[str, Any] = {"eps": eps, "input_bias": input_bias}
    kept = statistics(summed_inputs(norm, W, X, **options)) if frozen and norm == "batch" else None
    before = normalized(norm, W, X, frozen=kept, **options)
    after = normalized(norm, W, X, frozen=kept, by=transformation, **options)
    largest = before.abs().max()
    if largest == 0:
        raise ValueError(
            f"{norm} norm makes every summed input of shape {tuple(before.shape)} 0, so that anything would "
            f"look like an invariance; normalize over at least 2 different values"
        )
    tolerance = rounding(norm, transformation, W, X, **options)
    change = float((after - before).abs().max() / largest)
    miss = float((after - transformation.outputs(before)).abs().max() / largest)
    # A comparison with NaN is False; so NaN is caught here, too.
    if not (change < torch.inf and (tolerance <= CLEAR / 10 or change > 10 * tolerance)):
        raise ArithmeticError(
            f"{norm} norm under {name or transformation}: change {change:.1e}, and rounding in {W.dtype} can "
            f"make {tolerance:.1e}, too near {CLEAR}; use torch.float64 or better scaled weights and data"
        )
    cell = PAPER.get((norm, name))
    return Row(norm, name, change <= tolerance, change, cell, miss <= tolerance, miss, tolerance)


def rounding(
    norm: str,
    transformation: Transformation,
    W: Float[Tensor, "H D"],
    X: Float[Tensor, "N *space D"],
    *,
    eps: float = 0.0,
    input_bias: Float[Tensor, " H"] | None = None,
) -> float:
    r"""How much rounding can change a normalized layer, relative to its largest output.

    A summed input of D products is wrong by at most $(D+2)\,u\,\lvert W\rvert\lvert x\rvert$, its
    statistics by no more; the normalization divides that by $\sigma$. Both sides of the comparison err.

    *Source* Higham, "Accuracy and Stability of Numerical Algorithms" (2002), Section 3.1, to first order.

    Arguments as for :func:`measure`.

    >>> from lnlib.invariance import affine_weights
    >>> W, X = torch.eye(2, dtype=torch.float64), torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    >>> rounding("layer", affine_weights(2.7), W, X) < 1e-12
    True
    """
    total = 0.0
    for by in (Transformation(), transformation):
        w, x = by.weights(W), by.data(X)
        a = summed_inputs(norm, W, X, eps=eps, input_bias=input_bias, by=by)
        features = layer_norm(x, eps=eps) if norm == "input" else x
        size = (features.abs() @ w.abs().T).movedim(-1, 1) + 2 * a.abs()
        if norm == "input":  # normalizing the features has its own loss, |x| / std
            size = size * (1 + x.abs().amax(-1) / x.std(-1, correction=0))[:, None]
        divisor = scales(norm, a, w)
        output = (a / divisor).abs().max()
        total += float((size / divisor).max() * (1 + 1 / output))
    return (W.shape[1] + 10) * torch.finfo(W.dtype).eps * total  # finfo.eps is 2 u


def table1(
    norms: Iterable[str] = ("batch", "weight", "layer"),
    delta: float = 2.7,
    dtype: torch.dtype = torch.float64,
    *,
    transformations: Iterable[str] = COLUMNS,
    eps: float = 0.0,
    input_bias: float = 0.0,
    frozen: bool = False,
    units: int = 8,
    inputs: int = 5,
    cases: int = 7,
    seed: int = 0,
) -> list[Row]:
    r"""Table 1 on five random layers, with every condition that the print leaves out as an argument.

    *Source* Table 1, whose tacit conditions are the defaults here: $\delta > 0$, $\epsilon = 0$, no bias
    inside, statistics of the transformed layer. A cell reports the worst layer; those on which rounding
    would blur the verdict are left out.

    Args:
        norms: rows, out of :data:`METHODS`.
        delta: the scale; a negative one flips signs.
        dtype: of weights, data, and all arithmetic.
        transformations: columns, out of :data:`COLUMNS` and :data:`BEYOND`.
        eps: added to the variance (not by weight norm, which has none).
        input_bias: size of a random bias inside the summed inputs.
        frozen: batch norm with the statistics of before the transformation.
        units, inputs, cases: H (even for group norm), D, N.
        seed: of weights, data and shifts.

    Returns:
        One row a cell, columns within norms.

    Raises:
        ValueError: `delta` of 0 or 1 (nothing to see), an unknown row or column, or sizes at which a
            normalization gives 0 for everything.
        ArithmeticError: rounding in `dtype` is too coarse for a verdict on any of the layers.

    >>> rows = table1()
    >>> len(rows), all(row.invariant == row.paper for row in rows)
    (18, True)
    """
    transformations = list(transformations)
    if unknown := {*transformations} - {*COLUMNS, *BEYOND}:
        raise ValueError(f"table1: no transformation is called {unknown}; choose out of {COLUMNS + BEYOND}")
    if delta in (0, 1):
        raise ValueError(
            f"table1: delta = {delta:g} would {'erase what it scales' if delta == 0 else 'change nothing'}, "
            f"so that no cell tells anything; give another, for example 2.7"
        )
    rows = []
    for norm in norms:
        generator = torch.Generator().manual_seed(seed)

        def draw(*sizes: int, source: torch.Generator = generator) -> Tensor:
            return torch.randn(*sizes, generator=source, dtype=torch.float64).to(dtype)

        space = (4,) if norm == "instance" else ()  # places that share the weights
        measured: dict[str, list[Row]] = {name: [] for name in transformations}
        refused: ArithmeticError | None = None
        for _ in range(5):
            W, X, inside = draw(units, inputs), 1 + draw(cases, *space, inputs), input_bias * draw(units)
            by = columns(delta, draw, units, inputs, cases)
            for name, cell in measured.items():
                try:
                    row = measure(norm, by[name], W, X, name=name, eps=eps, input_bias=inside, frozen=frozen)
                    cell.append(row)
                except ArithmeticError as error:
                    refused = error
        for cell in measured.values():
            if refused and not cell:
                raise refused
            rows.append(_worst(cell))
    return rows


def _worst(cells: list[Row]) -> Row:
    """The largest change, error and tolerance of a cell; its invariances are those of every layer."""
    return cells[0]._replace(
        invariant=all(cell.invariant for cell in cells),
        max_relative_change=max(cell.max_relative_change for cell in cells),
        equivariant=all(cell.equivariant for cell in cells),
        max_relative_error=max(cell.max_relative_error for cell in cells),
        tolerance=max(cell.tolerance for cell in cells),
    )
