r"""The algebra behind Table 1 for symbolic H, D and N, with sympy.

Sums have symbolic bounds, and one rule does the work: what does not depend on the summation index comes out
of a sum. Two facts follow for every normalization that subtracts a mean over an index k. If the summed inputs
become $\alpha a_k + c$ with $\alpha$ and $c$ free of k, then $\mu\to\alpha\mu + c$ and
$\sigma^2\to\alpha^2\sigma^2$, and $\bar a\to\operatorname{sgn}(\alpha)\,\bar a$. So a cell of the table is
the question of what $\alpha$ and $c$ depend on.
"""

try:
    import sympy as sp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("proofs need sympy: pip install 'lnlib[proofs]'", name="sympy") from error

__all__ = ["CHANGED", "eps_identity", "factor_of"]

UNIT, CASE, PLACE, INPUT = sp.symbols("i n p j", integer=True, positive=True)
SIZES = dict(zip((UNIT, CASE, PLACE, INPUT), sp.symbols("H N P D", integer=True, positive=True), strict=True))
W, X, A = sp.IndexedBase("w"), sp.IndexedBase("x"), sp.IndexedBase("a")
GAMMA, C, SHIFT = sp.IndexedBase("gamma"), sp.IndexedBase("c"), sp.IndexedBase("s", real=True)
DELTAS = sp.IndexedBase("delta", positive=True)
DELTA = sp.Symbol("delta", positive=True)
ZERO = sp.S.Zero
VALUE = sp.Symbol("a", real=True)  # the summed input before

# Column -> (w'_ij, x'_nsj, what is added to the summed input). Only scales above 0 but in the last line.
CHANGED = {
    "weight matrix re-scaling": (DELTA * W[UNIT, INPUT], X[CASE, PLACE, INPUT], ZERO),
    "weight matrix re-centering": (W[UNIT, INPUT] + GAMMA[INPUT], X[CASE, PLACE, INPUT], ZERO),
    "weight vector re-scaling": (DELTAS[UNIT] * W[UNIT, INPUT], X[CASE, PLACE, INPUT], ZERO),
    "dataset re-scaling": (W[UNIT, INPUT], DELTA * X[CASE, PLACE, INPUT], ZERO),
    "dataset re-centering": (W[UNIT, INPUT], X[CASE, PLACE, INPUT] + C[INPUT], ZERO),
    "single training case re-scaling": (W[UNIT, INPUT], DELTAS[CASE] * X[CASE, PLACE, INPUT], ZERO),
    "per-row shift of the weights": (W[UNIT, INPUT] + GAMMA[UNIT], X[CASE, PLACE, INPUT], ZERO),
    "per-case shift of the features": (W[UNIT, INPUT], X[CASE, PLACE, INPUT] + SHIFT[CASE], ZERO),
    "per-case shift of the summed inputs": (W[UNIT, INPUT], X[CASE, PLACE, INPUT], SHIFT[CASE]),
    "negative weight matrix re-scaling": (-DELTA * W[UNIT, INPUT], X[CASE, PLACE, INPUT], ZERO),
}
# Over which index a row averages.
OVER = {"batch": (CASE, PLACE), "layer": (UNIT,), "rms": (UNIT,), "group": (UNIT,), "instance": (PLACE,)}


def factor_of(norm: str, column: str) -> tuple[sp.Expr | None, list[str]]:
    r"""The factor on the normalized outputs, for all sizes, and the steps; None if none follows.

    A factor of 1 is invariance, -1 a flip of signs. The variance is taken not to be 0.

    >>> factor_of("layer", "single training case re-scaling")[0]
    1
    >>> factor_of("batch", "single training case re-scaling")[0] is None
    True
    """
    weights, data, added = CHANGED[column]
    if norm == "input":
        return _normalized_input(weights, data, added)
    alpha, c = _linear(weights * data, INPUT, W[UNIT, INPUT] * X[CASE, PLACE, INPUT])
    c += added
    steps = [f"a' = {alpha * VALUE + c}"]
    if c != 0 and norm in ("none", "weight", "rms"):
        return None, [*steps, f"{norm} norm removes no mean"]
    if norm in OVER:
        over = OVER[norm]
        if _depend((alpha, c), over):
            return None, [*steps, f"depends on {', '.join(map(str, over))}, over which {norm} norm averages"]
        return _after_standardization(alpha, c, over[0], centered=norm != "rms", steps=steps)
    if norm == "weight":
        scale, _ = _linear(weights**2, INPUT, W[UNIT, INPUT] ** 2)
        factor = sp.simplify(alpha / sp.sqrt(scale))
        return factor, [*steps, f"|w_i|' = {sp.sqrt(scale) * sp.Symbol('|w_i|')}", f"ratio {factor}"]
    return alpha, [*steps, "nothing is divided"]


