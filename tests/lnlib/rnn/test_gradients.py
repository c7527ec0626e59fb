"""First and second derivatives of every network, norm and variant against finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call
from torch.nn.utils.rnn import PackedSequence

import lnlib
from lnlib.rnn import VARIANTS, plain

# eps is a tenth of the summed inputs' variance: with less, three units that happen to be nearly equal make
# third derivatives so large that finite differences, with steps of 1e-6, say nothing.
EPS, D, H = 0.05, 2, 3
ROWS = [
    (kind, norm, variant) for kind, rows in VARIANTS.items() for variant in rows for norm in ("layer", "rms")
]
ROWS += [(kind, norm, "paper") for kind in VARIANTS for norm in ("weight", "none")]
every_row = pytest.mark.parametrize(("kind", "norm", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
pytestmark = pytest.mark.usefixtures("as_users_call")  # thousands of calls: other tests check their shapes
SIZES = torch.tensor([2, 2, 1])  # two sequences, of 3 and 2 steps


def problem(kind: str, **options: Any) -> tuple[Callable[..., tuple[Tensor, ...]], list[Tensor]]:
    """A network as a function of everything that it depends on: x, the initial state, its parameters."""
    torch.manual_seed(0)
    module = getattr(lnlib, kind)(D, H, dtype=torch.float64, **options)
    names = [name for name, _ in module.named_parameters()]
    values = [0.6 * torch.randn_like(p) + name.startswith("gain") for name, p in module.named_parameters()]
    rows = module.num_layers * (1 + module.bidirectional)
    sizes = [module.proj_size or H, H] if kind == "LSTM" else [H]
    state = [torch.randn(rows, 2, size, dtype=torch.float64) for size in sizes]
    x = torch.randn(int(SIZES.sum()), D, dtype=torch.float64)

    def network(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        hx = rest[: len(state)]
        parameters = dict(zip(names, rest[len(state) :], strict=True))
        packed = PackedSequence(x, SIZES)
        output, final = functional_call(module, parameters, (packed, hx if len(hx) > 1 else hx[0]))
        return output.data, *(final if isinstance(final, tuple) else (final,))

    return network, [t.requires_grad_() for t in (x, *state, *values)]


@every_row
def test_first_derivatives(kind: str, norm: str, variant: str) -> None:
    network, inputs = problem(kind, norm=norm, variant=variant, eps=EPS)
    assert gradcheck(network, inputs)


@every_row
def test_second_derivatives(kind: str, norm: str, variant: str) -> None:
    network, inputs = problem(kind, norm=norm, variant=variant, eps=EPS)
    # fast_mode compares the products with random vectors: all entries at once.
    assert gradgradcheck(network, inputs, fast_mode=True)


@pytest.mark.parametrize("kind", list(VARIANTS))
def test_derivatives_without_a_norm_on_the_plain_path(kind: str) -> None:
    """There torch.nn computes otherwise."""
    network, inputs = problem(kind, norm="none")
    with plain():
        assert gradcheck(network, inputs)
        assert gradgradcheck(network, inputs, fast_mode=True)


DEEP: Sequence[tuple[str, dict[str, Any]]] = [
    ("RNN", {"num_layers": 2, "bidirectional": True}),
    ("RNN", {"num_layers": 2, "nonlinearity": "relu", "bias": False}),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "proj_size": 2}),
    ("LSTM", {"num_layers": 2, "bias": False}),
    ("GRU", {"num_layers": 2, "bidirectional": True, "bias": False}),
]


@pytest.mark.parametrize(("kind", "options"), DEEP, ids=str)
def test_derivatives_through_layers_and_directions(kind: str, options: dict[str, Any]) -> None:
    network, inputs = problem(kind, eps=EPS, **options)
    assert gradcheck(network, inputs, fast_mode=True)
    assert gradgradcheck(network, inputs, fast_mode=True)


def test_a_wrong_derivative_would_be_found() -> None:
    """Control: a network whose gradient stops at its last state fails both checks."""
    network, inputs = problem("GRU", eps=EPS)

    def stopped(*inputs: Tensor) -> tuple[Tensor, ...]:
        output, h = network(*inputs)
        return output, h.detach() + 0 * h

    def stopped_second(*inputs: Tensor) -> tuple[Tensor, ...]:
        return (network(*inputs)[0].detach() * inputs[0].sum(),)

    assert not gradcheck(stopped, inputs, raise_exception=False, fast_mode=True)
    assert not gradgradcheck(stopped_second, inputs, raise_exception=False, fast_mode=True)


@pytest.mark.parametrize("kind", list(VARIANTS))
def test_the_sum_of_the_outputs_has_a_gradient(kind: str) -> None:
    """A layer norm kills the gradient of its outputs' sum; the nonlinearities behind it do not let it."""
    network, inputs = problem(kind)
    gradients = torch.autograd.grad(sum(t.sum() for t in network(*inputs)), inputs)
    assert all(g.abs().max() > 1e-4 for g in gradients)
