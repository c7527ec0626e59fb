"""norm="batch": recurrent batch normalization against loops written out, and its statistics step by step."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from networks import draw, random_network
from torch import Tensor
from torch.nn.functional import batch_norm
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch.testing import assert_close

from lnlib.rnn import LSTM
from lnlib.rnn.variants import Variant

# Numbers of size 1 to 10; a division by the standard deviation of few cases may lose two digits a step.
EXACT = {"rtol": 1e-11, "atol": 1e-12}

network = partial(random_network, norm="batch")
Norm = Callable[[str, int, Tensor, Tensor], Tensor]


def cooijmans(module: Any, x: Tensor, bn: Norm) -> Tensor:
    """Their Eqs. (6)-(8), torch's order of gates, from a state of zeros; `bn(name, t, a, gain)`."""
    p, H = {n.removesuffix("_l0"): v for n, v in module.named_parameters()}, module.hidden_size
    h, c, out = x.new_zeros(x.shape[1], H), x.new_zeros(x.shape[1], H), []
    for t, x_t in enumerate(x):
        own = bn("ih", t, x_t @ p["weight_ih"].T, p["gain_ih"])
        from_h = bn("hh", t, h @ p["weight_hh"].T, p["gain_hh"])
        i, f, g, o = (own + from_h + p["bias_ih"] + p["bias_hh"]).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * torch.tanh(bn("cell", t, c, p["gain_cell"]) + p["bias_cell"])
        out.append(h)
    return torch.stack(out)


def by_running(module: Any) -> Norm:
    """Each step by its own running statistics, steps beyond the last by the last."""

    def bn(name: str, t: int, a: Tensor, gain: Tensor) -> Tensor:
        row = min(t, module.max_steps - 1)
        mean, var = (getattr(module, f"running_{kind}_{name}_l0")[row] for kind in ("mean", "var"))
        return gain * (a - mean) / torch.sqrt(var + module.eps)

    return bn


def test_evaluation_is_the_loop_with_the_running_statistics_of_each_step() -> None:
    module = network((3, 4), "LSTM", max_steps=3)
    for seed in range(3):
        module(draw(5, 6, 3, seed=seed))
    module.eval()
    x = draw(7, 2, 3)
    assert_close(module(x)[0], cooijmans(module, x, by_running(module)), **EXACT)
    # one sequence is enough, and what else is in the batch does not matter
    assert_close(module(x[:, 0])[0], module(x)[0][:, 0], **EXACT)


def test_running_statistics_are_the_mean_of_the_first_batches_then_forget() -> None:
    module = network((3, 4), "LSTM", max_steps=4, momentum=0.4)
    seen: list[dict[tuple[str, int], tuple[Tensor, Tensor]]] = []

    def remember(name: str, t: int, a: Tensor, gain: Tensor) -> Tensor:
        seen[-1][name, t] = a.mean(0), a.var(0)
        return batch_norm(a, None, None, gain, None, training=True)

    for seed in range(4):
        x = draw(4, 6, 3, seed=seed)
        seen.append({})
        cooijmans(module, x, remember)
        module(x)
    assert module.num_batches_tracked.tolist() == [4] * 4
    for name, t in seen[0]:
        for which, statistic in enumerate(("mean", "var")):
            a, b, c, d = (batch[name, t][which] for batch in seen)
            expected = 0.6 * (0.6 * (a + b) / 2 + 0.4 * c) + 0.4 * d  # 1/1, 1/2, then 0.4 > 1/3
            assert_close(getattr(module, f"running_{statistic}_{name}_l0")[t], expected, **EXACT)


def test_without_momentum_all_batches_weigh_the_same() -> None:
    module = network((3, 4), "RNN", max_steps=1)
    module(draw(1, 6, 3, seed=9))
    module.reset_running_stats()  # after weights were averaged, as its docstring says
    module.momentum = None
    batches = [draw(1, 6, 3, seed=seed) for seed in range(5)]
    for x in batches:
        module(x)
    means = torch.stack([(x[0] @ module.weight_ih_l0.T).mean(0) for x in batches])
    assert_close(module.running_mean_ih_l0[0], means.mean(0), **EXACT)


def test_the_last_row_is_the_average_over_it_and_all_later_steps() -> None:
    long, short = network((3, 4), "GRU", max_steps=5), network((3, 4), "GRU", max_steps=2)
    x = draw(5, 6, 3)
    long(x), short(x)
    for name, buffer in short.named_buffers():
        if name.startswith("running"):
            each = getattr(long, name)
            assert_close(buffer, torch.stack([each[0], each[1:].mean(0)]), **EXACT)


