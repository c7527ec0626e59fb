"""The digit one has to wait for; its LSTMs, against `lnlib.rnn.LSTM` and statistics taken by hand."""

import pytest
import torch

import lnlib
from lnbook.pages.sec4_related_work import waiting_digit as task
from lnbook.pages.sec4_related_work.waiting_digit import METHODS, Stack

T, N, D, H = 6, 7, 8, 4


def stack(method: str) -> Stack:
    """In float64, with parameters moved away from their start so that none can be forgotten."""
    found = Stack(METHODS[method], H, (1.0, 0.3), (0, 1))
    g = torch.Generator().manual_seed(9)
    for name, p in found.p.items():
        away = 0.3 * torch.randn(p.shape, generator=g, dtype=torch.float64)
        found.p[name] = (p.detach().double() + away).requires_grad_()
    return found


def inputs(size: int = 4) -> torch.Tensor:
    return torch.randn(T, size, N, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def library(found: Stack, k: int, norm: str) -> lnlib.LSTM:
    """The k-th network of a stack as the library's module."""
    lstm = lnlib.LSTM(D, H, norm=norm, **({"max_steps": T} if norm == "batch" else {})).double()
    values = {name: value[k].squeeze() for name, value in found.p.items()}
    values |= {"bias_ih": values.pop("bias"), "bias_hh": torch.zeros(4 * H)}
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            parameter.copy_(values[name.removesuffix("_l0")])
    return lstm


@pytest.mark.parametrize("method", ["none", "layer", "batch"])
def test_a_network_of_the_stack_is_the_library_s(method: str) -> None:
    found, x = stack(method), inputs()
    states = torch.stack(found.states(x))
    for k in range(found.size):
        expected = library(found, k, method)(x[:, k])[0]
        torch.testing.assert_close(states[:, k], expected, rtol=1e-10, atol=1e-12)


def test_networks_of_one_seed_start_alike_and_learn_apart() -> None:
    found = Stack(METHODS["layer"], H, [1.0, 0.1], [5, 6])
    for name in ("weight_ih", "weight_hh", "readout"):
        assert torch.equal(found.p[name][0], found.p[name][2])
        assert not torch.equal(found.p[name][0], found.p[name][1])
    assert found.p["gain_hh"][:, 0, 0].tolist() == pytest.approx([1, 1, 0.1, 0.1])
    x = inputs().float()
    gradient = torch.autograd.grad(found(x)[0].sum(), found.p["weight_ih"])[0]
    assert gradient[0].abs().sum() > 0
    assert gradient[1:].abs().sum() == 0  # no network feels another's loss


@pytest.mark.parametrize("method", ["batch", "input, by step", "input, by sequence"])
def test_stored_statistics_of_a_batch_give_what_the_batch_gave(method: str) -> None:
    found, one = stack(method), inputs(1)
    x = one.expand(-1, found.size, -1, -1)
    stored = found.population(one[:, 0])
    torch.testing.assert_close(found(x, stored), found(x), rtol=1e-9, atol=1e-10)
    alone = found(x[:, :, :1], stored)  # and now a case needs no company
    torch.testing.assert_close(alone, found(x)[:, :1], rtol=1e-9, atol=1e-10)


def test_pooled_statistics_are_those_of_all_cases_and_steps_together() -> None:
    found, one = stack("input, by step"), inputs(1)
    mean, var = task.pool(found.population(one[:, 0]))["ih"]
    same = stack("input, by step")
    same.method = METHODS["input, by sequence"]
    expected = same.population(one[:, 0])["ih"]
    torch.testing.assert_close((mean, var), expected, rtol=1e-9, atol=1e-12)


def test_beyond_the_last_stored_step_its_statistics_are_used() -> None:
    found, one = stack("batch"), inputs(1)
    stored = found.population(one[:, 0])
    longer = torch.cat([one, one[:2]]).expand(-1, found.size, -1, -1)
    repeated = {name: tuple(torch.cat([v, v[-1:], v[-1:]]) for v in pair) for name, pair in stored.items()}
    torch.testing.assert_close(found(longer, stored), found(longer, repeated), rtol=0, atol=0)


def test_each_image_passes_once_and_whole_at_a_random_step() -> None:
    g = torch.Generator().manual_seed(0)
    images = 1 + torch.rand(500, 3, 4, generator=g)
    images[0, 0, 0] = 0.0  # the paper's white
    x = task.waiting(images, 9, g)
    begins = (x != 0).any(2).int().argmax(0)  # the first step with ink of each case
    assert set(begins.tolist()) == set(range(7))
    for case, begin in enumerate(begins):
        assert torch.equal(x[begin : begin + 3, case], images[case])
        assert int((x[:, case] != 0).any(1).sum()) == 3
