"""What no prediction sees of a network's weights: found, projected on, moved along, and nothing too much."""

import copy
from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from glms import draw, relative
from nets import NETS, mlp, randomized
from torch import Tensor, nn

import lnlib
from lnbook.pages.beyond_exact_fisher.gauge import Gauge, canonical, gauge
from lnlib.fisher import GGN

ROUNDING = 1e-12  # relative: a few hundred roundings through a few layers

# Found by hand: common vectors (D or D + 1 numbers a layer) and scales.
DIRECTIONS = {
    "mlp, lnlib's layer norm": (5 + 1) + (7 + 1),
    "mlp, torch's layer norm": (5 + 1) + (7 + 1),
    "mlp, lnlib's RMS norm": 2,
    "mlp, torch's RMS norm": 2,
    # the embedding's 5 rows, `out` and `down`, and one scale of the stream of all three
    "block, lnlib's layer norm": 5 + 7 + 8 + 1,
    "block, torch's layer norm": 5 + 7 + 8 + 1,
    "block, RMS norm": 1,
}
every_net = pytest.mark.parametrize("net", DIRECTIONS)


def moved(model: nn.Module, theta: Tensor) -> nn.Module:
    other = copy.deepcopy(model)
    nn.utils.vector_to_parameters(theta, other.parameters())
    return other


