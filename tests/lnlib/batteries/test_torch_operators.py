"""PyTorch's own test inputs of its functions, given to lnlib's."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from comparing import CLOSE, close, every_dtype, known, tensors
from documented import OPERATORS
from torch import Tensor
from torch.func import functional_call
from torch_database import operators, text

import lnlib
from lnlib.norms import batch_norm_by


def layer(a: Tensor, shape: tuple[int, ...], weight=None, bias=None, eps=1e-5) -> Tensor:
    return lnlib.layer_norm(a, weight, bias, eps, dim=range(-len(shape), 0))


def rms(a: Tensor, shape: tuple[int, ...], weight=None, eps=None) -> Tensor:
    """The function has one axis and an eps; the layer has more, and torch's default of None."""
    if len(shape) == 1 and eps is not None:
        return lnlib.rms_norm(a, weight, eps)
    norm = lnlib.RMSNorm(shape, eps, elementwise_affine=weight is not None)
    return functional_call(norm, {} if weight is None else {"weight": weight}, a)


def batch(a, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5) -> Tensor:
    """Without running averages, which are the layer's: the modules' battery compares them."""
    if training:
        return lnlib.batch_norm(a, weight, bias, eps)
    return batch_norm_by(a, mean, var, weight, bias, eps)


def instance(a: Tensor, running_mean=None, running_var=None, weight=None, bias=None, eps=1e-5, **_) -> Tensor:
    """Without running averages: a row of the table in the docstring of lnlib.norms."""
    return lnlib.instance_norm(a, weight, bias, eps)


def group(a: Tensor, groups: int, weight=None, bias=None, eps=1e-5) -> Tensor:
    return lnlib.group_norm(a, groups, weight, bias, eps)


OURS: dict[str, Callable[..., Tensor]] = {
    f"nn.functional.{name}": function
    for name, function in {
        "layer_norm": layer,
        "rms_norm": rms,
        "batch_norm": batch,
        "instance_norm": instance,
        "group_norm": group,
    }.items()
}
pytestmark = pytest.mark.usefixtures("as_users_call")
every_function = pytest.mark.parametrize("name", OURS)


def samples(name: str, dtype: torch.dtype, *, many: bool = False) -> list[Any]:
    """torch's samples, which are the same each time; `many`: those of its slower tests, too."""
    torch.manual_seed(0)
    info = operators()[name]
    inputs = info.reference_inputs if many else info.sample_inputs
    return list(inputs("cpu", dtype, requires_grad=True))


def described(sample: Any) -> str:
    return text((sample.input, *sample.args), sample.kwargs)


def found(function: Callable[..., Tensor], sample: Any) -> list[Tensor]:
    """The result, and the gradients of a fixed random product with it."""
    out = function(sample.input, *sample.args, **sample.kwargs)
    draw = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(1))
    leaves = tensors([sample.input, sample.args, [*sample.kwargs.values()]])
    wanted = [t for t in leaves if t.requires_grad]
    return [out, *torch.autograd.grad((out * draw).sum(), wanted, allow_unused=True)]


def compare(name: str, sample: Any, dtype: torch.dtype) -> None:
    """With torch's function, and with its reference in NumPy where it has one."""
    info, call = operators()[name], partial(found, OURS[name], sample)
    expected = found(info.op, sample)
    if difference := known(OPERATORS, name, described(sample)):
        with pytest.raises(difference.ours, match=difference.words):
            call()
        return
    close(call(), expected, CLOSE[dtype])
    if info.ref is not None:
        plain = sample.numpy()
        reference = info.ref(plain.input, *plain.args, **plain.kwargs)
        close(call()[0], torch.from_numpy(np.asarray(reference, plain.input.dtype)), CLOSE[dtype])


@every_function
@every_dtype
def test_a_function_gives_torchs_values_and_gradients(name: str, dtype: torch.dtype) -> None:
    for sample in samples(name, dtype):
        compare(name, sample, dtype)


@pytest.mark.slow
@every_function
@every_dtype
def test_so_it_does_with_torchs_larger_samples(name: str, dtype: torch.dtype) -> None:
    for sample in samples(name, dtype, many=True):
        compare(name, sample, dtype)


@every_function
def test_what_torchs_function_refuses_is_refused_in_words(name: str) -> None:
    info = operators()[name]
    for error in info.error_inputs("cpu") if info.error_inputs_func else ():
        sample = error.sample_input
        with pytest.raises(error.error_type, match=error.error_regex):
            info.op(sample.input, *sample.args, **sample.kwargs)
        # a row of lnlib.norms, with ValueError for RuntimeError: another shape than it was built for
        with pytest.raises(ValueError, match=r"\d.*; \w+"):
            OURS[name](sample.input, *sample.args, **sample.kwargs)


def test_every_documented_difference_is_met() -> None:
    seen = [(name, described(sample)) for name in OURS for sample in samples(name, torch.float32)]
    for entry in OPERATORS:
        assert any(known([entry], *each) for each in seen), entry
