"""The families and their covariances against SciPy, exact arithmetic and their own derivatives."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
import torch
from glms import draw
from numpy.testing import assert_allclose
from scipy import stats
from torch import Tensor
from torch.testing import assert_close

from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.families import Family, exp_excess, named_family

DISPERSIONS = {"gaussian": 2.5, "bernoulli": 1.0, "poisson": 0.5, "gamma": 0.4, "categorical": 1.0}
CASES: dict[str, tuple[Family, float]] = {
    name: (named_family(name), phi) for name, phi in DISPERSIONS.items()
}
DIGITS = 1e-13  # relative, of each entry: exponentials of arguments up to 800 carry 800 roundings
every_family = pytest.mark.parametrize("name", CASES)


def natural(name: str, cases: int = 6) -> Tensor:
    z = draw(cases, 2)
    return -0.2 - z.abs() if name == "gamma" else z


def outcome(name: str, cases: int = 6) -> Tensor:
    """In the support, spread over it."""
    u = torch.arange(2 * cases).view(cases, 2)
    y = {"gaussian": draw(cases, 2, seed=1), "bernoulli": u % 2, "poisson": (u % 5) / 2, "gamma": (1 + u) / 3}
    return u[:, 0] % 2 if name == "categorical" else y[name].double()


@every_family
def test_the_log_likelihood_is_scipys(name):
    (family, phi), z, y = CASES[name], natural(name), outcome(name)
    family.check_outcome(y, z, phi)
    p = torch.sigmoid(z)
    theirs: dict[str, Callable[[], object]] = {
        "gaussian": lambda: stats.norm.logpdf(y, z, math.sqrt(phi)).sum(1),
        "bernoulli": lambda: stats.bernoulli.logpmf(y, p).sum(1),
        "poisson": lambda: stats.poisson.logpmf((y / phi).round(), z.exp() / phi).sum(1),
        "gamma": lambda: stats.gamma.logpdf(y, 1 / phi, scale=-phi / z).sum(1),
    }
    ours = family.log_likelihood(y, z, phi)
    if name == "categorical":
        assert_close(ours, -torch.nn.functional.cross_entropy(z, y, reduction="none"))
    else:
        assert_allclose(ours.numpy(), theirs[name](), rtol=1e-12)


@every_family
def test_the_score_is_the_residual_over_the_dispersion_and_its_slope_the_covariance(name):
    """Eqs. (10)-(11): d log P / dz = (y - mean) / phi and d^2 log P / dz^2 = -Cov / phi^2."""
    (family, phi), z, y = CASES[name], natural(name), outcome(name)
    z.requires_grad_()
    (score,) = torch.autograd.grad(family.log_likelihood(y, z, phi).sum(), z, create_graph=True)
    mean = family.mean(z)
    if name == "categorical":
        y = torch.nn.functional.one_hot(y, 2).to(z.dtype)
    assert_close(score, (y - mean) / phi)
    slope = torch.stack(
        [torch.autograd.grad(score[:, i].sum(), z, retain_graph=True)[0] for i in range(2)], 1
    )
    assert_close(-slope, family.scaled_covariance(z.detach(), phi).dense())


def exact(name: str, z: float, other: float) -> Decimal:
    """The divergence of one unit: 400 digits, for terms that cancel down to 1e-305."""
    with localcontext() as context:
        context.prec = 400
        a, b = Decimal(z), Decimal(other)
        if name == "poisson":
            return (b.exp() - a.exp() * (1 + b - a)) / Decimal("0.5")
        if name == "gamma":
            return (b / a - 1 - (b / a).ln()) / Decimal("0.4")
        p = [1 / (1 + (-s * a).exp()) for s in (1, -1)]
        q = [1 / (1 + (-s * b).exp()) for s in (1, -1)]
        return sum(u * (u.ln() - v.ln()) for u, v in zip(p, q, strict=True))


PLACES = {
    "bernoulli": [-800.0, -40.0, -1.0, 0.0, 0.5, 40.0, 800.0],
    "poisson": [-800.0, -20.0, 0.0, 3.0],
    "gamma": [-800.0, -1.0, -1e-6],
    "categorical": [-800.0, -40.0, 0.5, 40.0],
}
STEPS = [1e-12, 1e-6, 0.3, 0.49, 0.51, 0.99, 1.01, 30.0, 400.0, 1500.0]


def pairs(name: str) -> list[tuple[float, float]]:
    if name == "gamma":
        return [(z, z * (1 + s)) for z in PLACES[name] for s in (*STEPS, -1e-9, -0.3, -0.6, -1 + 1e-12)]
    reach = 700 if name == "poisson" else 1e9
    both = [(z, z + sign * s) for z in PLACES[name] for s in STEPS for sign in (1, -1)]
    return [(z, other) for z, other in both if max(z, other) < reach]


@pytest.mark.parametrize("name", PLACES)
def test_divergences_keep_their_digits_near_and_far(name):
    family, phi = CASES[name]
    for z, other in pairs(name):
        a, b = torch.tensor([[z]], dtype=torch.float64), torch.tensor([[other]], dtype=torch.float64)
        if name == "categorical":  # two classes: their difference is a coin's logit
            a, b = torch.cat([a, torch.zeros_like(a)], 1), torch.cat([b, torch.zeros_like(b)], 1)
        found, true = float(family.kl(a, b, phi)), exact(name, z, other)
        # 1e-12: an exponential of an argument of 800 carries 800 roundings of it; below 1e-305 floats end
        assert abs(Decimal(found) - true) <= Decimal("1e-12") * true + Decimal("1e-305"), (z, other, found)


@every_family
def test_derivatives_of_divergences_are_those_of_their_definition(name):
    """By both arguments, first and second: d KL = Cov / phi^2 (z' - z) along z, mean' - mean along z'."""
    family, phi = CASES[name]
    z, other = natural(name), natural(name).flip(0) * 1.01 - 0.01
    z[0] = other[0] = -0.5 if name == "gamma" else 0.0  # where a side is changed
    z.requires_grad_()
    other.requires_grad_()
    by_z, by_other = torch.autograd.grad(family.kl(z, other, phi).sum(), (z, other), create_graph=True)
    C = family.scaled_covariance(z.detach(), phi)
    assert_close(by_z, C.times((z - other).detach()))
    shift = family.mean(other) - family.mean(z)
    assert_close(by_other, shift / phi)
    slopes = [torch.autograd.grad(by_other[:, i].sum(), other, retain_graph=True)[0] for i in range(2)]
    assert_close(torch.stack(slopes, 1), family.scaled_covariance(other.detach(), phi).dense())


@pytest.mark.parametrize("name", ["bernoulli", "categorical"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_800_give_finite_values_and_gradients(name, dtype):
    family, phi = CASES[name]
    grid = torch.tensor([-800.0, -1.0, 0.0, 1.0, 800.0], dtype=dtype)
    z, other = (t.clone().requires_grad_() for t in torch.cartesian_prod(grid, grid).unbind(1))
    z2, other2 = (torch.stack([t, t.flip(0)], 1) for t in (z, other))
    y = torch.zeros(len(z2), dtype=torch.long) if name == "categorical" else torch.ones_like(z2)
    for value in (family.kl(z2, other2, phi), family.log_likelihood(y, z2, phi)):
        gradients = torch.autograd.grad(value.sum(), (z, other), create_graph=True, allow_unused=True)
        assert torch.isfinite(value).all()
        for g in gradients:
            if g is None:
                continue
            assert torch.isfinite(g).all()
            second = torch.autograd.grad(g.sum(), z, retain_graph=True, allow_unused=True)[0]
            assert second is None or torch.isfinite(second).all()
    C = family.scaled_covariance(z2.detach(), phi)
    assert all(torch.isfinite(t).all() for t in (C.dense(), C.factor(), C.times(torch.ones_like(z2))))


def test_the_excess_of_the_exponential_keeps_its_digits():
    for value in (-700.0, -3.0, -0.5, -0.4999, -1e-3, -1e-9, 1e-9, 1e-3, 0.4999, 0.5, 2.0, 600.0):
        with localcontext() as context:
            context.prec = 60
            true = Decimal(value).exp() - 1 - Decimal(value)
            found = Decimal(float(exp_excess(torch.tensor(value, dtype=torch.float64))))
            assert abs(found - true) <= Decimal("1e-15") * true  # 5 roundings: the direct way loses 2 bits
    assert float(exp_excess(torch.zeros(()))) == 0


@pytest.mark.parametrize("name", CASES)
def test_dispersions_are_positive_and_1_where_there_is_none(name):
    for phi in (-1.0, 0.0, math.inf):
        with pytest.raises(ValueError, match=rf"dispersion of {name} outputs is {phi}; (give a|no such)"):
            named_family(name).check_dispersion(phi)
    if name in ("bernoulli", "categorical"):
        with pytest.raises(ValueError, match=r"no such distribution exists, leave it 1"):
            named_family(name).check_dispersion(0.5)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("bernoulli", [[0.5, 0.0]], r"bernoulli outcomes lie in \[0, 0.5\]; give 0 and 1"),
        ("poisson", [[0.3, 0.5]], r"give whole multiples >= 0 of the dispersion 0.5"),
        ("poisson", [[-0.5, 0.5]], r"poisson outcomes lie in \[-0.5, 0.5\]"),
        ("gamma", [[0.0, 1.0]], r"gamma outcomes reach down to 0; they are positive"),
        ("gaussian", [[math.nan, 1.0]], r"gaussian outcomes contain NaN or infinity"),
        ("gaussian", [[1.0]], r"gaussian outcomes have shape \(1, 1\); give one a case and unit: \(1, 2\)"),
        ("categorical", [2], r"categorical outcomes lie in 2..2; classes are 0..1"),
        ("categorical", [-1], r"classes are 0..1"),
        ("categorical", [0.0], r"dtype torch.float32; give 1 integer classes in 0..1"),
    ],
)
def test_outcomes_outside_the_support_are_refused(name, y, message):
    family, phi = CASES[name]
    with pytest.raises(ValueError, match=message):
        family.check_outcome(torch.tensor(y), torch.zeros(1, 2), phi)


def test_outcomes_may_be_true_and_false():
    y, z = torch.tensor([[True, False], [False, True]]), torch.tensor([[0.5, -1.0], [2.0, 0.0]])
    coins, _ = CASES["bernoulli"]
    coins.check_outcome(y, z, 1.0)
    assert torch.equal(coins.log_likelihood(y, z, 1.0), coins.log_likelihood(y.float(), z, 1.0))


@pytest.mark.parametrize("softmax", [False, True])
def test_products_diagonals_factors_and_slices_are_those_of_the_matrices(softmax):
    z = draw(5, 4)
    C = OutputCovariance(torch.softmax(z, 1) if softmax else z.exp(), softmax)
    dense, R, several = C.dense(), draw(5, 4, seed=2), draw(3, 5, 4, seed=3)
    before = R.clone()
    assert_close(C.times(R), (dense @ R[:, :, None]).squeeze(2))
    assert torch.equal(R, before)
    assert_close(C.times(several), (dense @ several[..., None]).squeeze(-1))
    assert_close(C.variance(), dense.diagonal(dim1=1, dim2=2))
    assert_close(C.factor() @ C.factor().mT, dense)
    assert torch.equal(C[1:4].dense(), dense[1:4])


def exact_softmax(z: Tensor) -> list[list[Decimal]]:
    """The covariance of the classes' indicators, to 400 digits."""
    up = [Decimal(v).exp() for v in z.tolist()]
    p = [u / sum(up) for u in up]
    return [[(p[i] if i == j else Decimal(0)) - p[i] * p[j] for j in range(len(p))] for i in range(len(p))]


SATURATED = {
    "one class, 1 - p = 1e-17": [40.0, 0.0, -1.0],
    "one class, the others below the smallest float": [800.0, -800.0, 0.0],
    "one class, half way": [300.0, 1.0, 2.0],
    "none": [0.1, 0.2, -0.3],
    "two equal classes": [50.0, 50.0, 0.0],
    "a class alone": [3.0],
}


@pytest.mark.parametrize("case", SATURATED)
def test_every_entry_of_a_saturated_softmax_keeps_its_digits(case):
    """Also those of a product, to the digits of what it sums; of the factor, to those of sqrt(C_ii C_jj)."""
    z = torch.tensor([SATURATED[case]], dtype=torch.float64)
    C, r = CASES["categorical"][0].scaled_covariance(z, 1.0), [5.0, 0.5, -7.0][: z.shape[1]]
    dense, L = C.dense()[0].tolist(), [[Decimal(v) for v in row] for row in C.factor()[0].tolist()]
    times = C.times(torch.tensor([r], dtype=torch.float64))[0].tolist()

    def close(found: Decimal, true: Decimal, size: Decimal) -> bool:
        return abs(found - true) <= Decimal(DIGITS) * size + Decimal("1e-305")  # below it floats end

    with localcontext() as context:
        context.prec = 800
        true = exact_softmax(z[0])
        for i in range(len(true)):
            assert close(Decimal(C.variance()[0, i].item()), true[i][i], true[i][i])
            terms = [true[i][j] * Decimal(r[j]) for j in range(len(true))]
            assert close(Decimal(times[i]), sum(terms), sum(abs(t) for t in terms))
            for j in range(len(true)):
                assert close(Decimal(dense[i][j]), true[i][j], abs(true[i][j]))
                found = sum(L[i][k] * L[j][k] for k in range(len(true)))
                assert close(found, true[i][j], (true[i][i] * true[j][j]).sqrt())