def theta_of(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def outputs(model: nn.Module, X: Tensor) -> Tensor:
    with torch.no_grad():
        return model(X)


def matrix(found: Gauge) -> Tensor:
    """The projector."""
    return torch.stack([found.project(e) for e in torch.eye(found.along.shape[1]).double()], 1)


# --- the directions ----------------------------------------------------------------------------------


@every_net
def test_the_directions_are_those_found_by_hand_and_have_no_curvature(net):
    model, X = NETS[net]()
    found, F = gauge(model, X), GGN(model, X)
    assert found.dimension == DIRECTIONS[net]
    P = matrix(found)
    assert float(P.trace()) == pytest.approx(found.dimension, rel=1e-12)
    assert relative(P @ P, P) <= ROUNDING
    assert relative(P.mT, P) <= ROUNDING
    V = P @ draw(F.shape[0], 5)
    assert float((F @ V).norm()) <= 1e-13 * F.to_dense().norm() * float(V.norm())


@every_net
def test_a_finite_move_along_the_common_vectors_leaves_the_outputs(net):
    model, X = NETS[net](1e-2)  # epsilon does not touch them
    found = gauge(model, X)
    step = found.project(draw(found.along.shape[1]))
    assert (float(step.norm()) > 1) == bool(found.shifts)
    assert relative(outputs(moved(model, theta_of(model) + step), X), outputs(model, X)) <= ROUNDING
    assert found.scales == ()
    assert len(found.broken) == len(gauge(*NETS[net]()).scales)


def test_epsilon_breaks_the_scale_by_the_reported_share():
    model, X = mlp(nn.LayerNorm, eps=1e-2)
    a = model[0](X).detach()
    first, second = gauge(model, X).broken
    assert first.parameters == ("0.weight", "0.bias")
    assert first.residual == pytest.approx(float((1e-2 / (a.var(1, correction=0) + 1e-2)).max()), rel=1e-12)
    worst = max(first.residual, second.residual)
    assert gauge(model, X, tolerance=worst).dimension == DIRECTIONS["mlp, torch's layer norm"]
    assert len(gauge(model, X, tolerance=min(first.residual, second.residual)).scales) == 1


def test_rms_norms_own_epsilon_is_the_unit_roundoff():
    model, X = mlp(nn.RMSNorm)
    model[1].eps = None
    found = gauge(model, X)
    assert [scale.parameters for scale in found.broken] == [("0.weight", "0.bias")]
    assert 0 < found.broken[0].residual < 1e-13


# --- nothing too much --------------------------------------------------------------------------------


class Net(nn.Module):
    """Layers and a norm, and what the forward pass does with them; the mask is left out, as by default."""

    def __init__(self, does: Callable[[nn.Module, Tensor], Tensor], **others: nn.Module) -> None:
        super().__init__()
        self.does = does
        self.one, self.two, self.norm = nn.Linear(4, 4), nn.Linear(4, 4), LN(4)
        for name, module in others.items():
            self.add_module(name, module)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.does(self, x) if mask is None else mask


def plain(m: nn.Module, x: Tensor) -> Tensor:
    return m.norm(m.one(x))


def between(m: nn.Module, x: Tensor) -> Tensor:
    return m.norm(m.between(m.one(x)))


LN = partial(nn.LayerNorm, eps=0.0)
SHARED = Net(lambda m, x: m.two(plain(m, x)))
SHARED.two.weight = SHARED.one.weight
HOOKED = Net(plain)
HOOKED.one.register_forward_hook(lambda _, args, out: out * torch.arange(4))
HOOKED_NORM = Net(plain)
HOOKED_NORM.norm.register_forward_pre_hook(lambda _, args: (args[0] * torch.arange(4),))

# network -> layers with common vectors, layers of each scale
FREE = {
    "called by keyword": (Net(lambda m, x: m.norm(input=m.one(input=x)).tanh()), ["one"], [("one",)]),
    "seen past the norm": (Net(lambda m, x: (a := m.one(x)) + m.norm(a)), [], []),
    "called twice": (Net(lambda m, x: m.one(x) + plain(m, x)), [], []),
    "read as a matrix": (Net(lambda m, x: m.norm(m.one(x) + m.two(x)) @ m.one.weight), ["two"], []),
    "its weight shared": (SHARED, [], []),
    "a sum": (Net(lambda m, x: m.norm(m.one(x) - m.two(x))), ["one", "two"], [("one", "two")]),
    "a sum with a number": (Net(lambda m, x: m.norm(m.one(x) + 1)), [], []),
    "a sum with data": (Net(lambda m, x: m.norm(m.one(x) + x)), ["one"], []),
    "one unit added to all": (
        Net(lambda m, x: m.norm(m.one(x) + m.two(x)), two=nn.Linear(4, 1)),
        ["one"],
        [],
    ),
    "a norm's output in the stream": (Net(lambda m, x: m.norm(m.two(x) + m.one(x)), two=LN(4)), ["one"], []),
    "two norms": (
        Net(lambda m, x: m.norm(a := m.one(x)) * m.two(a), two=nn.RMSNorm(4, eps=0.0)),
        [],
        [("one",)],
    ),
    "ReLU between": (Net(between, between=nn.ReLU()), [], []),
    "a slice between": (Net(lambda m, x: m.norm(m.one(x)[:, :4])), [], []),
    "dropout at rest between": (Net(between, between=nn.Dropout(0.5)), ["one"], [("one",)]),
    "nothing between": (Net(between, between=nn.Identity()), ["one"], [("one",)]),
    "over several axes": (
        Net(lambda m, x: m.norm(m.one(torch.stack([x, x.flip(1)], 1))).flatten(1), norm=LN((2, 4))),
        [],
        [],
    ),
    "group norm": (Net(plain, norm=nn.GroupNorm(2, 4, 0.0)), [], []),
    "a layer with a hook": (HOOKED, [], []),
    "a norm with a hook": (HOOKED_NORM, [], []),
    # the trace does not look into it
    "under an LSTM": (Net(lambda m, x: m.two(plain(m, x))[0], two=lnlib.LSTM(4, 4)), ["one"], [("one",)]),
}


def parameters(layers: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{layer}.{p}" for layer in layers for p in ("weight", "bias"))


@pytest.mark.parametrize("name", FREE)
def test_a_layer_is_free_where_every_path_of_it_ends_in_a_norm_and_only_sums_lie_between(name):
    net, common, scales = FREE[name]
    model, X = randomized(copy.deepcopy(net)), draw(5, 4)
    found = gauge(model, X)
    assert tuple(found.shifts) == parameters(common)
    assert [scale.parameters for scale in found.scales] == [parameters(layers) for layers in scales]
    assert found.broken == ()
    step = found.project(draw(found.along.shape[1]))
    for other in (canonical(model, X), moved(model, theta_of(model) + 0.1 * step)):
        assert relative(outputs(other, X), outputs(model, X)) <= ROUNDING


# --- the representative ------------------------------------------------------------------------------


@every_net
def test_all_weights_of_one_function_have_one_representative_which_computes_it(net):
    model, X = NETS[net]()
    short = canonical(model, X)
    assert relative(outputs(short, X), outputs(model, X)) <= ROUNDING
    for scale in gauge(short, X).scales:
        size = sum(short.get_parameter(name).detach().square().sum() for name in scale.parameters)
        assert float(size) == pytest.approx(scale.units, rel=1e-13)
    other = copy.deepcopy(model)
    for scale in gauge(model, X).scales:
        for name in scale.parameters:
            other.get_parameter(name).data.mul_(5)
    start, found = theta_of(other), gauge(other, X)
    other = moved(other, start + found.project(draw(len(start))))  # along the weights, too: one more scale
    assert relative(theta_of(other), theta_of(model)) > 0.5
    assert relative(theta_of(canonical(other, X)), theta_of(short)) <= ROUNDING


def test_the_model_itself_stays_and_epsilon_keeps_the_scale():
    model, X = mlp(lnlib.LayerNorm, eps=1e-2)
    before = theta_of(model)
    rows = torch.cat([model[0].weight, model[0].bias[:, None]], 1).detach()
    centered = rows - rows.mean(0)
    short = canonical(model, X)
    assert torch.equal(theta_of(model), before)
    assert relative(outputs(short, X), outputs(model, X)) <= ROUNDING
    assert theta_of(short[0]).norm() == pytest.approx(float(centered.norm()), rel=1e-12)
    near = canonical(model, X, tolerance=0.5)
    assert theta_of(near[0]).norm() == pytest.approx(6**0.5)
    assert 1e-4 < relative(outputs(near, X), outputs(model, X)) < 0.5


def test_weights_of_zero_have_no_scale_to_move_along():
    model, X = mlp(lnlib.LayerNorm)
    for p in model[0].parameters():
        p.data.zero_()
    assert gauge(model, X).dimension == 13
    assert relative(outputs(canonical(model, X), X), outputs(model, X)) <= ROUNDING
