"""The digit one has to wait for; its LSTMs, against `lnlib.rnn.LSTM` and statistics taken by hand."""

import pytest
import torch
from torch.testing import assert_close

import lnlib
from lnbook.pages.sec4_related_work.waiting_digit import OVER, Stack, pool, waiting

T, N, D, H = 6, 7, 8, 4


def stack(method: str) -> Stack:
    """In float64, with parameters moved away from their start so that none can be forgotten."""
    found = Stack(method, H, (1.0, 0.3), (0, 1))
    g = torch.Generator().manual_seed(9)
    for name, p in found.p.items():
        away = 0.3 * torch.randn(p.shape, generator=g, dtype=torch.float64)
        found.p[name] = (p.detach().double() + away).requires_grad_()
    return found


def inputs(size: int) -> torch.Tensor:
    return torch.randn(T, size, N, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
def test_a_network_of_the_stack_is_the_library_s(norm: str) -> None:
    found, x = stack(norm), inputs(4)
    states = torch.stack(found(x)[0])
    lstm = lnlib.LSTM(D, H, norm=norm, **({"max_steps": T} if norm == "batch" else {})).double()
    for k in range(found.size):
        values = {f"{name}_l0": value[k].squeeze() for name, value in found.p.items()}
        values |= {"bias_ih_l0": values["bias_l0"], "bias_hh_l0": torch.zeros(4 * H)}
        with torch.no_grad():
            for name, parameter in lstm.named_parameters():
                parameter.copy_(values[name])
        assert_close(states[:, k], lstm(x[:, k])[0], rtol=1e-10, atol=1e-12)


def test_networks_of_one_seed_start_alike_and_learn_apart() -> None:
    found = Stack("layer", H, [1.0, 0.1], [5, 6])
    for name in ("weight_ih", "weight_hh", "readout"):
        assert torch.equal(found.p[name][0], found.p[name][2])
        assert not torch.equal(found.p[name][0], found.p[name][1])
    assert found.p["gain_hh"][:, 0, 0].tolist() == pytest.approx([1, 1, 0.1, 0.1])
    gradient = torch.autograd.grad(found(inputs(4).float())[1][0].sum(), found.p["weight_ih"])[0]
    assert gradient[0].abs().sum() > 0
    assert gradient[1:].abs().sum() == 0  # no network feels another's loss


@pytest.mark.parametrize("method", ["batch", "input, by step", "input, by sequence"])
def test_stored_statistics_of_a_batch_give_what_the_batch_gave_and_the_last_serve_later_steps(
    method: str,
) -> None:
    found, x = stack(method), inputs(1).expand(-1, 4, -1, -1)
    stored, logits = found.population(x[:, 0]), found(x)[1]
    assert_close(found(x, stored)[1], logits, rtol=1e-9, atol=1e-10)
    alone = found(x[:, :, :1], stored)[1]  # and now a case needs no company
    assert_close(alone, logits[:, :1], rtol=1e-9, atol=1e-10)
    longer = torch.cat([x, x[:2]])
    repeated = {name: tuple(torch.cat([v, v[-1:], v[-1:]]) for v in pair) for name, pair in stored.items()}
    assert_close(found(longer, stored)[1], found(longer, repeated)[1], rtol=0, atol=0)


def test_pooled_statistics_are_those_of_all_cases_and_steps_together() -> None:
    found, x = stack("input, by step"), inputs(1)[:, 0]
    pooled = pool(found.population(x))
    found.over = OVER["input, by sequence"]
    assert_close(pooled["ih"], found.population(x)["ih"], rtol=1e-9, atol=1e-12)


def test_each_image_passes_once_and_whole_at_a_random_step() -> None:
    g = torch.Generator().manual_seed(0)
    images = 1 + torch.rand(500, 3, 4, generator=g)
    images[0, 0, 0] = 0.0  # the paper's white
    x = waiting(images, 9, g)
    begins = (x != 0).any(2).int().argmax(0)  # the first step with ink of each case
    assert set(begins.tolist()) == set(range(7))
    for case, begin in enumerate(begins):
        assert torch.equal(x[begin : begin + 3, case], images[case])
        assert int((x[:, case] != 0).any(1).sum()) == 3
