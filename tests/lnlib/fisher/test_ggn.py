"""The curvature of networks, whole and by blocks, against brute force, and the networks that have none."""

import pytest
import torch
from glms import draw, relative
from nets import NETS, brute_force, mlp, randomized, softmax_covariance
from torch import Tensor, nn
from torch.nn.functional import dropout

import lnlib
from lnlib import GLM
from lnlib.fisher import GGN, fisher, ggn, linearization

ROUNDING = 1e-12  # relative: sums of some hundred products, through a few layers
users_call = pytest.mark.usefixtures("as_users_call")


def whole(model: nn.Module, X: Tensor, names: list[str] | None = None) -> Tensor:
    names = names or [name for name, _ in model.named_parameters()]
    share = torch.full((len(X),), 1 / len(X), dtype=torch.float64)
    return brute_force(model, X, softmax_covariance(model(X)), share, names)


@pytest.mark.parametrize("net", NETS)
def test_products_factor_and_matrix_are_those_of_the_definition(net, monkeypatch):
    model, X = NETS[net](1e-2)
    F, dense = GGN(model, X), whole(model, X)
    V = draw(F.shape[0], 3, seed=1)
    assert F.shape == dense.shape
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert relative(F @ V[:, 0], dense @ V[:, 0]) <= ROUNDING
    assert relative(F.to_dense(), dense) <= ROUNDING
    B = torch.cat(list(F.factor()))
    assert relative(B.mT @ B, dense) <= ROUNDING
    monkeypatch.setattr(ggn, "COLUMNS", 2)  # at a time
    monkeypatch.setattr(linearization, "CHUNK_NUMBERS", 1)
    assert relative(F @ V, dense @ V) <= ROUNDING
    assert relative(F.to_dense(), dense) <= ROUNDING


def test_weights_of_any_layout_in_memory_and_none_at_all() -> None:
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten()).double().to(memory_format=torch.channels_last)
    X = draw(4, 2, 2, 2)
    F = GGN(model, X)
    assert relative(F.to_dense(), whole(model, X)) <= ROUNDING
    with pytest.raises(TypeError, match=r"give torch\.float64 tensors"):
        F.matmat(torch.ones(F.shape[0], 1))
    assert GGN(model, X, parameters=[]).shape == (0, 0)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_a_network_that_is_a_glm_has_the_glms_matrix(family):
    """Two independent derivations: one closed form, one automatic."""
    X, W, g, b = (draw(*s, seed=k) / 2 for k, s in enumerate([(8, 3), (4, 3), (4,), (4,)]))
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.LayerNorm(4, eps=0.0)).double()
    model[0].weight.data, model[1].weight.data, model[1].bias.data = W, g, b
    F = GGN(model, X, family)
    sizes = [p.numel() for p in model.parameters()]
    weight, gain, bias = torch.arange(sum(sizes)).split(sizes)
    places = torch.cat([weight.view(4, 3), bias[:, None], gain[:, None]], 1).flatten()
    dense = fisher(GLM(family, W, b, norm="layer", gain=g), X)
    assert relative(F.to_dense()[places][:, places], dense) <= ROUNDING


def test_a_block_of_torchs_own_transformer_layer_is_that_of_the_definition():
    layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.3, batch_first=True, norm_first=True)
    model = randomized(nn.Sequential(layer, nn.Flatten(), nn.Linear(18, 3)))
    X = draw(4, 3, 6)
    F = GGN(model, X, parameters=["0.linear2.weight", "0.norm1.bias"])
    assert list(F.values) == ["0.linear2.weight", "0.norm1.bias"]  # in the model's order
    torch.backends.mha.set_fastpath_enabled(False)  # brute force needs derivatives, too
    try:
        dense = whole(model, X, list(F.values))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    assert relative(F.to_dense(), dense) <= ROUNDING
    assert relative(F @ draw(F.shape[0]), dense @ draw(F.shape[0])) <= ROUNDING
    assert torch.backends.mha.get_fastpath_enabled()


class Recurrent(nn.Module):
    """The last state of a recurrent layer, read out."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


def recurrent(**options) -> nn.Module:
    return Recurrent(lnlib.LSTM(4, 5, batch_first=True, **options))


def test_recurrent_layers_have_products_and_lnlibs_the_matrix_too():
    X = draw(3, 4, 4)
    theirs = randomized(Recurrent(nn.LSTM(4, 5, batch_first=True)))
    ours = randomized(recurrent(norm="none"))
    ours.layer.load_torch(theirs.layer)
    ours.head.load_state_dict(theirs.head.state_dict())
    names, v = ["head.weight", "head.bias"], draw(18)
    assert relative(GGN(theirs, X, parameters=names) @ v, GGN(ours, X, parameters=names) @ v) <= ROUNDING
    assert relative(GGN(ours, X).to_dense(), whole(ours, X)) <= ROUNDING
    with pytest.raises(ValueError, match=r"\['layer'\] do not run under torch.vmap; give the model lnlib's"):
        GGN(theirs, X, parameters=names).to_dense()


class Dropping(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return dropout(super().forward(x), 0.5)  # in training mode whatever the module's


def hooked() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 3))
    model[0].register_full_backward_hook(lambda *_: None)
    return model


UNSUITABLE = {
    "a backward hook": (hooked(), r"takes no backward hooks, which \['0'\] have"),
    "batch norm": (nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), "coupled; call model.eval()"),
    "batch norm without statistics": (
        nn.Sequential(nn.BatchNorm1d(4, track_running_stats=False)).eval(),
        r"\['0'\] or .* coupled",
    ),
    "recurrent batch norm": (recurrent(norm="batch", max_steps=4), r"changes \['layer.running_mean"),
    "dropout": (nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)), "draws at random"),
    "dropout as a function": (Dropping(nn.Linear(4, 3)), "draws at random"),
    "zoneout": (recurrent(zoneout=0.5), "draws at random"),
    "recurrent dropout": (recurrent(recurrent_dropout=0.5), "draws at random"),
    "two axes": (nn.Sequential(nn.Linear(4, 6), nn.Unflatten(-1, (2, 3))), r"must be \(N, K\) with N = 3"),
}


@users_call
@pytest.mark.parametrize("what", UNSUITABLE)
def test_networks_without_a_curvature_of_their_own_are_refused_and_left_as_they_are(what):
    model, message = UNSUITABLE[what]
    model = model.double()
    X = draw(3, 4, 4) if isinstance(model, Recurrent) else draw(3, 4)
    before, states = torch.get_rng_state(), {k: t.clone() for k, t in model.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        GGN(model, X)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(t, states[k]) for k, t in model.state_dict().items())


@users_call
def test_mixed_types_and_wrong_names_are_refused():
    model, X = mlp(nn.LayerNorm)
    with pytest.raises(ValueError, match=r"\['0.gain'\] are none of the model's; it has 0.weight, 0"):
        GGN(model, X, parameters=["0.gain"])
    model[0].weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"\['0.weight'\] contain NaN or infinity"):
        GGN(model, X)
    model[0].float()
    with pytest.raises(TypeError, match=r"torch.float32, torch.float64; the curvature needs one type"):
        GGN(model, X)
