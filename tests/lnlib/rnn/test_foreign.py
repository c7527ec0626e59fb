"""Weights of other libraries, against their cells' published equations in NumPy; none of them is needed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from lnlib.rnn import from_addons, from_haste, from_keras

D, H, T, N = 3, 5, 25, 2
Arrays = dict[str, np.ndarray]
# A step rounds some hundred times by 1e-16 of numbers of size 1 to 10, and a normalized state divides by a
# standard deviation of 0.1 or more: 25 steps stay below 1e-10, and a wrong gate or epsilon is off by 1e-3.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


# --- their cells, as the sources have them: rows times matrices ----------------------------------


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def layer_normalization(a: np.ndarray, gamma: Any, beta: Any, epsilon: float) -> np.ndarray:
    mean, variance = a.mean(-1, keepdims=True), a.var(-1, keepdims=True)
    return (a - mean) / np.sqrt(variance + epsilon) * gamma + beta


def addons(
    w: Arrays, x: np.ndarray, h: np.ndarray, c: np.ndarray, epsilon: float = 1e-3
) -> tuple[np.ndarray, ...]:
    """LayerNormLSTMCell.call, and Keras' _compute_carry_and_output_fused."""
    hs = []
    for inputs in x:
        z = layer_normalization(inputs @ w["kernel"], w["kernel_norm.gamma"], w["kernel_norm.beta"], epsilon)
        z = z + layer_normalization(
            h @ w["recurrent_kernel"], w["recurrent_norm.gamma"], w["recurrent_norm.beta"], epsilon
        )
        if "bias" in w:
            z = z + w["bias"]
        z0, z1, z2, z3 = np.split(z, 4, axis=1)
        i, f = sigmoid(z0), sigmoid(z1)
        c = f * c + i * np.tanh(z2)
        o = sigmoid(z3)
        c = layer_normalization(c, w["state_norm.gamma"], w["state_norm.beta"], epsilon)
        h = o * np.tanh(c)
        hs.append(h)
    return np.stack(hs), h, c


