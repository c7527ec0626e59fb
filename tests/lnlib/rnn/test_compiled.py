"""The compiled kernels against the plain path; when they are taken, how they are kept, and threads."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import as_hx, random_network, start_of, states
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

import lnlib
from lnbook.pages.sec6_5_handwriting import kernels as handwriting
from lnlib.rnn import backend, backends, compiled, plain
from lnlib.rnn.kernels import compiling, matmul, sequence

# Both paths round differently, and 1/std of a few units magnifies that: the errors against float64 count.
# The kernels' may be a few times the plain path's, whose own is by luck 0 in small cases: hence 1e-6, a few
# roundings of float32.
WORSE, ROUNDINGS = 8, 1e-6
both_kinds = pytest.mark.parametrize("kind", ["LSTM", "GRU"])
network = partial(random_network, dtype=torch.float32)


def everything(module: Any, x: PackedSequence, hx: object, weights: list[Tensor]) -> list[Tensor]:
    """Output, final states, and the gradients of a weighted sum of them in inputs, states and parameters."""
    leaves = [x.data, *states(hx), *module.parameters()]
    output, state = module(x, hx)
    results = [output.data, *states(state)]
    total = sum((r * w).sum() for r, w in zip(results, weights, strict=True))
    return [r.detach() for r in results] + list(torch.autograd.grad(total, leaves))


def wanting(module: Any) -> list[Tensor]:
    """The parameters that want gradients."""
    return [p for p in module.parameters() if p.requires_grad]


def doubled(t: Tensor) -> Tensor:
    """The same numbers in float64."""
    return t.detach().double().requires_grad_()


def distance(a: Tensor, b: Tensor) -> float:
    """Largest difference, relative to the largest value."""
    return float((a - b).detach().abs().max() / b.detach().abs().max().clamp(min=1e-3))


@settings(max_examples=25)
@given(
    kind=st.sampled_from(["GRU", "LSTM"]),
    options=st.fixed_dictionaries(
        {
            "variant": st.sampled_from(["paper", "released"]),
            "norm": st.sampled_from(["layer", "rms"]),
            "bias": st.booleans(),
            "bidirectional": st.booleans(),
            "memory": st.sampled_from(["save", "recompute"]),
        }
    ),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    # not 2: a norm of two units is a sign, with gradient 0, and what is left is rounding over the deviation
    units=st.sampled_from([4, 5, 16, 33, 70]),
    seed=st.integers(0, 99),
)
def test_values_and_gradients_are_the_plain_paths(
    kind: str, options: dict[str, Any], lengths: list[int], units: int, seed: int
) -> None:
    module = network((3, units), kind, **options)
    torch.manual_seed(seed)
    assert backend(module).name == "numba"
    sides = 1 + options["bidirectional"]
    sizes = pack_sequence([torch.zeros(n, 1) for n in sorted(lengths, reverse=True)]).batch_sizes
    x = torch.randn(sum(lengths), 3, requires_grad=True)
    hx = start_of(module, len(lengths), torch.float32)
    weights = [torch.randn(sum(lengths), sides * units), *map(torch.randn_like, states(hx))]
    fast = everything(module, PackedSequence(x, sizes), hx, weights)
    with plain():
        slow = everything(module, PackedSequence(x, sizes), hx, weights)
    wide = PackedSequence(doubled(x), sizes), as_hx(tuple(map(doubled, states(hx))))
    exact = everything(module.double(), *wide, [w.double() for w in weights])
    error, usual = (max(map(distance, found, exact)) for found in (fast, slow))
    assert error < WORSE * max(usual, ROUNDINGS)


@pytest.mark.slow
@both_kinds
@pytest.mark.parametrize("cases", [1, 7])
def test_threads_and_chunks_change_nothing(kind: str, cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = network((3, 24), kind)
    x = torch.randn(11, cases, 3, requires_grad=True)

    def run() -> list[Tensor]:
        output, _ = module(x)
        return [output.detach(), *torch.autograd.grad(output.square().sum(), [x, *module.parameters()])]

    with plain():
        expected = run()
    before = torch.get_num_threads()
    for threads, chunk, cache in [(1, 1, 10**9), (2, 500, 10**9), (2, 10**9, 1), (2, 1, 1)]:
        monkeypatch.setattr(compiled, "TRAINING", chunk)
        monkeypatch.setattr(compiled, "CACHE", cache)
        torch.set_num_threads(threads)
        try:
            assert max(map(distance, run(), expected)) < 1e-5  # a hundred roundings, over 11 steps
        finally:
            torch.set_num_threads(before)


@pytest.mark.parametrize("memory", ["save", "recompute"])
@both_kinds
def test_gradients_repeat_stop_at_what_needs_none_and_are_laid_out_as_torchs(kind: str, memory: str) -> None:
    module, x = network((3, 8), kind, memory=memory), torch.randn(5, 2, 3)
    module.bias_hh_l0.requires_grad_(False)
    total = module(x)[0].sum()
    first, second = (torch.autograd.grad(total, wanting(module), retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, second))
    total.backward()
    assert module.bias_hh_l0.grad is None
    torch.cat([p.grad.view(-1) for p in wanting(module)])  # as optimizers do that flatten
    output, _ = module(x)
    with torch.no_grad():
        module.weight_hh_l0.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()
    for p in module.parameters():
        p.untyped_storage().resize_(0)  # as FSDP does between steps


@both_kinds
def test_second_derivatives_are_the_plain_paths(kind: str) -> None:
    module = network((3, 6), kind)
    x = torch.randn(4, 2, 3, requires_grad=True)

    def curvature() -> Tensor:
        (slope,) = torch.autograd.grad(module(x)[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), x)[0]

    fast = curvature()
    with plain():
        slow = curvature()
    # The same operations but for the first pass forward, whose roundings the curvature magnifies.
    assert distance(fast, slow) < 1e-4


def test_a_common_offset_of_the_inputs_costs_no_accuracy() -> None:
    module = network((3, 16), "LSTM")
    with torch.no_grad():
        module.weight_ih_l0[:, 0] = 1e4 + module.weight_ih_l0[:, 0]  # layer norm takes a common offset off
    x = torch.randn(6, 2, 3)
    with torch.no_grad():
        exact = module.double()(x.double())[0]
        error = distance(module.float()(x)[0], exact)
    # The sums themselves are rounded to 1e4 * 6e-8 before anyone sees them.
    assert error < 5e-3


REFUSED = {
    "float64": (lambda m: m.double(), "float32"),
    "another variant": (lambda m: lnlib.LSTM(2, 3, variant="joint"), "variants paper and released"),
    "an Elman network": (lambda m: lnlib.RNN(2, 3), "LSTM and GRU"),
    "a projection": (lambda m: lnlib.LSTM(2, 3, proj_size=1), "proj_size"),
    "zoneout": (lambda m: lnlib.LSTM(2, 3, zoneout=0.1), "zoneout"),
    "dropout": (lambda m: lnlib.LSTM(2, 3, recurrent_dropout=0.1), "dropout"),
    "no epsilon": (lambda m: lnlib.LSTM(2, 3, eps=0.0), "eps"),
    "another device": (lambda m: m.to("meta"), "meta"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_the_kernels_do_not_apply_the_reason_is_told(name: str) -> None:
    change, words = REFUSED[name]
    found = backend(change(lnlib.LSTM(2, 3)))
    assert found.name == "plain"
    assert words in found.reason


def test_without_numba_networks_run_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = network((3, 4), "LSTM"), torch.randn(3, 2, 3)
    expected = module(x)[0]
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)
    backends._numba.cache_clear()
    try:
        assert "pip install" in backend(module).reason
        torch.testing.assert_close(module(x)[0], expected, atol=1e-6, rtol=0)  # float32, 3 steps
    finally:
        monkeypatch.undo()
        backends._numba.cache_clear()


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch.func's own use of it
def test_transforms_batches_of_gradients_and_autocast_take_the_plain_path() -> None:
    module, x = network((3, 4), "GRU"), torch.randn(5, 2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "autocast" in backend(module).reason
    product = torch.func.jvp(lambda x: module(x)[0], (x,), (torch.ones_like(x),))[1]
    assert torch.isfinite(product).all()
    each = torch.func.vmap(lambda x: module(x)[0], in_dims=1, out_dims=1)(x)
    torch.testing.assert_close(each, module(x)[0], atol=1e-6, rtol=0)  # float32, 5 steps
    of_batches = torch.autograd.functional.jacobian(lambda x: module(x)[0], x, vectorize=True)
    with plain():
        expected = torch.autograd.functional.jacobian(lambda x: module(x)[0], x)
    torch.testing.assert_close(of_batches, expected, atol=1e-5, rtol=0)  # a hundred roundings


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # by JAX, where the benchmarks' tests loaded it
def test_a_forked_child_may_run_networks() -> None:
    module, x = network((3, 4), "LSTM"), torch.randn(5, 2, 3)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        module(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.isfinite(module(x)[0]).all() else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        torch.set_num_threads(before)


@settings(max_examples=20)
@given(
    rows=st.integers(0, 15), depth=st.integers(1, 300), columns=st.integers(1, 200), every=st.integers(1, 3)
)
def test_the_product_is_numpys(rows: int, depth: int, columns: int, every: int) -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((rows, depth)).astype(np.float32)
    p = random.standard_normal((depth, columns)).astype(np.float32)
    c = np.full((rows, matmul.padded(columns)), np.nan, np.float32)
    panels = matmul.padded(columns) // matmul.WIDTH
    for first in range(every):
        matmul.multiply(a, first, every, rows, matmul.pack(p), (0, panels), c)
    # A sum of `depth` products of size 1 in float32.
    np.testing.assert_allclose(c[:, :columns], a.astype(float) @ p.astype(float), atol=1e-6 * depth, rtol=0)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("case", ["two pieces", "tied biases", "sliced input", "hook"])
@both_kinds
def test_every_way_to_a_parameter_counts_once(kind: str, case: str, create_graph: bool) -> None:
    module = network((3, 6), kind)
    if case == "tied biases":
        module.bias_hh_l0 = module.bias_ih_l0
    if case == "hook":
        module.bias_ih_l0.register_hook(lambda g: 2 * g)
    x = torch.randn(5, 2, 6)[..., :3] if case == "sliced input" else torch.randn(5, 2, 3)
    x.requires_grad_()

    def total() -> Tensor:
        output, state = module(x)
        if case == "two pieces":
            output, _ = module(x, state)
        return output.square().sum()

    leaves = [x, *module.parameters()]
    fast = torch.autograd.grad(total(), leaves, create_graph=create_graph)
    with plain():
        slow = torch.autograd.grad(total(), leaves, create_graph=create_graph)
    # Hundreds of roundings, over ten steps. What counts twice is off by the size of the gradient.
    assert max(map(distance, fast, slow)) < 1e-3


def test_the_users_default_dtype_and_device_change_nothing() -> None:
    module, x = network((3, 4), "LSTM", num_layers=2), torch.randn(5, 2, 3)
    torch.set_default_dtype(torch.float64)
    try:
        output, _ = module(x)
    finally:
        torch.set_default_dtype(torch.float32)
    assert output.dtype == torch.float32
    with torch.device("meta"):
        again, _ = module(x)
    assert torch.equal(again, output)


@pytest.mark.parametrize("module", [sequence, handwriting], ids=lambda m: m.__name__)
def test_every_kernel_is_kept_under_a_digest_of_all_its_code(module: ModuleType) -> None:
    """Numba looks for changes in the file of the loop alone, not in those of what it calls."""
    digest = compiling._digest(Path(module.__file__))
    assert digest != compiling._digest(Path(__file__))
    for kernel in np.ravel([module.forward, module.backward]):
        assert kernel.__name__.endswith(digest)


THREADS = """
import threading

import numba
import torch

import lnlib

torch.set_num_threads(2)
networks = [lnlib.LSTM(3, 16) for _ in range(4)]
x, found = torch.randn(50, 4, 3), [None] * 4
expected = [network(x)[0] for network in networks]

def work(k):
    for _ in range(20):
        found[k] = networks[k](x)[0]
        found[k].sum().backward()

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(numba.threading_layer(), all(map(torch.equal, found, expected)))
"""


def test_threads_may_share_numbas_pool_that_is_not_made_for_it() -> None:
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "workqueue True\n"), done.stderr
