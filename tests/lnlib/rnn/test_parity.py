"""norm="none" is torch.nn: values, gradients, dropout's draws, and what is refused."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PATHS
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence
from torch.testing import assert_close

import lnlib

# Both sum the same products in different orders: at most a dozen additions a number, 6 steps and 3 layers
# deep, in numbers of size 1 to 30. That is some 50 roundings.
CLOSE = {torch.float64: {"rtol": 1e-13, "atol": 1e-13}, torch.float32: {"rtol": 5e-5, "atol": 5e-5}}
KINDS = {
    "RNN": {},
    "RNN relu": {"nonlinearity": "relu"},
    "LSTM": {},
    "LSTM projected": {"proj_size": 2},
    "GRU": {},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
pytestmark = pytest.mark.filterwarnings(
    "ignore:LSTM with projections is not supported with oneDNN"
)  # torch's
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
        return [result.data]
    return [t for part in result for t in tensors(part)]


def initial_state(module: Any, cases: int | None, dtype: torch.dtype = torch.float64) -> Any:
    """A random hx of the right shape, which wants gradients; no axis for the cases if there are None."""
    rows = module.num_layers * (1 + module.bidirectional)
    shape = (rows,) if cases is None else (rows, cases)
    h = torch.randn(*shape, module.proj_size or module.hidden_size, dtype=dtype, requires_grad=True)
    if module.mode != "LSTM":
        return h
    return h, torch.randn(*shape, module.hidden_size, dtype=dtype, requires_grad=True)


def values_and_gradients(module: Any, x: Any, hx: Any, wanted: list[Tensor]) -> list[Tensor]:
    """Output, final states, and the gradients of a fixed random product with them."""
    found = tensors(module(x, hx))
    generator = torch.Generator().manual_seed(1)
    product = sum((t * torch.randn(t.shape, dtype=t.dtype, generator=generator)).sum() for t in found)
    leaves = [*module.parameters(), *wanted]
    return [*found, *torch.autograd.grad(product, leaves, retain_graph=True)]


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
        "dtype": draw(st.sampled_from([torch.float64, torch.float64, torch.float32])),
        "seed": draw(st.integers(0, 999)),
    }


@every_path
@settings(max_examples=150)
@given(case=cases())
def test_values_and_gradients_are_those_of_torch(path: Callable, case: dict[str, Any]) -> None:
    torch.manual_seed(case["seed"])
    options = {name: case[name] for name in ("bias", "batch_first", "bidirectional", "dtype")}
    theirs, ours = pair(case["kind"], *case["sizes"], **options)
    lengths, dtype, first = case["lengths"], case["dtype"], case["batch_first"]
    unbatched = case["form"] == "unbatched"
    shape = (len(lengths), max(lengths)) if first else (max(lengths), len(lengths))
    x = torch.randn(*shape[: 1 if unbatched else 2], case["sizes"][0], dtype=dtype, requires_grad=True)
    given_x: Any = x
    if "packed" in case["form"]:
        given_x = pack_padded_sequence(x, lengths, first, enforce_sorted="unsorted" not in case["form"])
    hx = initial_state(ours, None if unbatched else len(lengths), dtype) if case["hx"] else None
    wanted = [x, *([] if hx is None else tensors(hx))]
    expected = values_and_gradients(theirs, given_x, hx, wanted)
    with path():
        found = values_and_gradients(ours, given_x, hx, wanted)
    for mine, reference in zip(found, expected, strict=True):
        assert mine.shape == reference.shape
        assert mine.dtype == reference.dtype
        assert_close(mine, reference, **CLOSE[dtype])


@every_kind
def test_a_packed_result_is_laid_out_as_torch_lays_it_out(kind: str) -> None:
    theirs, ours = pair(kind, 3, 4, bidirectional=True)
    packed = pack_sequence([torch.randn(n, 3) for n in (2, 5, 3)], enforce_sorted=False)
    reference, mine = theirs(packed)[0], ours(packed)[0]
    for name in ("batch_sizes", "sorted_indices", "unsorted_indices"):
        assert_close(getattr(mine, name), getattr(reference, name))


@every_path
@every_kind
@pytest.mark.parametrize("form", ["padded", "batch first", "packed"])
def test_dropout_between_layers_draws_what_torch_draws(kind: str, form: str, path: Callable) -> None:
    options = {"dropout": 0.5, "bidirectional": True, "batch_first": form == "batch first"}
    theirs, ours = pair(kind, 3, 4, 3, dtype=torch.float64, **options)
    x: Any = torch.randn(5, 6, 3, dtype=torch.float64)
    if form == "packed":
        x = pack_padded_sequence(x, [5, 5, 4, 4, 2, 1])
    torch.manual_seed(7)
    reference = tensors(theirs(x))
    torch.manual_seed(7)
    with path():
        mine = tensors(ours(x))
    for a, b in zip(mine, reference, strict=True):
        assert_close(a, b, **CLOSE[torch.float64])
    assert not torch.equal(mine[0], tensors(ours(x))[0])  # the next call draws anew


@every_path
@every_kind
def test_evaluation_drops_nothing_and_dropout_1_everything(kind: str, path: Callable) -> None:
    theirs, ours = pair(kind, 3, 4, 2, dropout=1.0, dtype=torch.float64)
    x = torch.randn(5, 6, 3, dtype=torch.float64)
    with path():
        assert_close(ours(x)[0], theirs(x)[0], **CLOSE[torch.float64])
        assert_close(ours(torch.zeros_like(x))[0], ours(x)[0], rtol=0, atol=0)  # the second layer sees zeros
        for module in (theirs, ours):
            module.eval()
        assert_close(ours(x)[0], theirs(x)[0], **CLOSE[torch.float64])
        assert (ours(torch.zeros_like(x))[0] != ours(x)[0]).any()


# --- nothing to do -------------------------------------------------------------------------------


@every_path
@every_kind
def test_no_cases_give_torchs_empty_result(kind: str, path: Callable) -> None:
    theirs, ours = pair(kind, 3, 4, 2, bidirectional=True)
    with path():
        for hx in (None, initial_state(ours, 0, torch.float32)):
            for mine, reference in zip(
                tensors(ours(torch.zeros(5, 0, 3), hx)),
                tensors(theirs(torch.zeros(5, 0, 3), hx)),
                strict=True,
            ):
                assert mine.shape == reference.shape


@every_path
@every_kind
@pytest.mark.parametrize("shape", [(0, 2, 3), (0, 0, 3), (0, 3)], ids=["batch", "no cases", "unbatched"])
def test_no_steps_return_the_state_where_torch_refuses(
    kind: str, shape: tuple[int, ...], path: Callable
) -> None:
    theirs, ours = pair(kind, 3, 4)
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        theirs(torch.zeros(shape))
    hx = initial_state(ours, shape[1] if len(shape) == 3 else None, torch.float32)
    with path():
        output, *state = tensors(ours(torch.zeros(shape), hx))
    assert output.shape == (*shape[:-1], ours.proj_size or ours.hidden_size)
    for mine, given_state in zip(state, tensors(hx), strict=True):
        assert_close(mine, given_state, rtol=0, atol=0)


# --- what is refused -----------------------------------------------------------------------------


def hx_of(module: Any, *shape: int, dtype: torch.dtype = torch.float32) -> Any:
    h = torch.zeros(*shape, dtype=dtype)
    return (h, h.clone()) if module.mode == "LSTM" else h


def packed(*lengths: int, inputs: int = 3, dtype: torch.dtype = torch.float32) -> PackedSequence:
    return pack_sequence([torch.zeros(n, inputs, dtype=dtype) for n in lengths], enforce_sorted=False)


X = torch.zeros(4, 2, 3)  # what a network of 3 inputs and 5 units takes
SAME_ERROR: dict[str, Callable[[Any], Any]] = {
    "four axes": lambda m: m(torch.zeros(2, 3, 4, 5)),
    "one axis": lambda m: m(torch.zeros(3)),
    "another input size": lambda m: m(torch.zeros(4, 2, 4)),
    "another input size, no cases": lambda m: m(torch.zeros(4, 0, 4)),
    "double for float": lambda m: m(X.double()),
    "half for float": lambda m: m(X.half()),
    "integers": lambda m: m(X.long()),
    "complex numbers": lambda m: m(X.cfloat()),
    "hx without layers": lambda m: m(X, hx_of(m, 2, 5)),
    "hx without layers and cases": lambda m: m(X, hx_of(m, 5)),
    "hx of four axes": lambda m: m(X, hx_of(m, 1, 1, 2, 5)),
    "a batch's hx for one sequence": lambda m: m(X[:, 0], hx_of(m, 1, 1, 5)),
    "hx of more cases": lambda m: m(X, hx_of(m, 1, 3, 5)),
    "hx of fewer units": lambda m: m(X, hx_of(m, 1, 2, 4)),
    "hx of more layers": lambda m: m(X, hx_of(m, 2, 2, 5)),
    "no tensor": lambda m: m([1.0]),
    "nothing": lambda m: m(None),
}
ONLY_LSTM: dict[str, Callable[[Any], Any]] = {
    "c of fewer units": lambda m: m(X, (torch.zeros(1, 2, 5), torch.zeros(1, 2, 4))),
    "c of fewer axes": lambda m: m(X, (torch.zeros(1, 2, 5), torch.zeros(2, 5))),
    "c of more axes": lambda m: m(X[:, 0], (torch.zeros(1, 5), torch.zeros(1, 1, 5))),
    "Nones": lambda m: m(X, (None, None)),
}
NOT_LSTM: dict[str, Callable[[Any], Any]] = {
    "a pair of states": lambda m: m(X, (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5))),
    "packed hx of more cases": lambda m: m(pack_sequence([X[:, 0], X[:2, 0]]), hx_of(m, 1, 3, 5)),
    "packed input size": lambda m: m(packed(4, 2, inputs=4)),
    "packed double": lambda m: m(packed(4, 2, dtype=torch.float64)),
}


def error_of(call: Callable[[Any], Any], module: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  the two errors are compared
        call(module)
    return caught.value


def refusals() -> list[Any]:
    tables = {"RNN": SAME_ERROR | NOT_LSTM, "LSTM": SAME_ERROR | ONLY_LSTM, "GRU": SAME_ERROR | NOT_LSTM}
    return [
        pytest.param(k, call, id=f"{k} {name}") for k, table in tables.items() for name, call in table.items()
    ]


@as_users_call
@pytest.mark.parametrize(("kind", "call"), refusals())
def test_wrong_calls_fail_as_in_torch(kind: str, call: Callable[[Any], Any]) -> None:
    theirs, ours = pair(kind, 3, 5)
    reference, mine = error_of(call, theirs), error_of(call, ours)
    assert type(mine) is type(reference)
    # torch.nn.RNN says "4D tensor instead" where LSTM and GRU say "4D instead"
    assert str(mine) == str(reference).replace("D tensor instead", "D instead")


# What torch says from deep inside, ours says in its own words of the argument: (kind, call, error, words).
HALF_C = (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5, dtype=torch.float16))
CLEARER: dict[str, tuple[str, Callable[[Any], Any], type[Exception], str]] = {
    "hx of another dtype": ("GRU", lambda m: m(X, torch.zeros(1, 2, 5).double()), RuntimeError, "same dtype"),
    "c of another dtype": (
        "LSTM",
        lambda m: m(X, HALF_C),
        RuntimeError,
        "float32 and torch.float32, torch.f",
    ),
    "h alone": ("LSTM", lambda m: m(X, HALF_C[0]), RuntimeError, re.escape("give hx=(h, c)")),
    "one state": ("LSTM", lambda m: m(X, HALF_C[:1]), RuntimeError, re.escape("give hx=(h, c)")),
    "three states": ("LSTM", lambda m: m(X, HALF_C * 2), RuntimeError, "lstm expects two hidden states"),
    "packed size": ("LSTM", lambda m: m(packed(4, 2, inputs=4)), RuntimeError, "Expected 3, got 4"),
    "packed dtype": (
        "LSTM",
        lambda m: m(packed(4, 2, dtype=torch.float64)),
        ValueError,
        "match weight dtype",
    ),
    "packed layers": ("LSTM", lambda m: m(packed(4, 2), hx_of(m, 2, 2, 5)), RuntimeError, "hidden.0. size"),
    "packed cases": (
        "RNN",
        lambda m: m(packed(2, 4), hx_of(m, 1, 1, 5)),
        RuntimeError,
        "Expected hidden size",
    ),
}


@as_users_call
@pytest.mark.parametrize("name", CLEARER)
def test_where_torch_fails_obscurely_ours_names_the_argument(name: str) -> None:
    kind, call, error, words = CLEARER[name]
    theirs, ours = pair(kind, 3, 5)
    error_of(call, theirs)
    with pytest.raises(error, match=words):
        call(ours)


@every_kind
def test_a_state_of_too_many_cases_is_refused_where_torch_drops_cases(kind: str) -> None:
    theirs, ours = pair(kind, 3, 5)
    unsorted, hx = packed(2, 4), initial_state(ours, 3, torch.float32)
    assert tensors(theirs(unsorted, hx))[1].shape[1] == 2  # the third case of hx is lost without a word
    with pytest.raises(RuntimeError, match=r"Expected hidden.* size"):
        ours(unsorted, hx)


CONSTRUCTORS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "no sizes": ((), {}),
    "one size": ((3,), {}),
    "no units": ((3, 0), {}),
    "no inputs": ((0, 4), {}),
    "negative units": ((3, -1), {}),
    "a size that is text": (("a", 4), {}),
    "a size that is no integer": ((3, 4.0), {}),
    "no layers": ((3, 4, 0), {}),
    "negative layers": ((3, 4, -1), {}),
    "half a layer": ((3, 4, 0.5), {}),
    "bias that is no bool": ((3, 4), {"bias": 1}),
    "batch_first that is no bool": ((3, 4), {"batch_first": 1}),
    "dropout of 2": ((3, 4, 2), {"dropout": 2}),
    "negative dropout": ((3, 4, 2), {"dropout": -0.1}),
    "dropout that is a bool": ((3, 4, 2), {"dropout": True}),
    "dropout that is text": ((3, 4, 2), {"dropout": "a"}),
    "dropout after the only layer": ((3, 4), {"dropout": 0.5}),
    "negative projection": ((3, 4), {"proj_size": -1}),
    "projection as wide as the layer": ((3, 4), {"proj_size": 4}),
    "an unknown option": ((3, 4), {"hidden": 1}),
    "an unknown nonlinearity": ((3, 4), {"nonlinearity": "gelu"}),
    "an integer dtype": ((3, 4), {"dtype": torch.long}),
    "an unknown device": ((3, 4), {"device": "abacus"}),
    "an option twice": ((3, 4, 2), {"num_layers": 2}),
    "too many arguments": ((3, 4, 1, True, False, 0.0, False, 0, None, None, 1, 2), {}),
}


@as_users_call
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_wrong_constructions_fail_or_warn_as_in_torch(kind: str, name: str) -> None:
    args, options = CONSTRUCTORS[name]

    def outcome(package: Any, **more: Any) -> tuple[type, str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                getattr(package, kind)(*args, **options, **more)
        except (Exception, Warning) as error:
            return type(error), str(error)
        return type(None), ""

    assert outcome(lnlib, norm="none") == outcome(nn)
    assert outcome(lnlib) == outcome(nn)


@as_users_call
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "batch_norm"}, "norm is 'batch_norm'; use one of layer"),
        ({"norm": None}, "norm is None"),
        ({"variant": "theano"}, "variant is 'theano'; a layer-normalized .* has paper"),
        ({"eps": -1e-5}, "eps is -1e-05; .* give a number >= 0"),
        ({"eps": float("nan")}, "eps is nan"),
    ],
)
def test_our_own_options_name_what_there_is(kind: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        getattr(lnlib, kind)(3, 4, **options)