def test_steps_that_no_batch_had_are_given_those_of_the_last_that_one_had() -> None:
    module = network((3, 4), "LSTM", max_steps=6)
    module(draw(4, 6, 3))
    module(draw(2, 6, 3))
    assert module.num_batches_tracked.tolist() == [2, 2, 1, 1, 0, 0]
    for name, buffer in module.named_buffers():
        if name.startswith("running"):
            assert torch.equal(buffer[4:], buffer[3].expand(2, -1))
            assert not torch.equal(buffer[3], buffer[1])


def test_only_sequences_that_run_at_a_step_count_there() -> None:
    sequences = [draw(n, 3, seed=k) for k, n in enumerate((2, 5, 3, 5))]
    module, pair = (network((3, 4), "GRU", max_steps=5) for _ in range(2))
    packed = unpack_sequence(module(pack_sequence(sequences, enforce_sorted=False))[0])
    running = [torch.stack([s[t] for s in sequences if len(s) > t]) for t in range(5)]
    mean = torch.stack([(x_t @ module.weight_ih_l0.T).mean(0) for x_t in running])
    assert_close(module.running_mean_ih_l0, mean, **EXACT)
    first = pair(torch.stack([s[:2] for s in sequences], 1))[0]
    assert_close(torch.stack([s[:2] for s in packed], 1), first, **EXACT)


@pytest.mark.parametrize("training", [True, False])
def test_the_reverse_direction_counts_from_each_sequences_end(training: bool) -> None:
    module, forward = (network((3, 4), "LSTM", bidirectional=b, max_steps=4) for b in (True, False))
    state = module.state_dict()
    for name in forward.state_dict():
        forward.state_dict()[name].copy_(state[name + "_reverse" if name.endswith("_l0") else name])
    sequences = [draw(n, 3, seed=k) for k, n in enumerate((2, 4, 4, 2))]
    turned = [s.flip(0) for s in sequences]
    for m, batch in ((module, sequences), (forward, turned)):
        m(pack_sequence(batch, enforce_sorted=False))
        m.train(training)
    ours = unpack_sequence(module(pack_sequence(sequences, enforce_sorted=False))[0])
    theirs = unpack_sequence(forward(pack_sequence(turned, enforce_sorted=False))[0])
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a[:, 4:], b.flip(0), **EXACT)
    assert_close(module.running_var_ih_l0_reverse, forward.running_var_ih_l0, **EXACT)


def test_statistics_start_as_torchs_stay_without_cases_or_steps_and_can_be_taken_anew() -> None:
    module, x = network((3, 4), "LSTM", num_layers=2, max_steps=3), draw(3, 6, 3)
    fresh = dict(copy.deepcopy(module).named_buffers())
    assert all((b == name.startswith("running_var")).all() for name, b in fresh.items())
    assert module.running_var_cell_l0.shape == (3, 4)
    assert module(x[:, :0])[0].shape == (3, 0, 4)
    assert module(x[:0])[0].shape == (0, 6, 4)
    assert_close(dict(module.named_buffers()), fresh, rtol=0, atol=0)
    module(x)
    module.reset_running_stats()
    assert_close(dict(module.named_buffers()), fresh, rtol=0, atol=0)


ROWS = [("GRU", "paper"), ("LSTM", "per_gate"), ("LSTM", "released"), ("GRU", "joint"), ("RNN", "separate")]
ROWS += [("LSTM", Variant("separate", unbiased=True))]


@pytest.mark.parametrize(("kind", "variant"), ROWS, ids=str)
def test_every_variant_trains_and_evaluates(kind: str, variant: str | Variant) -> None:
    module, x = network((3, 4), kind, max_steps=3, variant=variant), draw(3, 4000, 3)
    output = module(x)[0]
    assert_close(module.eval()(x)[0], output, rtol=0, atol=2e-3)  # the variance of 4,000 cases


def test_statistics_travel_with_the_state_dict_and_stay_at_32_bits() -> None:
    module = LSTM(3, 4, norm="batch", max_steps=3)
    module(1e6 * torch.randn(3, 8, 3))
    twin = LSTM(3, 4, norm="batch", max_steps=3)
    twin.load_state_dict(module.state_dict())
    x = torch.randn(5, 2, 3)
    assert torch.equal(module.eval()(x)[0], twin.eval()(x)[0])
    half = copy.deepcopy(module).half()
    assert torch.equal(half.running_var_ih_l0, module.running_var_ih_l0)
    assert module.running_var_ih_l0.max() > torch.finfo(torch.float16).max
    assert half(x.half())[0].isfinite().all()
    widths = [b.dtype for name, b in module.double().float().named_buffers() if name.startswith("running")]
    assert set(widths) == {torch.float32}
    assert {b.dtype for name, b in module.double().named_buffers() if "running" in name} == {torch.float64}
