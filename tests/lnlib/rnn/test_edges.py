"""Inputs at the edges: zero states, no epsilon, NaN, views, integers; and nothing given is ever modified."""

from functools import partial
from typing import Any

import pytest
import torch
from networks import random_network
from paths import WAYS, Way
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

import lnlib
from lnlib.rnn.variants import VARIANTS

pytestmark = pytest.mark.grid

ROWS = [
    (kind, norm, variant) for kind, rows in VARIANTS.items() for variant in rows for norm in ("layer", "rms")
]
ROWS += [(kind, norm, "paper") for kind in VARIANTS for norm in ("weight", "none")]
every_row = pytest.mark.parametrize(("kind", "norm", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
EXACT = WAYS["plain double"].close
D, H, T, N = 3, 4, 5, 3


network = partial(random_network, (D, H))


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(1))


def states(hx: Any) -> tuple[Tensor, ...]:
    return hx if isinstance(hx, tuple) else (hx,)


def zeros_for(module: Any, *, cases: int = N) -> tuple[Tensor, ...]:
    like = module.weight_hh_l0
    return tuple(
        like.new_zeros(1, cases, H).requires_grad_() for _ in range(2 if module.mode == "LSTM" else 1)
    )


# --- where nothing varies ------------------------------------------------------------------------


@every_way
@every_row
def test_a_zero_state_is_normalized_to_zero_and_all_gradients_are_finite(
    kind: str, norm: str, variant: str, way: Way
) -> None:
    module, x = (
        network(kind, way.dtype, norm=norm, variant=variant),
        draw(T, N, D, dtype=way.dtype).requires_grad_(),
    )
    hx = zeros_for(module)
    with way.path():
        output, final = module(x, hx if len(hx) > 1 else hx[0])
        assert_close(output, module(x)[0], rtol=0, atol=0)  # no state given: zeros
        gradients = torch.autograd.grad(output.square().sum(), [x, *hx, *module.parameters()])
    assert all(t.isfinite().all() for t in (output, *states(final), *gradients))


@every_way
@pytest.mark.parametrize("eps", [1e-5, 0.0])
@every_row
def test_nothing_at_all_gives_the_biases_at_any_epsilon(
    kind: str, norm: str, variant: str, eps: float, way: Way
) -> None:
    """Zero inputs to a zero state: 0/0 at eps = 0, which is 0 by definition, and passes no gradient."""
    module = network(kind, way.dtype, norm=norm, variant=variant, eps=eps)
    x, hx = torch.zeros(1, N, D, dtype=way.dtype, requires_grad=True), zeros_for(module)
    with way.path():
        output, final = module(x, hx if len(hx) > 1 else hx[0])
        total = sum(t.sum() for t in (output, *states(final)))
        gradients = torch.autograd.grad(total, [x, *hx, *module.parameters()])
    assert all(t.isfinite().all() for t in (output, *states(final), *gradients))
    # every case the same, but for torch, which rounds full vectors of units and what is left over differently
    assert_close(output[:, :1].expand_as(output), output, **way.close)
    without_weights = network(kind, way.dtype, norm=norm, variant=variant, eps=eps)
    with torch.no_grad():
        for name, value in without_weights.named_parameters():
            if name.startswith("weight") and norm != "weight":
                value.zero_()
    assert_close(without_weights(x)[0], output, **way.close)


@every_way
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("kind", list(VARIANTS))
def test_without_epsilon_a_state_of_a_millionth_counts_as_much_as_a_million(
    kind: str, norm: str, way: Way
) -> None:
    """Separate projections at eps = 0: the matrix of the state may have any size."""
    variant = "separate" if kind == "RNN" else "paper"
    module, x = network(kind, way.dtype, norm=norm, variant=variant, eps=0.0), draw(T, N, D, dtype=way.dtype)
    with way.path(), torch.no_grad():
        before = module(x)[0]
        for factor in (1e-12, 1e24):
            module.weight_hh_l0.mul_(factor)
            assert_close(module(x)[0], before, **way.close)


# --- one sequence and another --------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
@every_row
def test_a_sequence_that_is_not_finite_poisons_only_itself(
    kind: str, norm: str, variant: str, poison: float, way: Way
) -> None:
    module, x = network(kind, way.dtype, norm=norm, variant=variant), draw(T, N, D, dtype=way.dtype)
    ill = x.clone()
    ill[2, 1, 0] = poison
    sound = [0, 2]
    with way.path():
        healthy, final = module(x)
        output, last = module(ill)
        assert_close(output[:, sound], healthy[:, sound], **way.close)
        assert_close(output[:2], healthy[:2], **way.close)  # and not its own past
        if poison != poison or (norm in ("layer", "rms") and variant != "draw"):
            assert not output[2:, 1].isfinite().any()  # where no norm sees it, infinity only saturates a gate
        for a, b in zip(states(last), states(final), strict=True):
            assert_close(a[:, sound], b[:, sound], **way.close)
        packed = pack_sequence([ill[:, 1], x[:4, 0], x[:2, 2]])
        assert_close(states(module(packed)[1])[0][0, 1], healthy[3, 0], **way.close)


@every_way
@every_row
def test_gradients_of_sound_sequences_are_as_without_the_poisoned_one(
    kind: str, norm: str, variant: str, way: Way
) -> None:
    module, x = network(kind, way.dtype, norm=norm, variant=variant), draw(T, N, D, dtype=way.dtype)
    ill = x.clone()
    ill[2, 1] = float("nan")
    found = []
    with way.path():
        for given in (x, ill):
            given.requires_grad_()
            output = module(given)[0]
            found.append(torch.autograd.grad(output[:, [0, 2]].square().sum(), given)[0])
    assert_close(found[1][:, [0, 2]], found[0][:, [0, 2]], **way.close)


# --- what is given is left as it was -------------------------------------------------------------


@every_way
@every_row
def test_nothing_given_is_modified(kind: str, norm: str, variant: str, way: Way) -> None:
    module = network(kind, way.dtype, norm=norm, variant=variant)
    x, hx = (
        draw(T, N, D, dtype=way.dtype),
        tuple(draw(1, N, H, dtype=way.dtype) for _ in range(2 if kind == "LSTM" else 1)),
    )
    kept = [t.clone() for t in (x, *hx, *module.parameters())]
    with way.path():
        output, final = module(x, hx if len(hx) > 1 else hx[0])
        output.sum().backward()
    for a, b in zip([x, *hx, *module.parameters()], kept, strict=True):
        assert torch.equal(a, b)
    with torch.no_grad():  # and the results are the caller's own: to write into them changes nothing given
        for result in (output, *states(final)):
            result.fill_(7.0)
    for a, b in zip([x, *hx, *module.parameters()], kept, strict=True):
        assert torch.equal(a, b)


@every_way
@every_row
def test_views_equal_their_copies(kind: str, norm: str, variant: str, way: Way) -> None:
    module = network(kind, way.dtype, norm=norm, variant=variant)
    wide, hidden = draw(D, 2 * N, T, dtype=way.dtype), draw(H, N, 1, dtype=way.dtype)
    views = {
        "transposed": wide.permute(2, 1, 0)[:, ::2],
        "one step": wide[:, :N, :1].expand(D, N, T).permute(2, 1, 0),
    }
    hx = tuple(hidden.permute(2, 1, 0) for _ in range(2 if kind == "LSTM" else 1))
    with way.path():
        for x in views.values():
            assert not x.is_contiguous()
            view = module(x, hx if len(hx) > 1 else hx[0])
            copied = tuple(s.contiguous() for s in hx)
            same = module(x.contiguous(), copied if len(hx) > 1 else copied[0])
            assert_close(view[0], same[0], **way.close)
            for a, b in zip(states(view[1]), states(same[1]), strict=True):
                assert_close(a, b, **way.close)


@pytest.mark.usefixtures("as_users_call")
@every_way
@every_row
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64], ids=str)
def test_inputs_that_are_not_floating_point_are_refused(
    kind: str, norm: str, variant: str, dtype: torch.dtype, way: Way
) -> None:
    module = network(kind, way.dtype, norm=norm, variant=variant)
    with way.path(), pytest.raises(ValueError, match=r"RNN input dtype .* does not match weight dtype"):
        module(torch.ones(T, N, D, dtype=dtype))


