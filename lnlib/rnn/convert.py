r"""Weights from elsewhere: torch.nn's modules, and the authors' released layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lnlib.rnn.config import Config
from lnlib.rnn.variants import VARIANTS

__all__ = ["load_released", "load_torch"]


def load_torch(ours: nn.RNNBase, names: Sequence[str], weight_norm: bool, module: nn.RNNBase) -> None:
    """Copy every parameter of a torch.nn module; what only the norm has stays as it is.

    The gains of weight norm are the norms of the rows, and are copied as such: the function stays torch's.

    Args:
        ours: the network to load into.
        names: of the parameters that both have.
        weight_norm: whether ours has it.
        module: a torch.nn.RNN, LSTM or GRU.

    Raises ValueError if the two differ in kind, size, layers, directions or biases; TypeError for no module.
    """
    if not isinstance(module, nn.RNNBase):
        raise TypeError(f"module is a {type(module).__name__}; give a torch.nn.RNN, LSTM or GRU")
    options = ("mode", "input_size", "hidden_size", "num_layers", "bias", "bidirectional", "proj_size")
    values = {name: (getattr(module, name), getattr(ours, name)) for name in options}
    if different := {name: pair for name, pair in values.items() if pair[0] != pair[1]}:
        raise ValueError(f"the module and this layer differ in {different} (theirs, ours); build both alike")
    parameters = _plain_parameters(ours, names)
    with torch.no_grad():
        for name in names:
            value = getattr(module, name)  # not from its state_dict: it may be pruned or parametrized
            parameters[name].copy_(value)
            if weight_norm and name.startswith("weight") and not name.startswith("weight_hr"):
                parameters[name.replace("weight", "gain")].copy_(value.norm(dim=1))


def load_released(ours: nn.RNNBase, config: Config, arrays: Mapping[str, Any] | str | Path) -> None:
    """Load one layer of the authors' released networks, names and layout as they published them.

    Row vectors times matrices there, `x @ W`; gates in the order i, f, o, g of an LSTM and r, u of a GRU,
    whose candidate has matrices of its own. A leading "param_" of a name and other arrays are ignored.

    Args:
        ours, config: a unidirectional LSTM or GRU of one layer with variant "released".
        arrays: names to arrays, or a NumPy archive of them.

    Raises ValueError and loads nothing if the layer is another, or an array is missing or of a wrong shape.
    """
    kind = config.kind
    needed = {"bias": True, "num_layers": 1, "bidirectional": False, "proj_size": 0}
    wrong = {name: getattr(ours, name) for name, value in needed.items() if getattr(ours, name) != value}
    if config.norm != "layer":
        wrong["norm"] = config.norm
    if config.row != VARIANTS[kind].get("released"):
        wrong["variant"] = config.variant
    if wrong:
        raise ValueError(
            f"an {kind} of {wrong} cannot hold released weights; build it with variant='released', "
            f"norm='layer', biases, one layer, one direction, no projection"
        )
    if isinstance(arrays, (str, Path)):
        with np.load(arrays, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    given = {name.removeprefix("param_"): np.asarray(value) for name, value in arrays.items()}
    names = LSTM_NAMES if kind == "LSTM" else GRU_NAMES
    if missing := sorted({n for sources in names.values() for n in sources} - set(given)):
        raise ValueError(f"the released {kind} lacks the arrays {missing}; there are {sorted(given)}")
    parameters = _plain_parameters(ours, [f"{name}_l0" for name in names])
    loaded: dict[str, Tensor] = {}
    for name, sources in names.items():
        rows, *columns = parameters[f"{name}_l0"].shape
        shares = [rows] if len(sources) == 1 else [2 * ours.hidden_size, ours.hidden_size]
        for source, share in zip(sources, shares, strict=True):
            if given[source].shape != (*columns, share):
                shape, needs = given[source].shape, (*columns, share)
                raise ValueError(
                    f"the array {source} has shape {shape}; this {kind} needs {needs} for its {name}"
                )
        loaded[name] = torch.cat(
            [_rows(given[source], 4 * ours.hidden_size if kind == "LSTM" else 0) for source in sources]
        )
    if kind == "LSTM":  # the bias acts inside the normalization of the input and again outside
        loaded["bias_ih"] = loaded["bias_ih"] + loaded["bias_inner"]
    with torch.no_grad():
        for name, value in loaded.items():
            parameters[f"{name}_l0"].copy_(value)


LSTM_NAMES = {
    "weight_ih": ("W",),
    "weight_hh": ("U",),
    "bias_inner": ("b",),
    "gain_ih": ("s1",),
    "bias_ih": ("b1",),
    "gain_hh": ("s2",),
    "bias_hh": ("b2",),
    "gain_cell": ("s3",),
    "bias_cell": ("b3",),
}
GRU_NAMES = {
    "weight_ih": ("W", "Wx"),
    "weight_hh": ("U", "Ux"),
    "bias_inner": ("b", "bx"),
    "gain_ih": ("s1", "s2"),
    "bias_ih": ("b1", "b2"),
    "gain_hh": ("s3", "s4"),
    "bias_hh": ("b3", "b4"),
}


def _plain_parameters(ours: nn.RNNBase, names: Iterable[str]) -> dict[str, Tensor]:
    """Parameters by name, those that two layers share under both.

    Refused where they are computed from others, so that what is copied into them would not stay.
    """
    parameters: dict[str, Tensor] = dict(ours.named_parameters(remove_duplicate=False))
    if hidden := [name for name in names if name not in parameters]:
        raise ValueError(
            f"{hidden} of this layer are pruned or parametrized; make them plain parameters first"
        )
    return parameters


def _rows(array: np.ndarray, gates: int) -> Tensor:
    """Columns to rows, and so many of an LSTM's gates from i, f, o, g to torch's i, f, g, o."""
    value = torch.as_tensor(array.T.copy())
    if len(value) == gates:
        i, f, o, g = value.chunk(4)
        return torch.cat([i, f, g, o])
    return value
