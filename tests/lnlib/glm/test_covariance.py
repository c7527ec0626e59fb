"""The structured covariances against the matrices they stand for, in exact arithmetic where it matters."""

from decimal import Decimal, localcontext

import pytest
import torch
from glms import draw
from torch import Tensor
from torch.testing import assert_close

from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.families import Categorical

DIGITS = 1e-13  # relative, of each entry: exponentials of arguments up to 800 carry 800 roundings


def kinds() -> dict[str, OutputCovariance]:
    z = draw(5, 4)
    root = draw(4, 4, seed=1)
    return {
        "diagonal": OutputCovariance(diagonal=z.exp(), cases=5),
        "softmax": Categorical().scaled_covariance(z, 1.0),
        "reference": Categorical(reference=True).scaled_covariance(z, 1.0),
        "matrix": OutputCovariance(matrix=root @ root.mT, cases=5),
    }


every_kind = pytest.mark.parametrize("kind", ["diagonal", "softmax", "reference", "matrix"])


@every_kind
def test_products_diagonals_and_factors_are_those_of_the_matrices(kind):
    C = kinds()[kind]
    dense, R = C.dense(), draw(5, 4, seed=2)
    assert_close(C.times(R), (dense @ R[:, :, None]).squeeze(2))
    assert_close(C.variance(), dense.diagonal(dim1=1, dim2=2))
    assert_close(C.factor() @ C.factor().mT, dense)


@every_kind
def test_several_vectors_at_a_time_are_multiplied_one_by_one(kind):
    C, R = kinds()[kind], draw(5, 3, 4, seed=2)
    assert_close(C.times(R), torch.stack([C.times(R[:, k]) for k in range(3)], 1))


@every_kind
def test_a_slice_has_the_covariances_of_its_cases(kind):
    C = kinds()[kind]
    part = C[1:4]
    assert part.cases == 3
    assert torch.equal(part.dense(), C.dense()[1:4])
    assert torch.equal(part.times(draw(5, 4)[1:4]), C.times(draw(5, 4))[1:4])
    assert C[3:99].cases == 2


@every_kind
def test_the_vector_that_is_multiplied_stays_as_it_is(kind):
    R = draw(5, 4, seed=2)
    before = R.clone()
    kinds()[kind].times(R)
    assert torch.equal(R, before)


def exact_softmax(z: Tensor, reference: bool) -> tuple[list[Decimal], list[list[Decimal]]]:
    """Probabilities of the classes with logits, and the covariance of their indicators, to 400 digits."""
    with localcontext() as context:
        context.prec = 800
        up = [Decimal(v).exp() for v in z.tolist()]
        total = sum(up) + (1 if reference else 0)
        p = [u / total for u in up]
        covariance = [
            [(p[i] if i == j else Decimal(0)) - p[i] * p[j] for j in range(len(p))] for i in range(len(p))
        ]
        return p, covariance


SATURATED = {
    "one class, 1 - p = 1e-17": [40.0, 0.0, -1.0],
    "one class, the others below the smallest float": [800.0, -800.0, 0.0],
    "one class, half way": [300.0, 1.0, 2.0],
    "none": [0.1, 0.2, -0.3],
    "two equal classes": [50.0, 50.0, 0.0],
    "all unlikely beside a reference": [-60.0, -50.0, -700.0],
}
saturated = pytest.mark.parametrize("case", SATURATED)
with_or_without = pytest.mark.parametrize("reference", [False, True])


def close(found: float, true: Decimal, size: Decimal | None = None) -> bool:
    """To DIGITS of the true number (or of a size), or below the normal numbers."""
    with localcontext() as context:
        context.prec = 800
        return abs(Decimal(found) - true) <= Decimal(DIGITS) * (
            abs(true) if size is None else size
        ) + Decimal("1e-305")


@saturated
@with_or_without
def test_every_entry_of_a_saturated_softmax_keeps_its_digits(case, reference):
    z = torch.tensor([SATURATED[case]], dtype=torch.float64)
    _, true = exact_softmax(z[0], reference)
    C = Categorical(reference).scaled_covariance(z, 1.0)
    dense = C.dense()[0].tolist()
    for i in range(3):
        assert close(C.variance()[0, i].item(), true[i][i])
        for j in range(3):
            assert close(dense[i][j], true[i][j])


@saturated
@with_or_without
def test_products_with_a_saturated_softmax_keep_their_digits(case, reference):
    """Each entry to the digits of what it sums: sum_j |C_ij r_j|."""
    z = torch.tensor([SATURATED[case]], dtype=torch.float64)
    _, true = exact_softmax(z[0], reference)
    C = Categorical(reference).scaled_covariance(z, 1.0)
    for r in ([1.0, 2.0, 3.0], [0.0, 0.0, 1.0], [5.0, 0.0, -7.0], [1.0, 1.0, 1.0]):
        found = C.times(torch.tensor([r], dtype=torch.float64))[0].tolist()
        for i in range(3):
            terms = [true[i][j] * Decimal(r[j]) for j in range(3)]
            assert close(found[i], sum(terms), sum(abs(t) for t in terms))


@saturated
@with_or_without
def test_the_factor_of_a_saturated_softmax_multiplies_to_it(case, reference):
    """Entry by entry to the digits of sqrt(C_ii C_jj), the square of the floats taken exactly."""
    z = torch.tensor([SATURATED[case]], dtype=torch.float64)
    _, true = exact_softmax(z[0], reference)
    L = [
        [Decimal(v) for v in row]
        for row in Categorical(reference).scaled_covariance(z, 1.0).factor()[0].tolist()
    ]
    with localcontext() as context:
        context.prec = 800
        for i in range(3):
            for j in range(3):
                found = sum(L[i][k] * L[j][k] for k in range(3))
                size = (true[i][i] * true[j][j]).sqrt()
                assert abs(found - true[i][j]) <= Decimal(DIGITS) * size + Decimal("1e-305")


def test_the_plain_formula_would_lose_them():
    p = torch.softmax(torch.tensor([40.0, 0.0], dtype=torch.float64), 0)
    assert float(p[0] - p[0] * p[0]) == 0  # where the true variance is 4e-18
    C = Categorical().scaled_covariance(torch.tensor([[40.0, 0.0]], dtype=torch.float64), 1.0)
    assert float(C.variance()[0, 0]) == pytest.approx(4.248354255291589e-18, rel=1e-14)


def test_a_class_alone_has_no_variance():
    C = Categorical().scaled_covariance(torch.tensor([[3.0]]), 1.0)
    assert float(C.variance()) == float(C.dense()) == float(C.factor()) == 0
    assert float(C.times(torch.tensor([[2.0]]))) == 0


def test_a_singular_matrix_has_a_factor_too():
    C = OutputCovariance(matrix=torch.ones(3, 3, dtype=torch.float64), cases=2)
    assert_close(C.factor() @ C.factor().mT, C.dense())
