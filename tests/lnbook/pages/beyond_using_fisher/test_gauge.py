"""What no prediction sees of a network's weights: found, projected on, moved along, and nothing too much."""

import copy

import pytest
import torch
from glms import draw, relative
from nets import NETS, Block, block, mlp, randomized
from torch import Tensor, nn

import lnlib
from lnbook.pages.beyond_using_fisher.gauge import Gauge, canonical, gauge
from lnlib.fisher import GGN

ROUNDING = 1e-12  # relative: a few hundred roundings through a few layers
every_net = pytest.mark.parametrize("net", NETS)

# Found by hand: common vectors (D or D + 1 numbers a layer and group) and scales.
DIRECTIONS = {
    "mlp, lnlib's layer norm": (5 + 1) + (7 + 1),
    "mlp, torch's layer norm": (5 + 1) + (7 + 1),
    "mlp, lnlib's RMS norm": 2,
    "mlp, torch's RMS norm": 2,
    # the embedding's 5 rows, `out` and `down`, and one scale of the stream of all three
    "block, lnlib's layer norm": 5 + 7 + 8 + 1,
    "block, torch's layer norm": 5 + 7 + 8 + 1,
    "block, RMS norm": 1,
    # the convolution's bias in 2 groups and 2 scales; 17 numbers in 2 groups and 2 scales
    "group norm": 2 + 2 + 2 * 17 + 2,
}


def moved(model: nn.Module, theta: Tensor) -> nn.Module:
    other = copy.deepcopy(model)
    nn.utils.vector_to_parameters(theta, other.parameters())
    return other


