r"""Networks of other libraries, from their weights: TensorFlow Addons', haste's, Keras'.

Their matrices multiply from the right, $x W$, and have the gates side by side as columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from lnlib.rnn.layers import GRU, LSTM

__all__ = ["from_addons", "from_haste", "from_keras"]

Kind = TypeVar("Kind", LSTM, GRU)
Weights = Mapping[str, Any] | Sequence[Any]
Shapes = Mapping[str, tuple[str, ...]]  # D inputs, H units


def from_addons(weights: Weights, *, epsilon: float = 1e-3, batch_first: bool = True) -> LSTM:
    r"""The LSTM of a `tfa.rnn.LayerNormLSTMCell`: outputs and states are the cell's in inference.

    $z = \mathrm{LN}(x W) + \mathrm{LN}(h U) + b$ in the order i, f, c, o, and
    $c' = \mathrm{LN}(\sigma(f)\, c + \sigma(i) \tanh(g))$, $h' = \sigma(o) \tanh(c')$: the normalized cell is
    what the next step starts from, our variant "normalized_state". $\epsilon$ is added to the variance.

    *Source* tensorflow_addons/rnn/layer_norm_lstm_cell.py.

    Args:
        weights: as `get_weights()` lists them, or by name: kernel (D, 4H), recurrent_kernel (H, 4H), bias
            (4H), which use_bias=False leaves out, kernel_norm.gamma, kernel_norm.beta, recurrent_norm.gamma,
            recurrent_norm.beta (4H each), state_norm.gamma, state_norm.beta (H each).
        epsilon: the cell's norm_epsilon.
        batch_first: whether the input is (N, T, D), Keras' layout.

    The cell has tanh and sigmoid as activations. What unit_forget_bias added at its start is in the bias.

    Raises ValueError for a missing, unknown or wrongly shaped array; TypeError if one is not floating point.

    >>> import numpy as np
    >>> shapes = (5, 16), (4, 16), 16, 16, 16, 16, 16, 4, 4  # 5 inputs, 4 units
    >>> from_addons([np.ones(shape, np.float32) for shape in shapes])
    LSTM(5, 4, batch_first=True, norm=layer, variant=normalized_state)
    """
    norms = {
        f"{norm}.{name}": (size,)
        for norm, size in (("kernel_norm", "4H"), ("recurrent_norm", "4H"), ("state_norm", "H"))
        for name in ("gamma", "beta")
    }
    p = _read("a LayerNormLSTMCell", weights, _matrices(4) | {"bias": ("4H",)} | norms, {"bias"})
    values = {
        "weight_ih": p["kernel"].T,
        "weight_hh": p["recurrent_kernel"].T,
        "gain_ih": p["kernel_norm.gamma"],
        "bias_ih": p["kernel_norm.beta"] + p.get("bias", 0.0),
        "gain_hh": p["recurrent_norm.gamma"],
        "bias_hh": p["recurrent_norm.beta"],
        "gain_cell": p["state_norm.gamma"],
        "bias_cell": p["state_norm.beta"],
    }
    return _filled(LSTM, values, batch_first=batch_first, variant="normalized_state", eps=epsilon)


def from_haste(weights: Weights, *, zoneout: float = 0.0, batch_first: bool = False) -> LSTM | GRU:
    r"""The LSTM or GRU of haste's `LayerNormLSTM` or `LayerNormGRU`: outputs and states as in inference.

    The LSTM is the paper's, its gates in the order i, g, f, o, without a bias in the state's normalization:
    our variant "paper". The GRU normalizes all three gates, in the order z, r, g, together: "all_gates".

    *Source* haste's frameworks/pytorch/layer_norm_lstm.py and layer_norm_gru.py; $\epsilon = 10^{-5}$ is
    added to the variance.

    Args:
        weights: by name, as `state_dict()` has them, or in that order. An LSTM's: kernel (D, 4H),
            recurrent_kernel (H, 4H), bias (4H), gamma (2, 4H), gamma_h (H), beta_h (H); a GRU's: kernel
            (D, 3H), recurrent_kernel (H, 3H), bias (3H), recurrent_bias (3H), gamma (2, 3H).
        zoneout: the layer's own: of h, never of the cell.
        batch_first: the layer's own.

    Raises ValueError for a missing, unknown or wrongly shaped array; TypeError if one is not floating point.

    >>> shapes = (5, 12), (4, 12), (12,), (12,), (2, 12)  # 5 inputs, 4 units
    >>> from_haste([torch.ones(shape) for shape in shapes])
    GRU(5, 4, norm=layer, variant=all_gates)
    """
    gated = "gamma_h" in weights if isinstance(weights, Mapping) else len(weights) == 6
    names: Shapes = (
        _matrices(4) | {"bias": ("4H",), "gamma": ("2", "4H"), "gamma_h": ("H",), "beta_h": ("H",)}
        if gated
        else _matrices(3) | {"bias": ("3H",), "recurrent_bias": ("3H",), "gamma": ("2", "3H")}
    )
    p = _read("a LayerNormLSTM" if gated else "a LayerNormGRU", weights, names)
    values = {
        "weight_ih": p["kernel"].T,
        "weight_hh": p["recurrent_kernel"].T,
        "gain_ih": p["gamma"][0],
        "gain_hh": p["gamma"][1],
        "bias_ih": p["bias"],
        "bias_hh": torch.zeros_like(p["bias"]) if gated else p["recurrent_bias"],
    }
    values = {name: _ordered(value, (0, 2, 1, 3) if gated else (1, 0, 2)) for name, value in values.items()}
    options: dict[str, Any] = {"batch_first": batch_first, "eps": 1e-5}
    if zoneout:
        options["zoneout"] = (zoneout, 0.0)
    if not gated:
        return _filled(GRU, values, variant="all_gates", **options)
    return _filled(LSTM, values | {"gain_cell": p["gamma_h"], "bias_cell": p["beta_h"]}, **options)


def from_keras(weights: Weights, *, batch_first: bool = True) -> LSTM | GRU:
    r"""The LSTM or GRU of a `keras.layers.LSTM` or `GRU`, or their cells: norm "none": Keras has no other.

    The LSTM's gates are in the order i, f, c, o; the GRU's in the order z, r, h, its reset gate after the
    product as in torch (reset_after=True, Keras' default).

    *Source* keras/layers/rnn/lstm.py and gru.py.

    Args:
        weights: as `get_weights()` lists them, or by name: kernel (D, 4H), recurrent_kernel (H, 4H) and bias
            (4H), which use_bias=False leaves out; of a GRU (D, 3H), (H, 3H) and (2, 3H).
        batch_first: whether the input is (N, T, D), Keras' layout.

    The layer has tanh and sigmoid as activations; the hard sigmoid of Keras 1 is another function.

    Raises ValueError for a missing, unknown or wrongly shaped array, and for a GRU with reset_after=False, or
    without biases, which would say so; TypeError if an array is not floating point.

    >>> import numpy as np
    >>> from_keras([np.ones((5, 16)), np.ones((4, 16)), np.ones(16)])
    LSTM(5, 4, batch_first=True, norm=none)
    """
    options: dict[str, Any] = {"norm": "none", "batch_first": batch_first}
    if not _looks_like_a_gru(weights):
        p = _read("a Keras LSTM", weights, _matrices(4) | {"bias": ("4H",)}, {"bias"})
        values = {"weight_ih": p["kernel"].T, "weight_hh": p["recurrent_kernel"].T}
        if "bias" in p:
            values |= {"bias_ih": p["bias"], "bias_hh": torch.zeros_like(p["bias"])}
        return _filled(LSTM, values, **options)
    p = _read("a Keras GRU with reset_after=True", weights, _matrices(3) | {"bias": ("2", "3H")}, {"bias"})
    if "bias" not in p:
        raise ValueError(
            "a Keras GRU without biases does not say whether its reset gate acts before or after the "
            "product, and only after it is torch's; if reset_after=True, add a bias of zeros, (2, 3H)"
        )
    values = {"weight_ih": p["kernel"].T, "weight_hh": p["recurrent_kernel"].T}
    values |= {"bias_ih": p["bias"][0], "bias_hh": p["bias"][1]}
    return _filled(GRU, {name: _ordered(value, (1, 0, 2)) for name, value in values.items()}, **options)


def _looks_like_a_gru(weights: Weights) -> bool:
    """Whether there are three columns of the recurrent kernel a row."""
    if isinstance(weights, Mapping):
        kernel = weights.get("recurrent_kernel", ())
    else:
        kernel = weights[1] if len(weights) > 1 else ()
    shape = np.shape(kernel)
    return len(shape) == 2 and shape[1] == 3 * shape[0]


def _matrices(gates: int) -> dict[str, tuple[str, ...]]:
    return {"kernel": ("D", f"{gates}H"), "recurrent_kernel": ("H", f"{gates}H")}


def _read(source: str, weights: Weights, shapes: Shapes, optional: Iterable[str] = ()) -> dict[str, Tensor]:
    """The arrays by name as tensors of one dtype, those of the optional names that are there."""
    if not isinstance(weights, Mapping):
        names = [name for name in shapes if len(weights) == len(shapes) or name not in optional]
        if len(weights) != len(names):
            raise ValueError(f"{source} has the arrays {', '.join(shapes)}, and there are {len(weights)}")
        weights = dict(zip(names, weights, strict=True))
    missing, unknown = (set(shapes) - set(optional)) - set(weights), set(weights) - set(shapes)
    if missing or unknown:
        raise ValueError(
            f"{source} has the arrays {', '.join(shapes)}: "
            f"missing {sorted(missing)}, unknown {sorted(unknown)}"
        )
    found = {name: _tensor(source, name, weights[name]) for name in shapes if name in weights}
    inputs, units = (found[name].shape[:1].numel() for name in ("kernel", "recurrent_kernel"))
    sizes = {"D": inputs, "H": units, "2": 2, "3H": 3 * units, "4H": 4 * units}
    for name, value in found.items():
        needs = tuple(sizes[letter] for letter in shapes[name])
        if value.shape != needs:
            raise ValueError(
                f"the array {name} has shape {tuple(value.shape)}; {source} of {inputs} inputs and {units} "
                f"units (the rows of kernel and recurrent_kernel) has {needs}: ({', '.join(shapes[name])})"
            )
    dtype = reduce(torch.promote_types, (value.dtype for value in found.values()))
    return {name: value.to(dtype) for name, value in found.items()}


def _tensor(source: str, name: str, value: Any) -> Tensor:
    tensor = value if isinstance(value, Tensor) else torch.tensor(np.asarray(value))
    if not tensor.is_floating_point():
        raise TypeError(f"the array {name} is {tensor.dtype}; {source} has floating-point numbers")
    return tensor


def _ordered(value: Tensor, order: Sequence[int]) -> Tensor:
    """Blocks of rows in another order: ours[k] = theirs[order[k]]."""
    blocks = value.chunk(len(order))
    return torch.cat([blocks[k] for k in order])


def _filled(kind: type[Kind], values: Mapping[str, Tensor], **options: Any) -> Kind:
    """A network of one layer that holds these values, by its parameters' names without suffix."""
    w, u = values["weight_ih"], values["weight_hh"]
    options |= {"dtype": w.dtype, "device": w.device, "bias": "bias_ih" in values}
    network = kind(w.shape[1], u.shape[1], **options)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(values[name.removesuffix("_l0")])
    return network
