"""Half precision and autocast: statistics in float32, and results that are finite wherever torch's are."""

import pytest
import torch
from networks import states
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from lnlib.rnn import GRU, LSTM, RNN, backend

pytestmark = pytest.mark.grid

KINDS = {"RNN": (RNN, nn.RNN), "LSTM": (LSTM, nn.LSTM), "GRU": (GRU, nn.GRU)}
NORMS = {
    "layer": {"norm": "layer"},
    "rms": {"norm": "rms", "variant": "joint"},
    "batch": {"norm": "batch", "max_steps": 4},
    "weight": {"norm": "weight"},
}
HALVES = [torch.float16, torch.bfloat16]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_norm = pytest.mark.parametrize("norm", NORMS)
every_half = pytest.mark.parametrize("half", HALVES)


def finite(*tensors: Tensor) -> bool:
    return all(bool(t.isfinite().all()) for t in tensors)


@every_kind
@every_norm
@every_half
@pytest.mark.parametrize("size", [1e-7, 1.0, 6e4])
def test_half_is_finite_where_torchs_is(kind: str, norm: str, half: torch.dtype, size: float) -> None:
    ours, theirs = KINDS[kind]
    torch.manual_seed(0)
    module, reference = ours(16, 8, 2, **NORMS[norm]), theirs(16, 8, 2)
    module, reference = module.to(half), reference.to(half)
    x = (size * torch.randn(6, 4, 16).clamp(-1, 1)).to(half)
    assert finite(x, *(t for out in reference(x) for t in states(out)))
    output, state = module(x)
    assert {t.dtype for t in (output, *states(state))} == {half}
    assert finite(output, *states(state))
    # of near-zero sums the way back is divided by sqrt(eps) at every step, and leaves float16 rightly
    if size >= 1:
        assert finite(*torch.autograd.grad(output.float().square().mean(), list(module.parameters())))
    module.eval()
    assert finite(module(x)[0])


@every_kind
@every_norm
@every_half
def test_autocast_follows_the_full_precision(kind: str, norm: str, half: torch.dtype) -> None:
    torch.manual_seed(0)
    module = KINDS[kind][0](16, 8, 2, bidirectional=True, **NORMS[norm])
    x = torch.randn(6, 4, 16)
    exact = module(x)[0]
    with torch.autocast("cpu", dtype=half):
        output, state = module(x)
        packed, _ = module(pack_sequence([x[:n, k] for k, n in enumerate((6, 6, 3, 3))]))
        loss = output.float().square().mean()
    loss.backward()
    assert finite(output, packed.data, *states(state), *(p.grad for p in module.parameters()))
    # roundings of the products: 2**-9 (bfloat16) or 2**-12 of sums up to 3 in size, grown over 12 steps
    assert (output.float() - exact).abs().max() < (0.2 if half == torch.bfloat16 else 0.02)


@every_kind
@every_half
def test_autocast_without_a_norm_is_torchs_own_to_the_last_bit(kind: str, half: torch.dtype) -> None:
    ours, theirs = KINDS[kind]
    theirs = theirs(16, 8, 2, bidirectional=True)
    module = ours(16, 8, 2, bidirectional=True, norm="none")
    module.load_torch(theirs)
    x, results = torch.randn(6, 4, 16), []
    batches = x, pack_sequence([x[:n, k] for k, n in enumerate((6, 6, 3, 3))])
    with torch.autocast("cpu", dtype=half):
        chosen = backend(module)
        if chosen.name == "plain":  # where torch.nn's LSTM stops, ours computes
            assert "this processor has no LSTM" in chosen.reason
            with pytest.raises(RuntimeError, match="could not create a primitive"):
                theirs(x)
            return
        for network in (module, theirs):
            outputs = [network(batch) for batch in batches]
            results.append([outputs[0][0], outputs[1][0].data, *states(outputs[0][1])])
            results[-1] += torch.autograd.grad(outputs[0][0].float().sum(), list(network.parameters()))
    for mine, its in zip(*results, strict=True):
        torch.testing.assert_close(mine, its, rtol=0, atol=0)


@every_kind
@every_norm
@every_half
def test_autocast_leaves_what_is_normalized_in_its_own_type(kind: str, norm: str, half: torch.dtype) -> None:
    module = KINDS[kind][0](16, 8, **NORMS[norm])
    cell, x, h = module.cells()[0], torch.randn(4, 16), torch.randn(4, 8)
    with torch.autocast("cpu", dtype=half):
        assert nn.functional.layer_norm(module.weight_ih_l0.to(half), (16,)).dtype == half  # torch's rule
        sides = cell.inputs(x), cell.recurrent(h)
        assert {a.dtype for a in (*sides, cell.joint(sides[0] + sides[1], 0))} == {half}


@every_half
@pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
def test_statistics_are_those_of_float32(half: torch.dtype, norm: str) -> None:
    # 4,096 equal-sized numbers: half precision would stop adding up at 2,048 or 256, and squares overflow
    module = RNN(1, 4096, bias=False, **NORMS[norm]).to(half)
    cell = module.cells()[0]
    a = (300 + 40 * torch.randn(32, 4096, dtype=torch.float64)).to(half)
    with torch.no_grad():
        got = cell.normalize("ih", a, None, (1,), 0).double() / cell.p["gain_ih"].double()
    wide = a.double()
    axis = 0 if norm == "batch" else 1
    mean = 0.0 if norm == "rms" else wide.mean(axis, keepdim=True)
    expected = (wide - mean) / (wide - mean).square().mean(axis, keepdim=True).sqrt()
    # one rounding of the result, one of a gain, and eps
    assert ((got - expected).abs() <= 2 * torch.finfo(half).eps * expected.abs() + 1e-5).all()


def test_a_product_that_overflows_counts_as_the_largest_number() -> None:
    module = RNN(2, 3, bias=False).half()
    with torch.no_grad():
        module.weight_ih_l0.copy_(torch.tensor([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]]))
    output, _ = module(torch.full((1, 1, 2), 6e4, dtype=torch.float16))  # sums of 12e4, -12e4, 0
    expected = torch.tanh(torch.tensor([1.0, -1.0, 0.0]) * 1.5**0.5)
    torch.testing.assert_close(output[0, 0].float(), expected, rtol=0, atol=1e-3)  # a rounding of float16