def theta_of(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def outputs(model: nn.Module, X: Tensor) -> Tensor:
    with torch.no_grad():
        return model(X)


# --- the directions ----------------------------------------------------------------------------------


def matrix(found: Gauge) -> Tensor:
    """The projector."""
    return torch.stack([found.project(e) for e in torch.eye(found.along.shape[1]).double()], 1)


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


# --- epsilon -----------------------------------------------------------------------------------------


def test_epsilon_breaks_the_scale_by_the_reported_share():
    model, X = mlp(nn.LayerNorm, eps=1e-2)
    a = model[0](X).detach()
    first, second = gauge(model, X).broken
    assert first.layers == ("0",)
    assert first.residual == pytest.approx(float((1e-2 / (a.var(1, correction=0) + 1e-2)).max()), rel=1e-12)
    worst = max(first.residual, second.residual)
    assert gauge(model, X, tolerance=worst).dimension == DIRECTIONS["mlp, torch's layer norm"]
    assert len(gauge(model, X, tolerance=min(first.residual, second.residual)).scales) == 1


def test_rms_norms_own_epsilon_is_the_unit_roundoff():
    model, X = mlp(nn.RMSNorm)
    model[1].eps = None
    found = gauge(model, X)
    assert [scale.layers for scale in found.broken] == [("0",)]
    assert 0 < found.broken[0].residual < 1e-13


# --- nothing too much --------------------------------------------------------------------------------


class Past(Block):
    """A block whose stream reaches the predictions past the last norm."""

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        x = x + self.down(torch.tanh(self.up(self.norm2(x))))
        return self.head(self.norm3(x).mean(1)) + x.mean(1)[:, :3]


class Tied(Block):
    """A block that reads its embedding a second time, as a matrix."""

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        x = x + self.down(torch.tanh(self.up(self.norm2(x))))
        return self.norm3(x).mean(1) @ self.embed.weight[:3].mT


class Post(nn.Module):
    """A post-norm block: the stream holds a norm's output, whose scale the gain sets."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 5), nn.Linear(5, 4)
        self.norm1, self.norm2, self.head = (
            nn.LayerNorm(4, eps=0.0),
            nn.LayerNorm(4, eps=0.0),
            nn.Linear(4, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x)
        return self.head(self.norm2(x + self.down(torch.relu(self.up(x)))))


def test_a_stream_that_the_predictions_see_is_no_gauge():
    assert gauge(randomized(Past(nn.LayerNorm)), block(nn.LayerNorm)[1]).dimension == 0


def test_an_embedding_that_is_read_twice_is_none_and_the_layers_beside_it_keep_theirs():
    found = gauge(randomized(Tied(nn.LayerNorm)), block(nn.LayerNorm)[1])
    assert {s.parameter for s in found.shifts} == {"down.weight", "down.bias"}
    assert found.scales == ()


def test_layers_that_are_called_by_keyword_are_seen():
    class ByKeyword(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm, self.head = nn.Linear(4, 6), nn.LayerNorm(6, 0.0), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.norm(input=self.linear(input=x)))

    model, X = randomized(ByKeyword()), draw(5, 4)
    assert gauge(model, X).dimension == (4 + 1) + 1


def test_one_unit_that_is_added_to_all_others_is_none():
    class Broadcast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.one, self.norm = nn.Linear(4, 6), nn.Linear(4, 1), nn.GroupNorm(2, 6, 0.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(self.wide(x) + self.one(x))

    found = gauge(randomized(Broadcast()), draw(5, 4))
    assert {s.parameter for s in found.shifts} == {"wide.weight", "wide.bias"}
    assert found.scales == found.broken == ()


def test_a_module_that_shares_its_weight_is_none():
    X = mlp(nn.LayerNorm)[1]
    other = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4, eps=0.0), nn.Linear(4, 4))
    other[2].weight = other[0].weight
    assert gauge(randomized(other), X).dimension == 0


def test_what_a_norm_writes_into_a_stream_keeps_its_scale():
    model, X = randomized(Post()), draw(6, 4)
    found = gauge(model, X)
    assert {s.parameter for s in found.shifts} == {"down.weight", "down.bias"}
    assert found.scales == found.broken == ()
    assert relative(outputs(canonical(model, X), X), outputs(model, X)) <= ROUNDING


@pytest.mark.parametrize(
    "between", [nn.ReLU(), nn.Flatten(0, 1), nn.LayerNorm(6, eps=0.0), nn.Dropout(0.5), nn.Identity()]
)
def test_only_sums_may_lie_between_a_layer_and_its_norm(between):
    inside = nn.Sequential(nn.Linear(4, 6), between, nn.LayerNorm(6, eps=0.0), nn.Linear(6, 3))
    model, X = randomized(inside), draw(7, 4)
    if isinstance(between, nn.Flatten):
        X = X[None]
        model = randomized(nn.Sequential(inside, nn.Unflatten(0, (1, 7)), nn.Flatten(1)))
    free = isinstance(between, nn.LayerNorm | nn.Dropout | nn.Identity)
    assert gauge(model, X).dimension == (6 if free else 0)


def test_a_norm_over_several_axes_or_of_other_units_has_none():
    model = randomized(
        nn.Sequential(nn.Linear(4, 3), nn.LayerNorm((2, 3), eps=0.0), nn.Flatten(), nn.Linear(6, 3))
    )
    assert gauge(model, draw(5, 2, 4)).dimension == 0
    across = randomized(nn.Sequential(nn.Linear(4, 3), nn.GroupNorm(1, 2, eps=0.0), nn.Flatten()))
    assert gauge(across, draw(5, 2, 4)).dimension == 0


def test_two_norms_of_different_groups_have_what_both_hide():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.one, self.two = (
                nn.Linear(4, 6),
                nn.GroupNorm(2, 6, 0.0),
                nn.LayerNorm(6, eps=0.0),
            )

        def forward(self, x: Tensor) -> Tensor:
            a = self.linear(x)
            return self.one(a) * self.two(a)

    model, X = randomized(Two()), draw(40, 4)
    assert gauge(model, X).dimension == 5 + 1
    V = gauge(model, X).project(draw(54))
    F = GGN(model, X, "gaussian")
    assert float((F @ V).norm()) <= 1e-13 * F.to_dense().norm() * float(V.norm())


# --- the representative ------------------------------------------------------------------------------


@every_net
def test_the_representative_is_the_same_function_and_has_no_gauge_left_to_move_along(net):
    model, X = NETS[net]()
    short = canonical(model, X)
    assert relative(outputs(short, X), outputs(model, X)) <= ROUNDING
    found = gauge(short, X)
    parts = {name: p.detach() for name, p in short.named_parameters()}
    for s in found.shifts:
        assert float(s.mean(parts[s.parameter]).abs().max()) <= 1e-15
    for s in found.scales:
        size = sum(float(parts[name].square().sum()) for name, _ in s.parameters)
        assert size == pytest.approx(s.groups * s.units, rel=1e-13)
    assert relative(theta_of(canonical(short, X)), theta_of(short)) <= 1e-14


@every_net
def test_all_weights_of_one_function_have_one_representative(net):
    model, X = NETS[net]()
    found = gauge(model, X)
    other = copy.deepcopy(model)
    for scale in found.scales:
        for name, _ in scale.parameters:
            other.get_parameter(name).data.mul_(5)
    start, v = theta_of(other), draw(found.along.shape[1])
    other = moved(other, start + gauge(other, X).project(v))  # along the weights themselves: one more scale
    assert relative(theta_of(other), theta_of(model)) > 0.5
    assert relative(theta_of(canonical(other, X)), theta_of(canonical(model, X))) <= ROUNDING


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


# --- what is left alone ------------------------------------------------------------------------------


@pytest.mark.parametrize("hooked", [0, 1])
def test_a_hook_may_change_what_a_layer_makes_so_that_nothing_is_known_of_it(hooked):
    model, X = mlp(lnlib.LayerNorm)
    model[hooked].register_forward_hook(lambda _, args, out: out * torch.arange(6))
    assert {s.layers for s in gauge(model, X).scales} == {("3",)}
    assert relative(outputs(canonical(model, X), X), outputs(model, X)) <= ROUNDING


class Choosing(nn.Module):
    """Takes a way that depends on the cases."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) if x.sum() > 0 else x[:, :3]


def test_a_network_that_cannot_be_traced_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"torch.fx cannot trace Choosing: .*; give a part"):
        gauge(Choosing().double(), draw(5, 4))


def test_options_of_the_forward_pass_and_parts_that_are_not_traced_are_no_obstacle():
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.norm = nn.Linear(4, 6), nn.LayerNorm(6, eps=0.0)
            self.layer, self.head = lnlib.LSTM(6, 5, batch_first=True), nn.Linear(5, 3)

        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            x = self.norm(self.embed(x)) if mask is None else x
            return self.head(self.layer(x)[0][:, -1])

    assert gauge(Recurrent().double(), draw(3, 4, 4)).dimension == (4 + 1) + 1
