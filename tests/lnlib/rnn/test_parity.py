"""norm="none" is torch.nn: values, gradients, dropout's draws, and what is refused."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import start_of
from paths import PATHS
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence
from torch.testing import assert_close

import lnlib
from lnlib.rnn import plain

# Both sum the same products in different orders: at most a dozen additions a number, 6 steps and 3 layers
# deep, in numbers of size 1 to 30. That is some 50 roundings.
CLOSE = {"rtol": 1e-13, "atol": 1e-13}
KINDS = {
    "RNN": {},
    "RNN relu": {"nonlinearity": "relu"},
    "LSTM": {},
    "LSTM projected": {"proj_size": 2},
    "GRU": {},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported")  # by oneDNN
as_users_call = pytest.mark.usefixtures("as_users_call")


def pair(kind: str, inputs: int, hidden: int, layers: int = 1, **options: Any) -> tuple[Any, Any]:
    """torch's module and ours with its weights."""
    name, options = kind.split()[0], options | KINDS[kind]
    theirs = getattr(nn, name)(inputs, hidden, layers, **options)
    ours = getattr(lnlib, name)(inputs, hidden, layers, **options, norm="none")
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def tensors(result: Any) -> list[Tensor]:
    """The tensors in an output and state, whatever their form."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, PackedSequence):
        return [t for t in result if t is not None]
    return [t for part in result for t in tensors(part)]


def values_and_gradients(module: Any, x: Any, hx: Any, wanted: list[Tensor]) -> list[Tensor]:
    """Output, final states, and the gradients of a fixed random product with them."""
    found = tensors(module(x, hx))
    generator = torch.Generator().manual_seed(1)
    floating = [t for t in found if t.is_floating_point()]
    product = sum((t * torch.randn(t.shape, dtype=t.dtype, generator=generator)).sum() for t in floating)
    leaves = [*module.parameters(), *wanted]
    return [*found, *torch.autograd.grad(product, leaves, retain_graph=True)]  # of x both have a share


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Everything torch.nn's constructor and call can be given."""
    form = draw(st.sampled_from(["padded", "unbatched", "packed", "packed unsorted"]))
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    return {
        "kind": draw(st.sampled_from(list(KINDS))),
        "form": form,
        "lengths": lengths if form == "packed unsorted" else sorted(lengths, reverse=True),
        "sizes": (draw(st.integers(1, 5)), draw(st.integers(3, 5)), draw(st.integers(1, 3))),
        "bias": draw(st.booleans()),
        "batch_first": draw(st.booleans()),
        "bidirectional": draw(st.booleans()),
        "hx": draw(st.booleans()),
        "seed": draw(st.integers(0, 999)),
    }


@given(case=cases())
def test_values_and_gradients_are_those_of_torch(case: dict[str, Any]) -> None:
    torch.manual_seed(case["seed"])
    options = {name: case[name] for name in ("bias", "batch_first", "bidirectional")}
    theirs, ours = pair(case["kind"], *case["sizes"], dtype=torch.float64, **options)
    lengths, first, unbatched = case["lengths"], case["batch_first"], case["form"] == "unbatched"
    shape = (len(lengths), max(lengths)) if first else (max(lengths), len(lengths))
    inputs = (*shape[: 1 if unbatched else 2], case["sizes"][0])
    x = torch.randn(inputs, dtype=torch.float64, requires_grad=True)
    given_x: Any = x
    if "packed" in case["form"]:
        given_x = pack_padded_sequence(x, lengths, first, enforce_sorted="unsorted" not in case["form"])
    hx = start_of(ours, len(lengths)) if case["hx"] else None
    if hx is not None and unbatched:
        hx = tuple(s[:, 0] for s in hx) if isinstance(hx, tuple) else hx[:, 0]
    wanted = [x, *([] if hx is None else tensors(hx))]
    expected = values_and_gradients(theirs, given_x, hx, wanted)
    with plain():  # not on torch's own code, which is chosen where it may be
        found = values_and_gradients(ours, given_x, hx, wanted)
    for mine, reference in zip(found, expected, strict=True):
        assert mine.shape == reference.shape
        assert_close(mine, reference, **CLOSE)


