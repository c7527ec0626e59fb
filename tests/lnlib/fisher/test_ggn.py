"""The curvature of networks with norms, whole and by blocks, against brute force."""

import pytest
import torch
from glms import draw, relative
from nets import NETS, brute_force, groups, mlp, randomized, softmax_covariance
from numpy.testing import assert_allclose
from scipy.sparse.linalg import cg
from torch import Tensor, nn

import lnlib
from lnlib import GLM
from lnlib.fisher import GGN, fisher, ggn, linear_block, norm_block
from lnlib.fisher.matrix_free import Products

pytestmark = pytest.mark.grid

ROUNDING = 1e-12  # relative: sums of some hundred products, through a few layers
users_call = pytest.mark.usefixtures("as_users_call")
every_net = pytest.mark.parametrize("net", NETS)
every_eps = pytest.mark.parametrize("eps", [0.0, 1e-2])


def norms_of(model: nn.Module) -> list[str]:
    kinds = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm)
    return [name for name, module in model.named_modules() if isinstance(module, kinds)]


def whole(model: nn.Module, X: Tensor, names: list[str] | None = None, share: Tensor | None = None) -> Tensor:
    names = names or [name for name, _ in model.named_parameters()]
    share = torch.full((len(X),), 1 / len(X), dtype=torch.float64) if share is None else share
    return brute_force(model, X, softmax_covariance(model(X)), share, names)


# --- the whole matrix --------------------------------------------------------------------------------


@every_net
@every_eps
def test_products_factor_and_matrix_are_those_of_the_definition(net, eps):
    model, X = NETS[net](eps)
    weights = draw(len(X), seed=9).abs()
    F, dense = GGN(model, X, weights=weights), whole(model, X, share=weights / weights.sum())
    V = draw(F.shape[0], 3, seed=1)
    assert F.shape == dense.shape
    assert F.dtype == dense.dtype
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert relative(F.matvec(V[:, 0]), dense @ V[:, 0]) <= ROUNDING
    assert relative(F.to_dense(), dense) <= ROUNDING
    B = torch.cat(list(F.factor()))
    assert relative(B.mT @ B, dense) <= ROUNDING


def test_the_matrix_does_not_depend_on_how_many_are_taken_at_a_time(monkeypatch):
    model, X = mlp(nn.LayerNorm)
    F = GGN(model, X)
    V, dense = draw(F.shape[0], 5), F.to_dense()
    monkeypatch.setattr(ggn, "COLUMNS", 2)
    monkeypatch.setattr(ggn, "FACTOR_NUMBERS", 1)
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert relative(F.to_dense(), dense) <= ROUNDING
    assert (F @ V[:, :0]).shape == (F.shape[0], 0)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_a_network_that_is_a_glm_has_the_glms_matrix(family, norm):
    """Two independent derivations: one closed form, one automatic."""
    X, W, g, b = (draw(*s, seed=k) / 2 for k, s in enumerate([(8, 3), (4, 3), (4,), (4,)]))
    kind = nn.LayerNorm if norm == "layer" else nn.RMSNorm
    model = nn.Sequential(nn.Linear(3, 4, bias=False), kind(4, eps=0.0)).double()
    model[0].weight.data, model[1].weight.data = W, g
    names = ["0.weight", "1.weight"]
    glm = GLM(family, W, b if norm == "layer" else 0 * b, norm=norm, gain=g)
    if norm == "layer":
        model[1].bias.data = b
        names = ["0.weight", "1.bias", "1.weight"]
    F = GGN(model, X, family)
    order = dict(zip(F.parameters, _places(model), strict=True))
    columns = [order["0.weight"].view(4, 3), *(order[name][:, None] for name in names[1:])]
    places = torch.cat(columns, 1).flatten()
    dense = fisher(glm, X)
    if norm == "rms":  # torch's has no bias
        keep = torch.arange(20).view(4, 5)[:, [0, 1, 2, 4]].flatten()
        dense = dense[keep][:, keep]
    assert relative(F.to_dense()[places][:, places], dense) <= ROUNDING


