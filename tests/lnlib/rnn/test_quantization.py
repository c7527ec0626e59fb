"""Networks of int8 weights: what they store, what they compute, and what they refuse."""

import copy
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from networks import random_network
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

import lnlib
from lnlib.rnn import VARIANTS, Quantized, plain, quantized

D, H, T, N = 4, 6, 5, 3
KINDS = list(VARIANTS)
EXACT = {"rtol": 0.0, "atol": 0.0}
as_users_call = pytest.mark.usefixtures("as_users_call")

# Every variant with the norms that it is about, and each kind with the others.
CASES = [(kind, name, norm) for kind in KINDS for name in VARIANTS[kind] for norm in ("layer", "rms")]
CASES += [(kind, "paper", norm) for kind in KINDS for norm in ("weight", "batch", "none")]
every_case = pytest.mark.parametrize(("kind", "variant", "norm"), CASES, ids=[" ".join(c) for c in CASES])
every_kind = pytest.mark.parametrize("kind", KINDS)


def network(kind: str, variant: str = "paper", norm: str = "layer", sizes: Any = (D, H), **more: Any) -> Any:
    """Random, in evaluation; batch norm's statistics are random too."""
    options = {"dtype": torch.float32, "norm": norm, "variant": variant, **more}
    module = random_network(sizes, kind, **options, **({"max_steps": T} if norm == "batch" else {})).eval()
    for name, buffer in module.named_buffers():
        if name.startswith("running"):
            buffer.copy_(torch.rand_like(buffer) + 0.5)
    return module


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def matrices(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in module.named_parameters() if name.startswith("weight")}


def with_rounded_weights(module: Any, levels: int = 127) -> Any:
    """A copy whose weights NumPy has rounded to so many levels on either side, a float32 scale a row."""
    rounded = copy.deepcopy(module)
    for weight in matrices(rounded).values():
        w = weight.detach().double().numpy()
        scale = (np.abs(w).max(1, keepdims=True) / levels).astype(np.float32)
        scale[scale == 0] = 1
        whole = np.rint(w / scale.astype(np.float64))
        wide = np.float64 if weight.dtype == torch.float64 else np.float32
        with torch.no_grad():
            weight.copy_(torch.tensor(whole.astype(wide) * scale.astype(wide)))
    return rounded


def flat(result: Any) -> list[Tensor]:
    """Output, h, and an LSTM's c."""
    output, state, *rest = result
    output = output.data if hasattr(output, "batch_sizes") else output
    return [output, *(state if isinstance(state, tuple) else (state,)), *rest]


# --- what it computes ----------------------------------------------------------------------------


@every_case
def test_outputs_are_the_float_networks_of_the_rounded_weights(kind: str, variant: str, norm: str) -> None:
    module = network(kind, variant, norm, num_layers=2, bidirectional=True)
    small, x = quantized(module), draw(T, N, D)
    expected = flat(with_rounded_weights(module)(x))
    for found in (small(x), small.dequantized()(x)):
        assert_close(flat(found), expected, **EXACT)
    assert (expected[0] - flat(module(x))[0]).abs().max() > 0


@every_case
def test_outputs_differ_by_no_more_than_what_rounding_explains(kind: str, variant: str, norm: str) -> None:
    """|y(w) - y(sq)| <= sum_ij |dy/dw_ij| s_i / 2, the largest slope on the way; 15 levels are worse."""
    module = network(kind, variant, norm, sizes=(2, 3), dtype=torch.float64)
    x = draw(3, 1, 2, dtype=torch.float64)
    small = quantized(module)
    assert isinstance(small, Quantized)

    def outputs(net: Any) -> Tensor:
        with plain():
            return net(x)[0].flatten()

    ends, slopes = (module, small.dequantized()), []
    for t in (0.0, 0.5, 1.0):  # far closer than the slopes change: a step is 1/254 of a row's largest weight
        between = copy.deepcopy(module)
        pairs = zip(*(matrices(end).values() for end in ends), strict=True)
        for weight, (a, b) in zip(matrices(between).values(), pairs, strict=True):
            weight.data.copy_((1 - t) * a + t * b)
        rows = [
            torch.autograd.grad(y, list(matrices(between).values()), retain_graph=True)
            for y in outputs(between)
        ]
        slopes.append([torch.stack([row[k] for row in rows]).abs() for k in range(len(rows[0]))])
    worst = [torch.stack(each).amax(0) for each in zip(*slopes, strict=True)]
    halves = [small.get_buffer(f"{name}_scale").double() / 2 for name in matrices(module)]
    bound = torch.stack([(w * half).sum((1, 2)) for w, half in zip(worst, halves, strict=True)]).sum(0)
    with torch.no_grad():
        assert ((outputs(small) - outputs(module)).abs() <= bound).all()
        assert ((outputs(with_rounded_weights(module, levels=7)) - outputs(module)).abs() > bound).any()


