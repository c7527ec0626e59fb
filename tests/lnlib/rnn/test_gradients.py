"""First and second derivatives against finite differences."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from networks import as_hx, random_network, start_of, states
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call
from torch.nn.utils.rnn import PackedSequence

from lnlib.rnn import plain

# eps is a tenth of the summed inputs' variance: with less, three units that happen to be nearly equal make
# third derivatives so large that finite differences, with steps of 1e-6, say nothing.
EPS, D, H = 0.05, 2, 3
SIZES = torch.tensor([2, 2, 1])  # two sequences, of 3 and 2 steps
DEEP = {"num_layers": 2, "bidirectional": True}
NOISE = {"recurrent_dropout": 0.3, "zoneout": 0.3}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {**DEEP, "nonlinearity": "relu"}),
    ("RNN", {"variant": "separate", "norm": "rms"}),
    ("LSTM", {**DEEP, "proj_size": 2}),
    ("LSTM", {"variant": "per_gate", "norm": "rms", "bias": False}),
    ("LSTM", {"norm": "none"}),
    ("LSTM", {**NOISE, "zoneout": (0.3, 0.2)}),
    ("GRU", {"bidirectional": True, "variant": "released", "memory": "recompute"}),
    ("GRU", {"variant": "joint", "norm": "weight"}),
    ("GRU", NOISE),
]


def problem(kind: str, **options: Any) -> tuple[Callable[..., tuple[Tensor, ...]], list[Tensor]]:
    """A network as a function of everything that it depends on: x, the initial state, its parameters."""
    module = random_network((D, H), kind, eps=EPS, **options)
    names, hx = [name for name, _ in module.named_parameters()], states(start_of(module, 2))

    def network(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        torch.manual_seed(0)  # the same masks each time
        parameters = dict(zip(names, rest[len(hx) :], strict=True))
        call = PackedSequence(x, SIZES), as_hx(rest[: len(hx)])
        output, final = functional_call(module, parameters, call)
        return output.data, *states(final)

    x = torch.randn(int(SIZES.sum()), D, dtype=torch.float64, requires_grad=True)
    return network, [x, *hx, *(p.detach().clone().requires_grad_() for p in module.parameters())]


@pytest.mark.usefixtures("as_users_call")  # thousands of calls: other tests check their shapes
@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_derivatives_are_those_of_finite_differences(kind: str, options: dict[str, Any]) -> None:
    network, inputs = problem(kind, **options)
    # torch.nn's own code, which runs without a norm, may differentiate once; fast_mode compares the products
    # with random vectors: all entries at once
    with plain() if options.get("norm") == "none" else nullcontext():
        assert gradcheck(network, inputs, fast_mode=True)
        assert gradgradcheck(network, inputs, fast_mode=True)