def _places(model: nn.Module) -> tuple[Tensor, ...]:
    sizes = [p.numel() for p in model.parameters()]
    return torch.arange(sum(sizes)).split(sizes)


def test_torchs_own_transformer_layer_has_one():
    layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.3, batch_first=True, norm_first=True)
    model = randomized(nn.Sequential(layer, nn.Flatten(), nn.Linear(18, 3)))
    X = draw(4, 3, 6)
    F = GGN(model, X, parameters=["0.linear2.weight", "0.norm1.bias"])
    assert F.parameters == ("0.linear2.weight", "0.norm1.bias")  # in the model's order
    torch.backends.mha.set_fastpath_enabled(False)  # brute force needs derivatives, too
    try:
        dense = whole(model, X, list(F.parameters))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    assert relative(F.to_dense(), dense) <= ROUNDING
    assert relative(F @ draw(F.shape[0]), dense @ draw(F.shape[0])) <= ROUNDING
    assert torch.backends.mha.get_fastpath_enabled()


def test_outputs_may_be_gaussian_with_a_variance():
    model, X = mlp(nn.LayerNorm)
    F = GGN(model, X, "gaussian", dispersion=2.5).to_dense()
    assert relative(2.5 * F, GGN(model, X, "gaussian").to_dense()) <= ROUNDING


def test_scipy_solves_with_it():
    model, X = mlp(nn.LayerNorm)
    F = GGN(model, X, parameters=["1.weight", "1.bias"])
    A, v = F.to_scipy(), draw(12).numpy()
    x, failed = cg(A, A @ v, rtol=1e-12, maxiter=1000)
    assert failed == 0
    assert_allclose(A @ x, A @ v, rtol=0, atol=1e-11)  # ten times what cg was asked for


# --- gain and bias -----------------------------------------------------------------------------------


@every_net
@every_eps
def test_the_block_of_gain_and_bias_is_that_of_the_definition(net, eps):
    model, X = NETS[net](eps)
    weights = draw(len(X), seed=9).abs()
    for norm in norms_of(model):
        names = [f"{norm}.{part}" for part, _ in model.get_submodule(norm).named_parameters()]
        F, dense = (
            norm_block(model, X, norm, weights=weights),
            whole(model, X, names, weights / weights.sum()),
        )
        assert F.shape == dense.shape
        assert relative(F.to_dense(), dense) <= ROUNDING
        assert relative(F @ draw(F.shape[0]), dense @ draw(F.shape[0])) <= ROUNDING


def test_several_axes_of_units_count_as_one():
    model = randomized(nn.Sequential(nn.LayerNorm((2, 3), eps=0.0), nn.Flatten(), nn.Linear(6, 3)))
    X = draw(5, 2, 3)
    assert relative(norm_block(model, X, "0").to_dense(), whole(model, X, ["0.weight", "0.bias"])) <= ROUNDING


# --- the layer in front ------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [lnlib.LayerNorm, nn.LayerNorm, nn.RMSNorm])
@every_eps
def test_the_block_in_front_of_a_norm_is_that_of_the_definition(kind, bias, eps):
    model, X = mlp(kind, eps)
    if not bias:
        model[3].bias = None
    names = [f"3.{part}" for part, _ in model[3].named_parameters()]
    weights = draw(len(X), seed=9).abs()
    found, dense = (
        linear_block(model, X, "3", "4", weights=weights),
        whole(model, X, names, weights / weights.sum()),
    )
    assert relative(found.exact.to_dense(), dense) <= ROUNDING


def over_positions(eps: float, kind: type[nn.Module] = nn.LayerNorm) -> tuple[nn.Module, Tensor]:
    body = [nn.Linear(4, 5), kind(5, eps=eps), nn.Tanh(), nn.Flatten(), nn.Linear(15, 3)]
    return randomized(nn.Sequential(*body)), draw(6, 3, 4, seed=2)