@every_kind
def test_every_weight_is_within_half_a_step_and_the_largest_of_a_row_is_127(kind: str) -> None:
    module = network(kind, sizes=(40, 30))
    small = quantized(module)
    for name, weight in matrices(module).items():
        whole, scale = small.get_buffer(f"{name}_int8"), small.get_buffer(f"{name}_scale")
        assert (whole.dtype, scale.dtype, scale.shape) == (torch.int8, torch.float32, (len(weight), 1))
        assert (whole.int().abs().amax(1) == 127).all()
        # A tie is off by a rounding of 53 bits.
        assert ((weight - whole * scale.double()).abs() <= scale.double() / 2 * (1 + 1e-12)).all()


@every_kind
def test_it_is_called_as_the_network(kind: str) -> None:
    module = network(kind, batch_first=True, zoneout=0.1, learn_initial_state=True, num_layers=2)
    small, exact = quantized(module), with_rounded_weights(module)
    x, lstm = draw(N, T, D), kind == "LSTM"
    h = tuple(draw(2, N, H, seed=k) for k in (2, 3))
    reset = torch.zeros(N, T, dtype=torch.bool)
    reset[1, 2] = True
    packed = pack_sequence([x[0], x[1, :3], x[2, :4]], enforce_sorted=False)
    for given in ((x,), (x, h if lstm else h[0]), (x[0],), (packed,)):
        assert_close(flat(small(*given)), flat(exact(*given)), **EXACT)
    keywords = {"reset": reset, "return_cells": lstm}
    assert_close(flat(small(x, **keywords)), flat(exact(x, **keywords)), **EXACT)


def test_a_projection_is_stored_as_int8_too() -> None:
    module, x = network("LSTM", proj_size=2), draw(T, N, D)
    small = quantized(module)
    assert small.weight_hr_l0_int8.shape == (2, H)
    assert_close(flat(small(x)), flat(with_rounded_weights(module)(x)), **EXACT)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@every_kind
def test_other_dtypes_stay_what_they_are(kind: str, dtype: torch.dtype) -> None:
    module, x = network(kind, dtype=dtype), draw(T, N, D, dtype=dtype)
    small = quantized(module)
    found, expected = flat(small(x)), flat(with_rounded_weights(module)(x))
    assert {t.dtype for t in found} == {dtype}
    assert small.weight_hh_l0_scale.dtype == torch.float32
    assert_close(found, expected, **EXACT)


@every_kind
def test_a_row_of_zeros_stays_one(kind: str) -> None:
    module = network(kind)
    with torch.no_grad():
        module.weight_hh_l0[1] = 0
        module.weight_ih_l0.zero_()
    restored = quantized(module).dequantized()
    assert not restored.weight_ih_l0.any()
    assert [row for row, w in enumerate(restored.weight_hh_l0) if not w.any()] == [1]


# --- what a norm sees of the scales --------------------------------------------------------------


