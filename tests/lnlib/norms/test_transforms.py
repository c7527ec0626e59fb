"""The norms through derivatives, transforms and compilers."""

import pytest
import torch
from pairs import EXACT, NORMS, every_norm, inputs, torch_scripts_itself
from torch.testing import assert_close

pytestmark = pytest.mark.grid


@every_norm
def test_first_and_second_derivatives_are_those_of_differences(name: str) -> None:
    ours = NORMS[name]
    a, g, b = inputs()
    args = [(a[:2, :, :2] + 100).requires_grad_(), g.requires_grad_(), b.requires_grad_()]
    # gradcheck's own tolerances for float64; fast_mode checks along random directions
    torch.autograd.gradcheck(ours, args, check_batched_grad=True, fast_mode=True)
    torch.autograd.gradgradcheck(ours, args, fast_mode=True)


@torch_scripts_itself
@every_norm
def test_inside_transforms_and_vectorized_the_result_is_the_same(name: str) -> None:
    ours = NORMS[name]
    a, g, b = inputs()
    stack = torch.stack([a, 3 * a + 50])
    expected = torch.stack([ours(each, g, b) for each in stack])
    assert_close(torch.vmap(lambda each: ours(each, g, b))(stack), expected, **EXACT)
    # per-case gradients in one call, against one call each
    loss = lambda each: (ours(each, g, b) ** 3).sum()  # noqa: E731
    per_case = torch.vmap(torch.func.grad(loss))(stack)
    for got, each in zip(per_case, stack, strict=True):
        each = each.clone().requires_grad_()
        assert_close(got, torch.autograd.grad(loss(each), each)[0], rtol=1e-11, atol=1e-11)
    small = a[:1, :, :2]
    jacobians = [j(lambda each: ours(each, g, b))(small) for j in (torch.func.jacrev, torch.func.jacfwd)]
    assert_close(*jacobians, **EXACT)


@every_norm
@pytest.mark.usefixtures("as_users_call")
def test_compiled_in_one_graph_values_and_gradients_are_the_same(name: str) -> None:
    ours = NORMS[name]
    torch.compiler.reset()
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager", dynamic=False)
    args = [t.requires_grad_() for t in inputs()]
    assert_close(compiled(*args, eps=0.0), ours(*args, eps=0.0), **EXACT)
    assert_close(compiled(*args), ours(*args), **EXACT)
    gradients = [torch.autograd.grad(f(*args).pow(3).sum(), args[:2]) for f in (compiled, ours)]
    assert_close(*gradients, rtol=1e-11, atol=1e-11)