@every_eps
def test_several_positions_of_a_case_add_up_before_they_are_squared(eps):
    model, X = over_positions(eps)
    found = linear_block(model, X, "0", "1")
    assert relative(found.exact.to_dense(), whole(model, X, ["0.weight", "0.bias"])) <= ROUNDING


def kronecker(block, units: int, bias: bool = True) -> Tensor:
    """S (x) A with rows of weights, then biases."""
    dense, E = torch.kron(block.outputs, block.inputs), len(block.inputs)
    places = torch.arange(units * E).view(units, E)
    order = torch.cat([places[:, : E - bias].flatten(), places[:, E - bias :].flatten()])
    return dense[order][:, order]


def test_one_case_is_the_product_of_its_factors():
    model, X = mlp(nn.LayerNorm)
    found = linear_block(model, X[:1], "0", "1")
    assert relative(kronecker(found, 6), found.exact.to_dense()) <= ROUNDING


@pytest.mark.parametrize("bias", [True, False])
def test_the_kronecker_operator_is_that_of_its_factors(bias):
    model, X = over_positions(1e-2)
    if not bias:
        model[0].bias = None
    found = linear_block(model, X, "0", "1")
    assert relative(found.kronecker.to_dense(), kronecker(found, 5, bias)) <= ROUNDING
    # K-FAC-expand: positions count as cases in A, and add up in S; equal traces for one position
    x = torch.cat([X.flatten(0, 1), torch.ones(18, 1).double()], 1) if bias else X.flatten(0, 1)
    assert relative(found.inputs, x.mT @ x / 18) <= ROUNDING


def test_the_projected_factor_hides_the_common_vector_and_no_scale():
    model, X = mlp(nn.LayerNorm)
    found = linear_block(model, X, "0", "1")
    W = torch.cat([model[0].weight.flatten(), model[0].bias]).detach()
    size = float(found.outputs.diagonal().sum())
    assert float(found.outputs.sum(0).norm()) <= 1e-14 * size  # S 1 = 0: rounding of 6 terms
    assert float((found.exact @ W).norm()) <= 1e-13 * float(found.exact.to_dense().norm() * W.norm())
    assert float((found.kronecker @ W).norm()) >= 1e-2 * float((found.kronecker.to_dense()).norm() * W.norm())


def test_epsilon_leaves_the_scale_its_share_of_the_curvature():
    """P a-hat = eps / (var + eps) a-hat: the derivative along W is that of the norm's gains, times it."""
    model, X = mlp(nn.LayerNorm, eps=0.1)
    a = model[0](X).detach()
    share = 0.1 / (a.var(1, correction=0) + 0.1)
    W = torch.cat([model[0].weight.flatten(), model[0].bias]).detach()
    along = float(W @ (linear_block(model, X, "0", "1").exact @ W))
    z, slope = _moved_by(model, X, share)
    C = softmax_covariance(z)
    assert along == pytest.approx(float(torch.einsum("ni,nij,nj->", slope, C, slope)) / len(X), rel=1e-11)


def _moved_by(model: nn.Module, X: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """How predictions move with case n's standardized units growing at the rate share_n."""

    def at(t: Tensor) -> Tensor:
        y = model[1](model[0](X)) - model[1].bias
        return model[2:](y * (1 + t * share)[:, None] + model[1].bias)

    zero = torch.zeros((), dtype=torch.float64)
    return at(zero).detach(), torch.autograd.functional.jacobian(at, zero)


# --- what is refused ---------------------------------------------------------------------------------


@users_call
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m.insert(1, nn.BatchNorm1d(6).double()),
            r"BatchNorm1d '1' normalizes by .* model.eval\(\)",
        ),
        (
            lambda m: m.insert(1, nn.Dropout(0.5).train()),
            r"Dropout '1' drops units .*rate 0.5.*model.eval\(\)",
        ),
        (lambda m: m.append(nn.Unflatten(1, (3, 1))), r"output has shape \(7, 3, 1\); it must be \(N, K\)"),
        (lambda m: m[0].weight.data.fill_(torch.nan), r"\['0.weight'\] contain NaN or infinity"),
    ],
)
def test_networks_without_a_curvature_of_their_own_are_refused(change, message):
    model, X = mlp(nn.LayerNorm)
    change(model)
    with pytest.raises(ValueError, match=message):
        GGN(model, X)


