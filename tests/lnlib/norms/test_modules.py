"""The layers against torch.nn's own: values, gradients, state dicts and running statistics."""

import copy
import inspect
import math

import pytest
import torch
from pairs import EXACT, draw
from torch import nn
from torch.nn.utils.parametrizations import weight_norm as torch_weight_norm
from torch.testing import assert_close

from lnlib import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm, WeightNormLinear

F64 = {"dtype": torch.float64}

# ours, torch's, the arguments of both, the shape of an input
PAIRS = {
    "batch": (BatchNorm, nn.BatchNorm1d, (4,), {}, (6, 4)),
    "batch in time": (BatchNorm, nn.BatchNorm1d, (4,), {}, (6, 4, 5)),
    "batch in space": (BatchNorm, nn.BatchNorm2d, (4, 1e-3, None), {}, (3, 4, 5, 6)),
    "batch without a gain": (BatchNorm, nn.BatchNorm1d, (4,), {"affine": False}, (6, 4)),
    "batch without memory": (BatchNorm, nn.BatchNorm1d, (4,), {"track_running_stats": False}, (6, 4)),
    "layer": (LayerNorm, nn.LayerNorm, (4,), {}, (6, 5, 4)),
    "layer over two axes": (LayerNorm, nn.LayerNorm, ((5, 4), 1e-3), {}, (6, 5, 4)),
    "layer without a bias": (LayerNorm, nn.LayerNorm, (4,), {"bias": False}, (6, 4)),
    "layer without a gain": (LayerNorm, nn.LayerNorm, (4,), {"elementwise_affine": False}, (6, 4)),
    "rms": (RMSNorm, nn.RMSNorm, (4,), {}, (6, 5, 4)),
    "rms over two axes": (RMSNorm, nn.RMSNorm, ((5, 4), 0.1), {}, (6, 5, 4)),
    "group": (GroupNorm, nn.GroupNorm, (2, 4), {}, (6, 4, 5)),
    "instance": (InstanceNorm, nn.InstanceNorm1d, (4,), {}, (6, 4, 5)),
    "instance in space": (InstanceNorm, nn.InstanceNorm2d, (4,), {"affine": True}, (3, 4, 5, 6)),
    "weight": (WeightNormLinear, nn.Linear, (4, 3), {}, (6, 5, 4)),
    "weight without a bias": (WeightNormLinear, nn.Linear, (4, 3), {"bias": False}, (6, 4)),
}
Pair = tuple[nn.Module, nn.Module, tuple[int, ...]]


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Pair:
    """Ours and torch's, parameters and statistics drawn alike, and the shape of an input."""
    kind, torchs, args, options, shape = PAIRS[request.param]
    ours, theirs = kind(*args, **options, **F64), torchs(*args, **options, **F64)
    if kind is WeightNormLinear:
        theirs = torch_weight_norm(theirs)
    with torch.no_grad():
        for i, value in enumerate(theirs.parameters()):
            value.copy_(draw(*value.shape, seed=i) + 1)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs, shape


def test_values_and_gradients_are_torchs(pair: Pair) -> None:
    ours, theirs, shape = pair
    results = []
    for module in (ours, theirs):
        a = (2 * draw(*shape) + 1).requires_grad_()
        out = module(a)
        (out**3).sum().backward()
        # both name their parameters alike but for the parametrization, whose order is gain, direction
        gradients = sorted(
            (p.grad.flatten().tolist() for p in module.parameters()), key=lambda g: (len(g), g)
        )
        results.append([out, a.grad, *(torch.tensor(g) for g in gradients)])
    assert_close(results[0][0], results[1][0], **EXACT)
    for mine, its in zip(*results, strict=True):
        # sums of up to 90 cubes
        assert_close(mine, its, rtol=1e-11, atol=1e-11)


def test_state_dicts_are_exchanged_with_torch_and_a_layer_is_shown_as_torchs_is(pair: Pair) -> None:
    ours, theirs, shape = pair
    if not isinstance(ours, WeightNormLinear):  # torch shows a parametrization
        assert repr(ours).split("(", 1)[1] == repr(theirs).split("(", 1)[1]
    state = {key: torch.full_like(value, 2) for key, value in ours.state_dict().items()}
    for into, source in ((ours, state), (theirs, ours.state_dict()), (ours, theirs.state_dict())):
        outcome = into.load_state_dict(source)
        assert not outcome.missing_keys
        assert not outcome.unexpected_keys
        assert all((value == 2).all() for value in into.state_dict().values())
    assert_close(ours.eval()(draw(*shape)), theirs.eval()(draw(*shape)), **EXACT)