def eps_identity() -> sp.Expr:
    """The exact factor of an epsilon, minus what `eps_factor` computes: simplifies to 0.

    >>> eps_identity()
    0
    """
    v, e = sp.symbols("v epsilon", positive=True)
    d = sp.Symbol("d", real=True)
    after, before = DELTA * d / sp.sqrt(DELTA**2 * v + e), d / sp.sqrt(v + e)
    return sp.simplify(after - before * sp.sqrt((v + e) / (v + e / DELTA**2)))


def _normalized_input(weights: sp.Expr, data: sp.Expr, added: sp.Expr) -> tuple[sp.Expr | None, list[str]]:
    """Layer norm of the features, then the weights."""
    feature = X[CASE, PLACE, INPUT]
    alpha, c = sp.expand(data).coeff(feature), sp.expand(data).coeff(feature, 0)
    steps = [f"x' = {alpha * sp.Symbol('x') + c}"]
    if _depend((alpha, c), (INPUT,)):
        return None, [*steps, "depends on j, over which the features are averaged"]
    sign, steps = _after_standardization(alpha, c, INPUT, centered=True, steps=steps)
    # The normalized features add up to 0, so that what does not depend on j drops out of w'.
    hat = A[INPUT]
    scale, rest = _linear(weights * hat, INPUT, W[UNIT, INPUT] * hat)
    rest = rest.subs(sp.Sum(hat, (INPUT, 1, SIZES[INPUT])), 0) + added
    steps = [*steps, f"a' = {scale * VALUE + rest}"]
    return (None if rest != 0 else sp.simplify(scale * sign)), steps


def _after_standardization(
    alpha: sp.Expr, c: sp.Expr, k: sp.Symbol, *, centered: bool, steps: list[str]
) -> tuple[sp.Expr, list[str]]:
    """Mean, variance and normalized value of alpha a_k + c, by linearity of sums over k.

    Nothing uses what the size stands for: it may count units, a group of them, cases, or cases times places.
    """
    size = SIZES[k]
    mean, power = sp.symbols("mu m_2", real=True)
    known = {sp.Sum(A[k], (k, 1, size)): size * mean, sp.Sum(A[k] ** 2, (k, 1, size)): size * power}

    def average(term: sp.Expr) -> sp.Expr:
        return sp.expand(_sum(term, k).subs(known) / size)

    center, new_center = (average(A[k]), average(alpha * A[k] + c)) if centered else (ZERO, ZERO)
    old, new = average((A[k] - center) ** 2), average((alpha * A[k] + c - new_center) ** 2)
    if sp.expand(new - alpha**2 * old) != 0:
        raise ArithmeticError(f"the variance of {alpha} a + {c} came out as {new}, not as alpha^2 sigma^2")
    variance = sp.Symbol("v", positive=True)
    before = (VALUE - center) / sp.sqrt(variance)
    after = (alpha * VALUE + c - new_center) / sp.sqrt(alpha**2 * variance)
    factor = sp.simplify(after / before)
    moment = "sigma^2" if centered else "m_2"
    said = [f"mu' = {new_center}"] if centered else []
    return factor, [*steps, *said, f"{moment}' = {alpha**2 * sp.Symbol(moment)}", f"ratio {factor}"]


def _linear(term: sp.Expr, k: sp.Symbol, base: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Sum the term over k as alpha * Sum(base) + rest; returns alpha and the rest."""
    total = _sum(term, k)
    old = sp.Sum(base, (k, 1, SIZES[k]))
    return total.coeff(old), total.coeff(old, 0)


def _sum(term: sp.Expr, k: sp.Symbol) -> sp.Expr:
    """Sum over k, each product split into what depends on k and what comes out of the sum."""
    total = ZERO
    for product in sp.Add.make_args(sp.expand(term)):
        outside, inside = product.as_independent(k, as_Add=False)
        total += outside * (SIZES[k] if inside == 1 else sp.Sum(inside, (k, 1, SIZES[k])))
    return sp.expand(total)


def _depend(terms: tuple[sp.Expr, ...], over: tuple[sp.Symbol, ...]) -> bool:
    return any(index in sp.sympify(term).free_symbols for term in terms for index in over)