def haste_lstm(
    w: Arrays, x: np.ndarray, h: np.ndarray, c: np.ndarray, zoneout: float = 0.0
) -> tuple[np.ndarray, ...]:
    """LayerNormLSTMScript, not training."""
    hs = []
    for inputs in x:
        wx = layer_normalization(inputs @ w["kernel"], w["gamma"][0], 0, 1e-5)
        v = layer_normalization(h @ w["recurrent_kernel"], w["gamma"][1], 0, 1e-5) + wx + w["bias"]
        i, g, f, o = np.split(v, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        new = sigmoid(o) * np.tanh(layer_normalization(c, w["gamma_h"], w["beta_h"], 1e-5))
        h = zoneout * h + (1 - zoneout) * new
        hs.append(h)
    return np.stack(hs), h, c


def haste_gru(w: Arrays, x: np.ndarray, h: np.ndarray, zoneout: float = 0.0) -> tuple[np.ndarray, ...]:
    """LayerNormGRUScript, not training."""
    hs = []
    for inputs in x:
        wx = layer_normalization(inputs @ w["kernel"], w["gamma"][0], w["bias"], 1e-5)
        rh = layer_normalization(h @ w["recurrent_kernel"], w["gamma"][1], w["recurrent_bias"], 1e-5)
        vx, vh = np.split(wx, 3, axis=1), np.split(rh, 3, axis=1)
        z, r = sigmoid(vx[0] + vh[0]), sigmoid(vx[1] + vh[1])
        g = np.tanh(vx[2] + r * vh[2])
        h = zoneout * h + (1 - zoneout) * (z * h + (1 - z) * g)
        hs.append(h)
    return np.stack(hs), h


def keras_lstm(w: Arrays, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """LSTMCell.call, implementation 2."""
    hs = []
    for inputs in x:
        z = inputs @ w["kernel"] + h @ w["recurrent_kernel"] + w.get("bias", 0)
        z0, z1, z2, z3 = np.split(z, 4, axis=1)
        c = sigmoid(z1) * c + sigmoid(z0) * np.tanh(z2)
        h = sigmoid(z3) * np.tanh(c)
        hs.append(h)
    return np.stack(hs), h, c


def keras_gru(w: Arrays, x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
    """GRUCell.call, implementation 2, reset_after=True."""
    hs = []
    for inputs in x:
        x_z, x_r, x_h = np.split(inputs @ w["kernel"] + w["bias"][0], 3, axis=1)
        recurrent_z, recurrent_r, recurrent_h = np.split(h @ w["recurrent_kernel"] + w["bias"][1], 3, axis=1)
        z, r = sigmoid(x_z + recurrent_z), sigmoid(x_r + recurrent_r)
        h = z * h + (1 - z) * np.tanh(x_h + r * recurrent_h)
        hs.append(h)
    return np.stack(hs), h


# --- what they compute is what is loaded ---------------------------------------------------------


def arrays(**shapes: tuple[int, ...]) -> Arrays:
    """Random ones; a double underscore of a name stands for a dot."""
    draw = np.random.default_rng(0)
    return {
        name.replace("__", "."): 0.6 * draw.standard_normal(shape) + name.startswith("gamma")
        for name, shape in shapes.items()
    }


def matrices(gates: int) -> dict[str, tuple[int, ...]]:
    return {"kernel": (D, gates * H), "recurrent_kernel": (H, gates * H)}


ADDONS = arrays(
    **matrices(4),
    bias=(4 * H,),
    kernel_norm__gamma=(4 * H,),
    kernel_norm__beta=(4 * H,),
    recurrent_norm__gamma=(4 * H,),
    recurrent_norm__beta=(4 * H,),
    state_norm__gamma=(H,),
    state_norm__beta=(H,),
)
HASTE_LSTM = arrays(**matrices(4), bias=(4 * H,), gamma=(2, 4 * H), gamma_h=(H,), beta_h=(H,))
HASTE_GRU = arrays(**matrices(3), bias=(3 * H,), recurrent_bias=(3 * H,), gamma=(2, 3 * H))
KERAS_LSTM = arrays(**matrices(4), bias=(4 * H,))
KERAS_GRU = arrays(**matrices(3), bias=(2, 3 * H))
Case = tuple[Callable[..., Any], Callable[..., Any], Arrays]
CASES: dict[str, Case] = {
    "addons": (from_addons, addons, ADDONS),
    "addons, another epsilon": (
        partial(from_addons, epsilon=0.25),
        partial(addons, epsilon=0.25),
        ADDONS,
    ),
    "addons, no bias": (from_addons, addons, {k: v for k, v in ADDONS.items() if k != "bias"}),
    "haste LSTM": (from_haste, haste_lstm, HASTE_LSTM),
    "haste GRU": (from_haste, haste_gru, HASTE_GRU),
    "haste LSTM, zoneout": (partial(from_haste, zoneout=0.2), partial(haste_lstm, zoneout=0.2), HASTE_LSTM),
    "haste GRU, zoneout": (partial(from_haste, zoneout=0.2), partial(haste_gru, zoneout=0.2), HASTE_GRU),
    "Keras LSTM": (from_keras, keras_lstm, KERAS_LSTM),
    "Keras LSTM, no bias": (from_keras, keras_lstm, {k: v for k, v in KERAS_LSTM.items() if k != "bias"}),
    "Keras GRU": (from_keras, keras_gru, KERAS_GRU),
}
every_case = pytest.mark.parametrize(("load", "cell", "w"), CASES.values(), ids=CASES)


@every_case
@pytest.mark.parametrize("listed", [False, True], ids=["by name", "in order"])
def test_outputs_and_states_are_the_cells(load: Any, cell: Any, w: Arrays, listed: bool) -> None:
    network = load(list(w.values()) if listed else w, batch_first=False).eval()
    draw = np.random.default_rng(1)
    x = draw.standard_normal((T, N, D))
    state = [draw.standard_normal((N, H)) for _ in range(2 if network.mode == "LSTM" else 1)]
    expected = cell(w, x, *state)
    hx = tuple(torch.tensor(s).unsqueeze(0) for s in state)
    with torch.no_grad():
        output, final = network(torch.tensor(x), hx if len(hx) > 1 else hx[0])
    found = [output, *(s[0] for s in (final if len(hx) > 1 else (final,)))]
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a.numpy(), b, **CLOSE)


@every_case
def test_loading_keeps_dtype_and_arrays_and_owns_what_it_holds(load: Any, cell: Any, w: Arrays) -> None:
    single = {name: value.astype(np.float32) for name, value in w.items()}
    before = {name: value.copy() for name, value in single.items()}
    network = load(single)
    assert {p.dtype for p in network.parameters()} == {torch.float32}
    assert {p.dtype for p in load({**single, "kernel": w["kernel"]}).parameters()} == {torch.float64}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert all((single[name] == before[name]).all() for name in before)


def test_keras_layers_take_batches_first_and_hastes_time() -> None:
    assert from_addons(ADDONS).batch_first
    assert from_keras(KERAS_GRU).batch_first
    assert not from_haste(HASTE_GRU).batch_first


def test_a_state_dict_of_tensors_that_train_is_taken_without_its_graph() -> None:
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in HASTE_GRU.items()}
    found, expected = from_haste(tensors), from_haste(HASTE_GRU)
    assert all(torch.equal(a, b) for a, b in zip(found.parameters(), expected.parameters(), strict=True))
    assert all(p.is_leaf for p in found.parameters())


# --- what is refused -----------------------------------------------------------------------------


@every_case
def test_every_wrong_shape_is_named_with_the_one_needed(load: Any, cell: Any, w: Arrays) -> None:
    for name, value in w.items():
        for wrong in (value[..., :-1], value[..., None], np.zeros(())):
            with pytest.raises(ValueError, match=r"the array [\w.]+ has shape \(.*\); a .* has \("):
                load({**w, name: wrong})


@every_case
def test_a_missing_and_an_unknown_array_are_named(load: Any, cell: Any, w: Arrays) -> None:
    lacking = {name: value for name, value in w.items() if name != "recurrent_kernel"}
    with pytest.raises(ValueError, match=r"missing \['recurrent_kernel'\], unknown \['recurent_kernel'\]"):
        load({**lacking, "recurent_kernel": w["recurrent_kernel"]})
    with pytest.raises(ValueError, match=r"has the arrays kernel, recurrent_kernel, .*, and there are 10"):
        load([np.ones(4)] * 10)
    with pytest.raises(ValueError, match="there are 0"):
        load([])


@every_case
def test_integers_are_not_weights(load: Any, cell: Any, w: Arrays) -> None:
    with pytest.raises(TypeError, match=r"the array kernel is torch\.int64; .* floating-point"):
        load({**w, "kernel": np.ones_like(w["kernel"], dtype=np.int64)})


def test_a_keras_gru_whose_reset_gate_may_act_before_the_product_is_refused() -> None:
    with pytest.raises(ValueError, match=r"reset_after=True .* has \(2, 15\)"):
        from_keras({**KERAS_GRU, "bias": KERAS_GRU["bias"][0]})
    with pytest.raises(ValueError, match=r"without biases does not say .* add a bias of zeros"):
        from_keras([KERAS_GRU["kernel"], KERAS_GRU["recurrent_kernel"]])


def test_an_epsilon_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="eps is -1"):
        from_addons(ADDONS, epsilon=-1)