@pytest.mark.parametrize("name", ["batch", "layer", "group", "rms"])
def test_arguments_and_defaults_are_torchs(name: str) -> None:
    mine, its = (
        [(p.name, p.default) for p in inspect.signature(kind).parameters.values() if p.kind != p.KEYWORD_ONLY]
        for kind in PAIRS[name][:2]
    )
    assert mine == its


@pytest.mark.parametrize("layer", [BatchNorm(4, bias=False), InstanceNorm(4, affine=True, bias=False)])
def test_a_layer_can_do_without_a_bias(layer: nn.Module) -> None:
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    a = draw(6, 4, 5).float()
    double = copy.deepcopy(layer)
    nn.init.constant_(double.weight, 2.0)
    assert_close(double(a), 2 * layer(a))


@pytest.mark.parametrize(("sizes", "dim"), [(4, 1), (4, -2), ((5, 4), (2, 1)), ((5, 6, 4), (2, 0, 1))])
def test_layer_norm_takes_the_axes_of_the_units(sizes, dim) -> None:
    dims = (dim,) if isinstance(dim, int) else dim
    ours, theirs, last = LayerNorm(sizes, dim=dim), nn.LayerNorm(sizes), tuple(range(-len(dims), 0))
    with torch.no_grad():
        theirs.weight.copy_(draw(*theirs.weight.shape))
    ours.load_state_dict(theirs.state_dict())
    a = draw(6, 4, 5).float()
    # some roundings of float32
    assert_close(ours(a), theirs(a.movedim(dims, last)).movedim(last, dims), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("momentum", [0.1, 0.75, 1.0, None])
@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3, 5)])
def test_running_statistics_follow_torchs_through_training_and_evaluation(momentum, shape) -> None:
    theirs = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(4, momentum=momentum, **F64)
    ours = BatchNorm(4, momentum=momentum, **F64)
    for step in range(5):
        a = draw(*shape, seed=step) * (step + 1) + step
        assert_close(ours.train()(a), theirs.train()(a), **EXACT)
        assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()), **EXACT)
        ours.eval(), theirs.eval()
        assert_close(ours(a), theirs(a), **EXACT)
        assert ours.num_batches_tracked == step + 1
    for norm in (ours.train(), theirs.train()):
        norm.track_running_stats = False
        norm(2 * a)
        norm.eval()
    assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()), **EXACT)
    assert_close(ours(a), theirs(a), **EXACT)


def test_the_unbiased_option_changes_what_normalizes_and_not_what_is_tracked() -> None:
    a = draw(6, 4)
    biased, unbiased = BatchNorm(4, eps=0, **F64), BatchNorm(4, eps=0, unbiased=True, **F64)
    assert_close(biased(a), math.sqrt(6 / 5) * unbiased(a), **EXACT)
    assert_close(dict(biased.named_buffers()), dict(unbiased.named_buffers()), rtol=0, atol=0)
    assert repr(unbiased).endswith("unbiased=True)")


def test_evaluation_far_from_zero_keeps_its_digits() -> None:
    norm = BatchNorm(3, affine=False)
    a = (draw(256, 3) + 1e6).float()
    for _ in range(200):  # 0.9 ** 200 = 7e-10 of the initial statistics are left
        norm(a)
    norm.eval()
    mean, var = norm.running_mean.double(), norm.running_var.double()
    expected = ((a.double() - mean) / (var + norm.eps).sqrt()).float()
    # a - mean is exact; a few roundings of numbers up to 4
    assert_close(norm(a), expected, rtol=0, atol=2e-6)


def test_cumulative_averages_read_no_value_so_that_no_gpu_is_waited_for() -> None:
    norm = BatchNorm(4, momentum=None, device="meta")
    assert norm(torch.zeros(6, 4, device="meta")).shape == (6, 4)


def test_a_fresh_weight_normalized_layer_is_torchs_linear_layer() -> None:
    torch.manual_seed(0)
    plain = nn.Linear(5, 4, **F64)
    torch.manual_seed(0)
    layer = WeightNormLinear(5, 4, **F64)
    assert_close(layer(draw(3, 5)), plain(draw(3, 5)), **EXACT)
    torch.manual_seed(0)
    empty = WeightNormLinear(5, 4, device="meta", **F64).to_empty(device="cpu")
    empty.reset_parameters()
    assert_close(empty.state_dict(), layer.state_dict())