OWN = [("RNN", "separate"), ("LSTM", "paper"), ("LSTM", "normalized_state")]
OWN += [("GRU", "paper"), ("GRU", "per_gate"), ("GRU", "all_gates")]
COMMON = [("RNN", "joint"), ("LSTM", "joint"), ("LSTM", "per_gate"), ("LSTM", "rnmt"), ("GRU", "joint")]
SEEN = [("LSTM", "draw"), ("LSTM", "released"), ("GRU", "released")]


def changed(kind: str, variant: str, norm: str, ih: Any, hh: Any) -> float:
    """The largest change of the output when both matrices' scales are multiplied."""
    torch.manual_seed(0)
    small = quantized(network(kind, variant, norm, dtype=torch.float64, eps=0.0))
    x, h = draw(T, N, D, dtype=torch.float64), draw(1, N, H, dtype=torch.float64)
    hx = (h, draw(1, N, H, seed=2, dtype=torch.float64)) if kind == "LSTM" else h
    before = small(x, hx)[0]
    small.weight_ih_l0_scale.mul_(ih)
    small.weight_hh_l0_scale.mul_(hh)
    return float((small(x, hx)[0] - before).abs().max())


# Factors that are powers of 2 round nothing; float64 rounds numbers of size 1 to 10 a thousand times.
UNSEEN = 1e-12
by_rows = partial(draw, seed=3)


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize(("kind", "variant"), OWN + COMMON + SEEN)
def test_a_norm_sees_scales_of_rows_but_not_one_that_all_share(kind: str, variant: str, norm: str) -> None:
    assert (changed(kind, variant, norm, 8.0, 8.0) < UNSEEN) == ((kind, variant) not in SEEN)
    assert (changed(kind, variant, norm, 8.0, 0.5) < UNSEEN) == ((kind, variant) in OWN)
    rows = 1 + torch.rand(H * {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 1)
    assert changed(kind, variant, norm, rows, rows) > 1e-3


@every_kind
def test_weight_norm_does_not_see_scales_of_rows_either(kind: str) -> None:
    rows = 2.0 ** torch.arange(H * {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]).remainder(5).unsqueeze(1)
    assert changed(kind, "paper", "weight", rows, 1 / rows) < UNSEEN


def test_every_variant_is_said_to_see_scales_or_not() -> None:
    said = {(kind, VARIANTS[kind][name]) for kind, name in OWN + COMMON + SEEN}
    assert said == {(kind, row) for kind in KINDS for row in VARIANTS[kind].values()}


# --- what it stores ------------------------------------------------------------------------------


@every_kind
def test_a_quarter_of_the_bytes(kind: str) -> None:
    module = network(kind, sizes=(200, 200), num_layers=2)
    size = {name: t.numel() * t.element_size() for name, t in quantized(module).state_dict().items()}
    rows, weights = (
        sum(map(len, matrices(module).values())),
        sum(w.numel() for w in matrices(module).values()),
    )
    stored = sum(n for name, n in size.items() if name.startswith("weight"))
    assert stored == weights + 4 * rows
    assert stored / (4 * weights) < 0.26
    others = {name: n for name, n in size.items() if not name.startswith("weight")}
    assert others == {n: 4 * p.numel() for n, p in module.named_parameters() if not n.startswith("weight")}


@every_case
def test_a_file_of_tensors_alone_loads_into_any_network_built_alike(
    kind: str, variant: str, norm: str, tmp_path: Path
) -> None:
    small, x = quantized(network(kind, variant, norm)), draw(T, N, D)
    torch.save(small.state_dict(), tmp_path / "small.pt")
    more = {"max_steps": T} if norm == "batch" else {}
    other = quantized(getattr(lnlib, kind)(D, H, norm=norm, variant=variant, **more))
    assert (flat(other(x))[0] - flat(small(x))[0]).abs().max() > 0
    other.load_state_dict(torch.load(tmp_path / "small.pt", weights_only=True))
    assert_close(flat(other(x)), flat(small(x)), **EXACT)


def test_a_float_networks_state_is_refused_and_changes_nothing() -> None:
    small = quantized(network("LSTM"))
    before = copy.deepcopy(small.state_dict())
    with pytest.raises(RuntimeError, match="weight_ih_l0_int8"):
        small.load_state_dict({n: p for n, p in lnlib.LSTM(D, H).state_dict().items() if n[:6] == "weight"})
    assert_close(small.state_dict(), before, **EXACT)


def test_it_shares_nothing_with_the_network_which_stays_as_it_is() -> None:
    module, x = network("LSTM").train(), draw(T, N, D)
    before = copy.deepcopy(module.state_dict())
    small = quantized(module)
    expected = small(x)[0]
    assert module.training
    assert not small.training
    assert_close(module.state_dict(), before, **EXACT)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    assert torch.equal(small(x)[0], expected)
    assert torch.equal(copy.deepcopy(small)(x)[0], expected)
    assert not list(small.parameters())


def test_it_is_shown_as_what_it_stores() -> None:
    assert repr(quantized(network("GRU", norm="rms"))) == "Quantized(GRU(4, 6, norm=rms))"


# --- what is refused -----------------------------------------------------------------------------


def test_training_and_gradients_are_refused() -> None:
    small, x = quantized(network("LSTM")), draw(T, N, D)
    h = torch.zeros(1, N, H)
    for given in (
        (x.clone().requires_grad_(),),
        (x, (h, h.clone().requires_grad_())),
        (pack_sequence([x[:, 0].clone().requires_grad_()]),),
    ):
        with pytest.raises(RuntimeError, match=r"requires a gradient; call it under torch\.no_grad\(\)"):
            small(*given)
        with torch.no_grad():
            assert not flat(small(*given))[0].requires_grad
    with pytest.raises(RuntimeError, match=r"is in training mode; call eval\(\) first"):
        small.train()(x)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_not_finite_is_named(value: float) -> None:
    module = network("GRU")
    module.weight_hh_l0.data[2, 3] = value
    with pytest.raises(ValueError, match=rf"weight_hh_l0\[2, 3\] is {value}"):
        quantized(module)


@pytest.mark.parametrize("value", [1e-50, 1e60])
def test_a_row_without_a_scale_in_float32_is_named(value: float) -> None:
    module = network("RNN", dtype=torch.float64)
    module.weight_ih_l0.data[4] = value
    with pytest.raises(
        ValueError,
        match=rf"largest weight of weight_ih_l0\[4\] is {re.escape(f'{value:.3g}')}, .* scale the row",
    ):
        quantized(module)


def test_a_conversion_is_refused_before_anything_changes() -> None:
    small, x = quantized(network("LSTM")), draw(T, N, D)
    expected = small(x)[0]
    for convert in (small.double, small.bfloat16, partial(small.to, torch.float16)):
        with pytest.raises(TypeError, match=r"quantized in torch\.float32, and stays so"):
            convert()
        assert torch.equal(small(x)[0], expected)
    assert torch.equal(small.to("cpu").float()(x)[0], expected)


def test_scales_keep_32_bits_when_a_narrow_network_is_converted_to_what_it_is() -> None:
    small = quantized(network("LSTM", dtype=torch.bfloat16))
    scale = small.weight_ih_l0_scale.clone()
    assert torch.equal(small.bfloat16().weight_ih_l0_scale, scale)


@as_users_call
def test_what_is_no_network_of_ours_is_refused() -> None:
    with pytest.raises(TypeError, match=r"network is a LSTM, .* of lnlib\.rnn"):
        quantized(nn.LSTM(D, H))
    with pytest.raises(TypeError, match="network is a Quantized"):
        quantized(quantized(network("LSTM")))


def test_pruned_weights_and_modules_of_its_own_are_refused() -> None:
    pruned = network("LSTM")
    prune.l1_unstructured(pruned, "weight_hh_l0", 0.5)
    with pytest.raises(ValueError, match=r"\['weight_hh_l0'\] of network are pruned or parametrized"):
        quantized(pruned)
    owning = network("LSTM")
    owning.head = nn.Linear(H, 1)
    with pytest.raises(TypeError, match=r"modules of its own, \['head'\]"):
        quantized(owning)