@users_call
def test_mixed_types_and_wrong_names_are_refused():
    model, X = mlp(nn.LayerNorm)
    with pytest.raises(ValueError, match=r"\['0.gain'\] are none of the model's; it has 0.weight, 0"):
        GGN(model, X, parameters=["0.gain"])
    with pytest.raises(ValueError, match=r"X has shape \(0, 4\); give a tensor whose first axis is"):
        GGN(model, X[:0])
    with pytest.raises(ValueError, match="weights have shape"):
        GGN(model, X, weights=torch.ones(3).double())
    with pytest.raises(TypeError, match=r"give torch.float64 tensors, not torch.float32"):
        GGN(model, X) @ torch.ones(4)
    model[0].float()
    with pytest.raises(TypeError, match=r"torch.float32, torch.float64; the curvature needs one type"):
        GGN(model, X)


@users_call
def test_layers_without_a_closed_form_are_refused():
    model, X = mlp(nn.LayerNorm)
    with pytest.raises(ValueError, match=r"'0' is no layer, RMS or group norm of the model; it has 1, 4"):
        norm_block(model, X, "0")
    with pytest.raises(ValueError, match=r"'2' is no torch.nn.Linear of the model; name the one in"):
        linear_block(model, X, "2", "4")
    with pytest.raises(ValueError, match="the input of '4' is not the output of '0' itself"):
        linear_block(model, X, "0", "4")
    bare = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3, elementwise_affine=False)).double()
    with pytest.raises(ValueError, match="'1' has no gain and no bias, hence no block"):
        norm_block(bare, X, "1")
    convolved, image = groups()
    with pytest.raises(ValueError, match="'5' is a group norm; the closed form is that of layer and RMS"):
        linear_block(convolved, image, "4", "5")


@users_call
def test_layers_that_are_shared_or_bypassed_are_refused():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(self.linear(self.norm(x)))

    class Around(Twice):
        def forward(self, x: Tensor) -> Tensor:
            a = self.linear(x)
            return a + self.norm(a)

    X = draw(5, 4)
    twice, around = randomized(Twice()), randomized(Around())
    with pytest.raises(ValueError, match="'norm' is called 2 times in one pass"):
        norm_block(twice, X, "norm")
    with pytest.raises(ValueError, match="'linear' reaches the predictions past 'norm', too"):
        linear_block(around, X, "linear", "norm")
    for model in (twice, around):  # which the whole matrix takes
        assert relative(GGN(model, X).to_dense(), whole(model, X)) <= ROUNDING


class Recurrent(nn.Module):
    """The last state of a recurrent layer, read out."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


@users_call
def test_recurrent_layers_have_products_and_lnlibs_the_matrix_too():
    X = draw(3, 4, 4)
    theirs = randomized(Recurrent(nn.LSTM(4, 5, batch_first=True)))
    ours = randomized(Recurrent(lnlib.LSTM(4, 5, batch_first=True, norm="none")))
    ours.layer.load_torch(theirs.layer)
    ours.head.load_state_dict(theirs.head.state_dict())
    names = ["head.weight", "head.bias"]
    v = draw(18)
    assert relative(GGN(theirs, X, parameters=names) @ v, GGN(ours, X, parameters=names) @ v) <= ROUNDING
    assert relative(GGN(ours, X).to_dense(), whole(ours, X)) <= ROUNDING
    with pytest.raises(ValueError, match=r"torch.nn.LSTM 'layer' does not run under torch.vmap.*norm='none'"):
        GGN(theirs, X).to_dense()


def test_operators_say_what_they_are():
    model, X = mlp(nn.LayerNorm)
    assert repr(GGN(model, X)) == "GGN(Sequential, N=7, P=105)"
    assert repr(norm_block(model, X, "1")) == "Products(P=12, torch.float64)"
    assert isinstance(norm_block(model, X, "1"), Products)
