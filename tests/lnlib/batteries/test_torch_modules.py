"""PyTorch's own test inputs of its modules, with lnlib's classes in the place of torch.nn's."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from comparing import CLOSE, close, every_dtype, known, tensors
from documented import MODULE_ERRORS, MODULES, Difference, rows
from torch import Tensor, nn
from torch.testing import assert_close
from torch_database import module_errors, module_samples, modules, text

import lnlib
from lnlib.rnn import plain


def instance_norm(
    units: int, eps: float, momentum: float, affine: bool = False, averages: bool = False, **options: Any
) -> nn.Module:
    """Without the arguments that ours does not have: a row of the table in the docstring of lnlib.norms."""
    return lnlib.InstanceNorm(units, eps, affine=affine, **options)


OURS: dict[str, Callable[..., nn.Module]] = {
    **{f"nn.{kind}": partial(getattr(lnlib, kind), norm="none") for kind in ("RNN", "LSTM", "GRU")},
    **{f"nn.{norm}": getattr(lnlib, norm) for norm in ("LayerNorm", "GroupNorm", "RMSNorm")},
    **{f"nn.BatchNorm{d}d": lnlib.BatchNorm for d in (1, 2, 3)},
    **{f"nn.InstanceNorm{d}d": instance_norm for d in (1, 2, 3)},
}
pytestmark = [
    pytest.mark.usefixtures("as_users_call"),
    # torch's notice: its one-layer networks take a dropout, and its projections are not in oneDNN
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN"),
]
every_module = pytest.mark.parametrize("name", OURS)


def both(name: str, sample: Any, dtype: torch.dtype, training: bool) -> tuple[nn.Module, nn.Module]:
    """Ours and torch's, with the same random parameters."""
    given = sample.constructor_input
    theirs = modules()[name].module_cls(*given.args, **given.kwargs).to(dtype).train(training)
    ours = OURS[name](*given.args, **given.kwargs).to(dtype).train(training)
    with torch.no_grad():
        for value in theirs.parameters():
            value.uniform_(-1, 1)
    state = theirs.state_dict()
    ours.load_state_dict({key: state[key] for key in ours.state_dict()})
    return ours, theirs


def found(module: nn.Module, sample: Any, memory: list[str]) -> list[Tensor]:
    """Outputs, the gradients of a fixed random product with them, and what the module remembers by then."""
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    outputs = tensors(module(*args, **kwargs))
    draw = torch.Generator().manual_seed(1)
    total = sum((t * torch.randn(t.shape, dtype=t.dtype, generator=draw)).sum() for t in outputs)
    leaves = [*(t for t in tensors([args, [*kwargs.values()]]) if t.requires_grad), *module.parameters()]
    gradients = torch.autograd.grad(total, leaves)
    return [*outputs, *gradients, *map(module.get_buffer, memory)]


def described(sample: Any, training: bool) -> str:
    built, given = sample.constructor_input, sample.forward_input
    called = "" if given is None else f" on {text(given.args, given.kwargs)}"
    return f"{text(built.args, built.kwargs)}{called} in {'training' if training else 'evaluation'}"


@pytest.mark.grid
@every_module
@every_dtype
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_a_module_in_torchs_place_gives_torchs_values_gradients_and_memory(name, dtype, training) -> None:
    for sample in module_samples(name, dtype, training):
        ours, theirs = both(name, sample, dtype, training)
        memory = [key for key, _ in ours.named_buffers()]
        expected = found(theirs, sample, memory)
        if difference := known(MODULES, name, described(sample, training)):
            differs(difference, partial(found, ours, sample, memory), expected)
            continue
        close(found(ours, sample, memory), expected, CLOSE[dtype])
        if isinstance(ours, nn.RNNBase):
            with plain():  # lnlib's own loop over time, where torch's function would do
                close(found(ours, sample, memory), expected, CLOSE[dtype])
        if sample.reference_fn is not None:  # torch's own reference, RMSNorm's in float32
            given = sample.forward_input
            mine = ours(*given.args, **given.kwargs)
            reference = sample.reference_fn(theirs, *given.args, **given.kwargs)
            close(mine, reference, CLOSE[torch.float32])


def differs(difference: Difference, call: Callable[[], list[Tensor]], expected: list[Tensor]) -> None:
    """As documented: an error, or other values."""
    if isinstance(difference.ours, str):
        pairs = zip(call(), expected, strict=True)
        assert max((a - b).abs().max() for a, b in pairs if a.numel()) > 0.01
        return
    with pytest.raises(difference.ours, match=difference.words):
        call()


@every_module
@every_dtype
def test_what_torch_refuses_is_refused_in_the_same_words(name, dtype) -> None:
    for error in module_errors(name, dtype):
        sample = error.module_error_input
        with pytest.raises(error.error_type, match=error.error_regex):
            build_and_run(modules()[name].module_cls, sample, dtype)
        difference = known(MODULE_ERRORS, name, described(sample, True))
        if difference is not None and difference.ours == "result":
            assert build_and_run(OURS[name], sample, dtype).isfinite().all()
            continue
        raised, words = error.error_type, error.error_regex
        if difference is not None:
            raised, words = difference.ours, difference.words
        with pytest.raises(raised, match=words):
            build_and_run(OURS[name], sample, dtype)


def build_and_run(make: Callable[..., nn.Module], sample: Any, dtype: torch.dtype) -> Any:
    built, given = sample.constructor_input, sample.forward_input
    module = make(*built.args, **built.kwargs).to(dtype)
    return None if given is None else module(*given.args, **given.kwargs)


@every_module
def test_weights_survive_a_file_that_is_read_as_weights_only(name) -> None:
    for sample in module_samples(name, torch.float64, True):
        ours, _ = both(name, sample, torch.float64, True)
        file = io.BytesIO()
        torch.save(ours.state_dict(), file)
        file.seek(0)
        given = sample.constructor_input
        fresh = OURS[name](*given.args, **given.kwargs).double()
        fresh.load_state_dict(torch.load(file, weights_only=True))
        assert_close(fresh.state_dict(), ours.state_dict(), rtol=0, atol=0)


def test_every_documented_difference_is_met() -> None:
    given, wrong = [], []
    for name in OURS:
        wrong += [(name, described(e.module_error_input, True)) for e in module_errors(name, torch.float32)]
        for training in (True, False):
            samples = module_samples(name, torch.float32, training)
            given += [(name, described(sample, training)) for sample in samples]
    for entries, inputs in ((MODULES, given), (MODULE_ERRORS, wrong)):
        for entry in entries:
            assert any(known([entry], *each) for each in inputs), entry


def test_reasons_name_rows_of_the_table() -> None:
    table = {line.partition("  ")[0] for line in lnlib.norms.__doc__.splitlines()}
    assert rows() <= table