@every_path
@every_kind
def test_dropout_between_layers_draws_what_torch_draws(kind: str, path: Callable) -> None:
    theirs, ours = pair(kind, 3, 4, 3, dtype=torch.float64, dropout=0.5, bidirectional=True)
    x = pack_padded_sequence(torch.randn(5, 6, 3, dtype=torch.float64), [5, 5, 4, 4, 2, 1])
    torch.manual_seed(7)
    reference = tensors(theirs(x))
    torch.manual_seed(7)
    with path():
        mine = tensors(ours(x))
    for a, b in zip(mine, reference, strict=True):
        assert_close(a, b, **CLOSE)
    assert not torch.equal(mine[0], tensors(ours(x))[0])  # the next call draws anew
    with path():
        assert_close(tensors(ours.eval()(x))[0], tensors(theirs.eval()(x))[0], **CLOSE)


def hx_of(module: Any, *shape: int, dtype: torch.dtype = torch.float32) -> Any:
    h = torch.zeros(*shape, dtype=dtype)
    return (h, h.clone()) if module.mode == "LSTM" else h


def packed(*lengths: int, inputs: int = 3, dtype: torch.dtype = torch.float32) -> PackedSequence:
    return pack_sequence([torch.zeros(n, inputs, dtype=dtype) for n in lengths], enforce_sorted=False)


X = torch.zeros(4, 2, 3)  # what a network of 3 inputs and 5 units takes
SAME_ERROR: dict[str, Callable[[Any], Any]] = {
    "four axes": lambda m: m(torch.zeros(2, 3, 4, 5)),
    "another input size": lambda m: m(torch.zeros(4, 2, 4)),
    "double for float": lambda m: m(X.double()),
    "a batch's hx for one sequence": lambda m: m(X[:, 0], hx_of(m, 1, 1, 5)),
    "hx of more cases": lambda m: m(X, hx_of(m, 1, 3, 5)),
}


def error_of(call: Callable[[Any], Any], module: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  the two errors are compared
        call(module)
    return caught.value


@as_users_call
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("call", SAME_ERROR.values(), ids=SAME_ERROR)
def test_wrong_calls_fail_as_in_torch(kind: str, call: Callable[[Any], Any]) -> None:
    theirs, ours = pair(kind, 3, 5)
    reference, mine = error_of(call, theirs), error_of(call, ours)
    assert type(mine) is type(reference)
    # torch.nn.RNN says "4D tensor instead" where LSTM and GRU say "4D instead"
    assert str(mine) == str(reference).replace("D tensor instead", "D instead")


# What torch says from deep inside, ours says in its own words of the argument: (kind, call, error, words).
HALF_C = (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5, dtype=torch.float16))
CLEARER: dict[str, tuple[str, Callable[[Any], Any], type[Exception], str]] = {
    "c of half": ("LSTM", lambda m: m(X, HALF_C), RuntimeError, "float32 and torch.float32, torch.f"),
    "an array": ("GRU", lambda m: m(X.numpy()), TypeError, "input must be a tensor"),
    "an output and its state": ("GRU", lambda m: m((X, None)), TypeError, "input must be a tensor"),
    "nested": ("GRU", lambda m: m(torch.nested.nested_tensor([X[0]])), TypeError, "pack_sequence"),
    "None for c": ("LSTM", lambda m: m(X, (HALF_C[0], None)), TypeError, "hx, or each of"),
    "a tuple for h": ("GRU", lambda m: m(X, HALF_C[:1]), TypeError, "hx, or each of"),
    "h alone": ("LSTM", lambda m: m(X, HALF_C[0]), RuntimeError, re.escape("give hx=(h, c)")),
    "three states": ("LSTM", lambda m: m(X, HALF_C * 2), RuntimeError, "lstm expects two hidden states"),
    "packed size": ("LSTM", lambda m: m(packed(4, 2, inputs=4)), RuntimeError, "Expected 3, got 4"),
    "packed layers": ("LSTM", lambda m: m(packed(4, 2), hx_of(m, 2, 2, 5)), RuntimeError, "hidden.0. size"),
    # of a state of too many cases torch drops some without a word
    "packed cases": ("GRU", lambda m: m(packed(2, 4), hx_of(m, 1, 3, 5)), RuntimeError, "Expected hidden"),
}


@as_users_call
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype:UserWarning")
@pytest.mark.parametrize("name", CLEARER)
def test_where_torch_fails_obscurely_ours_names_the_argument(name: str) -> None:
    kind, call, error, words = CLEARER[name]
    with pytest.raises(error, match=words):
        call(pair(kind, 3, 5)[1])