# --- sizes at the edge ---------------------------------------------------------------------------


@every_way
@every_row
def test_no_cases_give_empty_results_and_zero_gradients(kind: str, norm: str, variant: str, way: Way) -> None:
    module = network(kind, way.dtype, norm=norm, variant=variant, num_layers=2, bidirectional=True)
    x = torch.zeros(T, 0, D, dtype=way.dtype, requires_grad=True)
    with way.path():
        output, final = module(x)
        output.sum().backward()
    assert output.shape == (T, 0, 2 * H)
    assert all(s.shape == (4, 0, H) for s in states(final))
    assert x.grad.shape == x.shape
    assert all(p.grad is None or (p.grad == 0).all() for p in module.parameters())


@every_way
@every_row
def test_no_steps_leave_the_state_and_pass_its_gradient(kind: str, norm: str, variant: str, way: Way) -> None:
    module, x = network(kind, way.dtype, norm=norm, variant=variant), torch.zeros(0, N, D, dtype=way.dtype)
    hx = zeros_for(module)
    with way.path():
        output, final = module(x, hx if len(hx) > 1 else hx[0])
        gradients = torch.autograd.grad(sum(s.sum() for s in states(final)), hx)
    assert output.shape == (0, N, H)
    assert all(torch.equal(a, b) for a, b in zip(states(final), hx, strict=True))
    assert all((g == 1).all() for g in gradients)


@every_way
@pytest.mark.parametrize("variant", list(VARIANTS["LSTM"]))
def test_one_unit_whose_normalization_leaves_nothing_still_runs(variant: str, way: Way) -> None:
    module = lnlib.LSTM(D, 1, variant=variant, dtype=way.dtype)
    with way.path():
        output = module(draw(T, N, D, dtype=way.dtype))[0]
    assert output.shape == (T, N, 1)
    assert (output == 0).all()  # a single cell is its own mean, and tanh(0) = 0


@every_way
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("kind", list(VARIANTS))
def test_large_inputs_saturate_and_stay_finite(kind: str, norm: str, way: Way) -> None:
    huge = 1e15 if way.dtype == torch.float32 else 1e100
    module = network(kind, way.dtype, norm=norm, variant="separate" if kind == "RNN" else "paper", eps=1e-5)
    x = (huge * draw(T, N, D, dtype=way.dtype)).requires_grad_()
    with way.path():
        output = module(x)[0]
        gradient = torch.autograd.grad(output.square().sum(), x)[0]
        moderate = module(1e6 * draw(T, N, D, dtype=way.dtype))[0]
    # beside a variance of 1e12, or more, eps is less than a rounding: the same outputs
    assert_close(output, moderate, **way.close)
    assert gradient.isfinite().all()
