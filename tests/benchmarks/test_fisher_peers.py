"""The Fisher matrix, and Laplace's evidence, against other people's; also by the code that the page shows."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch
from evidence import laplace_torch, log_evidence
from fisher import dense, order, product
from glms import relative
from laplace import Laplace
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from lnbook.pages.beyond_exact_fisher.gauge import canonical
from lnlib import GLM, LayerNorm
from lnlib.fisher import FisherOperator, fisher

PAGE = Path(__file__).resolve().parents[2] / "book" / "beyond_exact_fisher.ipynb"

ROUND_OFF = 1e-10  # five digits above that of both, ten below any term that could be missing


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    """nngeometry and laplace-torch make float32 constants unless this is the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def model_and_cases(norm: str | None) -> tuple[GLM, Tensor]:
    draw = torch.Generator().manual_seed(3)
    W, b, g = torch.randn(5, 7, generator=draw), torch.randn(5, generator=draw), torch.rand(5, generator=draw)
    gain, eps = (None, 0.0) if norm is None else (0.5 + g, 1e-5)
    return GLM("categorical", W, b, norm=norm, gain=gain, eps=eps), 3 * torch.randn(40, 7, generator=draw) + 1


@pytest.mark.parametrize("norm", [None, "layer"])
def test_matrix_and_products_are_those_of_other_libraries(norm):
    glm, X = model_and_cases(norm)
    at = order(glm)
    for library, matrix in dense(glm, X).items():
        assert relative(matrix()[at][:, at], fisher(glm, X)) < ROUND_OFF, library
    v = torch.randn(len(at), generator=torch.Generator().manual_seed(4))
    theirs = torch.empty_like(v)
    theirs[at] = v
    assert relative(product(glm, X)(theirs)[at], FisherOperator(glm, X) @ v) < ROUND_OFF


def network_and_cases(norm: type[nn.Module]) -> tuple[nn.Sequential, Tensor, Tensor]:
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(4, 6), norm(6, eps=0.0), nn.Tanh(), nn.Linear(6, 3))
    return model, torch.randn(40, 4), torch.arange(40) % 3


# Sums of some hundred rounded terms: 1e-12 leaves three digits, and no term left out would be as small.
EQUAL = {"rel": 1e-12, "abs": 0}


@pytest.mark.parametrize("precision", [0.03, 1.0, 30.0])
@pytest.mark.parametrize("norm", [LayerNorm, nn.LayerNorm, nn.RMSNorm])
def test_the_evidence_is_that_of_laplace_torch(norm, precision):
    model, X, y = network_and_cases(norm)
    theirs = laplace_torch(model, X, y, precision)
    assert log_evidence(model, X, y, prior_precision=precision) == pytest.approx(theirs, **EQUAL)


def test_the_code_that_the_page_shows_gives_the_evidence_of_the_canonical_weights(tmp_path):
    model, X, y = network_and_cases(LayerNorm)
    (cell,) = [c for c in nbformat.read(PAGE, 4).cells if "from laplace import" in c.source]
    shown = tmp_path / "shown.py"
    shown.write_text(cell.source.split("```python\n")[1].split("```")[0], encoding="utf-8")
    names = {"torch": torch, "canonical": canonical, "model": model, "x": X, "y": y}
    posterior = runpy.run_path(str(shown), names)["posterior"]
    expected = log_evidence(canonical(model, X), X, y, prior_precision=1.0)
    assert float(posterior.log_marginal_likelihood()) == pytest.approx(expected, **EQUAL)


def test_its_kfac_refuses_a_norm_and_its_diagonal_does_not_as_the_page_says():
    model, X, y = network_and_cases(LayerNorm)

    def fitted(structure: str) -> Laplace:
        posterior = Laplace(model, "classification", subset_of_weights="all", hessian_structure=structure)
        posterior.fit(DataLoader(TensorDataset(X, y), batch_size=len(X)))
        return posterior

    with pytest.raises(NotImplementedError, match="un-supported layers"):
        fitted("kron")
    assert len(fitted("diag").H) == sum(p.numel() for p in model.parameters())