@pytest.mark.parametrize("eps", [None, 1e-3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rms_norms_default_eps_is_torchs(dtype: torch.dtype, eps: float | None) -> None:
    # so small that eps decides the result
    a = (1e-4 if dtype == torch.float32 else 1e-8) * draw(3, 8).to(dtype)
    ours, theirs = RMSNorm(8, eps, dtype=dtype), nn.RMSNorm(8, eps, dtype=dtype)
    assert_close(ours(a), theirs(a), rtol=8 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.usefixtures("as_users_call")
# torch's advice to users of Python 3.13.0, which is not about our layers
@pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0:RuntimeWarning")
def test_layers_are_compiled_in_one_graph_with_their_running_statistics() -> None:
    torch.compiler.reset()
    model = nn.Sequential(
        nn.Linear(4, 4), BatchNorm(4), LayerNorm(4), WeightNormLinear(4, 4), RMSNorm(4)
    ).double()
    compiled = torch.compile(copy.deepcopy(model), fullgraph=True, backend="aot_eager", dynamic=False)
    for seed in range(2):
        assert_close(compiled(draw(6, 4, seed=seed)), model(draw(6, 4, seed=seed)), **EXACT)
    assert_close(compiled._orig_mod.state_dict(), model.state_dict(), **EXACT)


@pytest.mark.usefixtures("as_users_call")
def test_layers_are_exported_for_any_number_of_cases() -> None:
    layers = BatchNorm(4, track_running_stats=False), LayerNorm(4, eps=0.0), GroupNorm(2, 4), RMSNorm(4)
    model = nn.Sequential(*layers).double()
    cases = torch.export.Dim("cases")
    exported = torch.export.export(model, (draw(9, 4),), dynamic_shapes=({0: cases},)).module()
    assert_close(exported(draw(2**13 + 1, 4)), model(draw(2**13 + 1, 4)), rtol=1e-8, atol=1e-8)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LayerNorm((3, 4), elementwise_affine=False)(torch.zeros(4)), r"LayerNorm.*\(3, 4\).*move"),
        (lambda: RMSNorm((3, 4))(torch.zeros(4, 3)), r"RMSNorm: .*\(3, 4\).*\(4, 3\)"),
        (lambda: BatchNorm(4)(torch.zeros(1, 4)), r"2 cases.*\(1, 4\).*evaluation mode"),
        (lambda: BatchNorm(4, affine=False).eval()(torch.zeros(4)), r"\(4,\) units along \(1,\).*\(4,\)"),
        (lambda: GroupNorm(2, 4, affine=False)(torch.zeros(5, 6)), r"GroupNorm: .*\(4,\).*\(5, 6\)"),
        (lambda: InstanceNorm(4)(torch.zeros(5, 6, 7)), r"InstanceNorm: .*\(4,\).*\(5, 6, 7\)"),
        (lambda: WeightNormLinear(4, 3)(torch.zeros(5, 6)), r"WeightNormLinear: .*\(4,\).*\(5, 6\)"),
        (lambda: LayerNorm(4)([1.0]), "must be a tensor, and it is of type list"),
        (lambda: BatchNorm(4)([1.0]), "must be a tensor, and it is of type list"),
        (lambda: WeightNormLinear(4, 2)([1.0]), "must be a tensor, and it is of type list"),
        (lambda: torch.fx.symbolic_trace(nn.Sequential(LayerNorm(4))), r"Proxy; .* torch\.fx take the layer"),
        (lambda: InstanceNorm(4, 1e-5, 0.1), "positional"),  # torch's third is the momentum
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("training", [True, False])
def test_a_refused_batch_and_one_of_no_cases_leave_no_trace(training: bool) -> None:
    norm = BatchNorm(4).train(training)
    before = copy.deepcopy(norm.state_dict())
    for wrong in (torch.zeros(5, 4, dtype=torch.int64), torch.zeros(5, 3), torch.zeros(4)):
        with pytest.raises((TypeError, ValueError), match=r"BatchNorm|batch_norm"):
            norm(wrong)
    assert norm(torch.zeros(0, 4)).shape == (0, 4)
    assert_close(norm.state_dict(), before, rtol=0, atol=0)
