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
    C, r = Categorical().scaled_covariance(z, 1.0), [5.0, 0.5, -7.0][: z.shape[1]]
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
