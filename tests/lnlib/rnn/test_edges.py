"""Inputs at the edges: zero states, no epsilon, NaN, views, nothing at all; and nothing given is modified."""

from functools import partial

import pytest
import torch
from networks import as_hx, draw, every_network, random_network, start_of, states
from paths import WAYS, Way
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

import lnlib
from lnlib.rnn.variants import VARIANTS

every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
D, H, T, N = 3, 4, 5, 3

network = partial(random_network, (D, H))


@pytest.mark.parametrize("eps", [1e-5, 0.0])
@every_network
def test_nothing_at_all_gives_the_biases_at_any_epsilon(kind: str, norm: str, way: Way, eps: float) -> None:
    """Zero inputs to a zero state: 0/0 at eps = 0, which is 0 by definition, and passes no gradient."""
    module = network(kind, way.dtype, norm=norm, eps=eps)
    x = torch.zeros(1, N, D, dtype=way.dtype, requires_grad=True)
    hx = as_hx(tuple(torch.zeros_like(s).requires_grad_() for s in states(start_of(module, N, way.dtype))))
    with way.path():
        output, final = module(x, hx)
        total = sum(t.sum() for t in (output, *states(final)))
        gradients = torch.autograd.grad(total, [x, *states(hx), *module.parameters()])
        assert_close(output, module(x)[0], rtol=0, atol=0)  # no state given: zeros
    assert all(t.isfinite().all() for t in (output, *states(final), *gradients))
    with torch.no_grad():
        for name, value in module.named_parameters():
            if name.startswith("weight") and norm != "weight":
                value.zero_()
    assert_close(module(x)[0], output, **way.close)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
@every_network
def test_a_sequence_poisons_only_itself(kind: str, norm: str, way: Way, poison: float) -> None:
    module, x = network(kind, way.dtype, norm=norm), draw(T, N, D, dtype=way.dtype)
    ill, sound, gradients = x.clone(), [0, 2], []
    ill[2, 1, 0] = poison
    with way.path():
        healthy, final = module(x.requires_grad_())
        output, last = module(ill.requires_grad_())
        for given, result in ((x, healthy), (ill, output)):
            gradients.append(torch.autograd.grad(result[:, sound].square().sum(), given)[0][:, sound])
        assert_close(output[:, sound], healthy[:, sound], **way.close)
        assert_close(output[:2], healthy[:2], **way.close)  # and not its own past
        if poison != poison or norm in ("layer", "rms"):  # elsewhere infinity only saturates a gate
            assert not output[2:, 1].isfinite().any()
        if poison != poison:
            assert_close(*gradients, **way.close)
        for a, b in zip(states(last), states(final), strict=True):
            assert_close(a[:, sound], b[:, sound], **way.close)
        packed = pack_sequence([ill[:, 1], x[:4, 0], x[:2, 2]])
        assert_close(states(module(packed)[1])[0][0, 1], healthy[3, 0], **way.close)


@every_network
def test_nothing_given_is_modified_and_views_equal_their_copies(kind: str, norm: str, way: Way) -> None:
    module = network(kind, way.dtype, norm=norm)
    x = draw(D, 2 * N, T, dtype=way.dtype).permute(2, 1, 0)[:, ::2]
    wide = states(start_of(module, 2 * N, way.dtype))
    hx = tuple(s.detach()[:, ::2] for s in wide)
    given = [x, *hx, *module.parameters()]
    kept = [t.detach().clone() for t in given]
    with way.path():
        output, final = module(x, as_hx(hx))
        output.sum().backward()
        copied = module(x.contiguous(), as_hx(tuple(s.contiguous() for s in hx)))
        for a, b in zip([output, *states(final)], [copied[0], *states(copied[1])], strict=True):
            assert_close(a, b, **way.close)
    with torch.no_grad():  # the results are the caller's own: to write into them changes nothing given
        for result in (output, *states(final)):
            result.fill_(7.0)
    assert all(map(torch.equal, given, kept))


@every_network
def test_no_cases_give_empty_results_and_no_steps_leave_the_state(kind: str, norm: str, way: Way) -> None:
    module = network(kind, way.dtype, norm=norm, num_layers=2, bidirectional=True)
    x, hx = draw(T, N, D, dtype=way.dtype).requires_grad_(), start_of(module, N, way.dtype)
    with way.path():
        of_no_cases, last = module(x[:, :0])
        of_no_cases.sum().backward()
        of_no_steps, final = module(x[:0], hx)
        gradients = torch.autograd.grad(sum(s.sum() for s in states(final)), states(hx))
    assert of_no_cases.shape == (T, 0, 2 * H)
    assert all(s.shape == (4, 0, H) for s in states(last))
    assert x.grad is not None
    assert all(p.grad is None or (p.grad == 0).all() for p in [x, *module.parameters()])
    assert of_no_steps.shape == (0, N, 2 * H)
    assert all(map(torch.equal, states(final), states(hx)))
    assert all((g == 1).all() for g in gradients)


@every_way
def test_one_unit_whose_normalization_leaves_nothing_still_runs(way: Way) -> None:
    module = lnlib.LSTM(D, 1, dtype=way.dtype)
    with way.path():
        output = module(draw(T, N, D, dtype=way.dtype))[0]
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
