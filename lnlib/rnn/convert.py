r"""Weights from elsewhere: torch.nn's modules, and the authors' released layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lnlib.rnn.variants import VARIANTS

__all__ = ["load_released", "load_torch"]


def load_torch(self: Any, module: nn.RNNBase) -> None:
    """Copy every parameter of a torch.nn module; what only the norm has stays as it is.

    The gains of weight norm are the norms of the rows, and are copied as such: the function stays torch's.

    Args:
        module: a torch.nn.RNN, LSTM or GRU.

    Raises ValueError if the two differ in kind, size, layers, directions or biases; TypeError for no module.
    """
    if not isinstance(module, nn.RNNBase):
        raise TypeError(f"module is a {type(module).__name__}; give a torch.nn.RNN, LSTM or GRU")
    options = ("mode", "input_size", "hidden_size", "num_layers", "bias", "bidirectional", "proj_size")
    values = {name: (getattr(module, name), getattr(self, name)) for name in options}
    if different := {name: pair for name, pair in values.items() if pair[0] != pair[1]}:
        raise ValueError(f"the module and this layer differ in {different} (theirs, ours); build both alike")
    names = [name + suffix for suffix in self.suffixes for name in self.common]
    parameters = _plain_parameters(self, names)
    with torch.no_grad():
        for name in names:
            value = getattr(module, name)  # not from its state_dict: it may be pruned or parametrized
            parameters[name].copy_(value)
            if (
                self.config.norm == "weight"
                and name.startswith("weight")
                and not name.startswith("weight_hr")
            ):
                parameters[name.replace("weight", "gain")].copy_(value.norm(dim=1))


def load_released(self: Any, arrays: Mapping[str, Any] | str | Path) -> None:
    """Load one layer of the authors' released networks, names and layout as they published them.

    Row vectors times matrices there, `x @ W`; gates in the order i, f, o, g of an LSTM and r, u of a GRU,
    whose candidate has matrices of its own. A leading `param_` of a name and other arrays are ignored.

    Args:
        arrays: names to arrays, or a NumPy archive of them.

    Raises ValueError and loads nothing if an array is missing or of a wrong shape, or if this network is not
    a unidirectional LSTM or GRU of one layer with variant "released".
    """
    config, kind = self.config, self.config.kind
    needed = {"bias": True, "num_layers": 1, "bidirectional": False, "proj_size": 0}
    wrong = {name: getattr(self, name) for name, value in needed.items() if getattr(self, name) != value}
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
    parameters = _plain_parameters(self, [f"{name}_l0" for name in names])
    loaded: dict[str, Tensor] = {}
    for name, sources in names.items():
        rows, *columns = parameters[f"{name}_l0"].shape
        shares = [rows] if len(sources) == 1 else [2 * self.hidden_size, self.hidden_size]
        for source, share in zip(sources, shares, strict=True):
            if given[source].shape != (*columns, share):
                shape, needs = given[source].shape, (*columns, share)
                raise ValueError(
                    f"the array {source} has shape {shape}; this {kind} needs {needs} for its {name}"
                )
        loaded[name] = torch.cat([torch.as_tensor(given[source].T.copy()) for source in sources])
        if kind == "LSTM" and rows == 4 * self.hidden_size:  # from i, f, o, g to torch's i, f, g, o
            i, f, o, g = loaded[name].chunk(4)
            loaded[name] = torch.cat([i, f, g, o])
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


def _plain_parameters(network: nn.RNNBase, names: Iterable[str]) -> dict[str, Tensor]:
    """By name, shared ones under each; refused where computed from others: a copy would not stay in them."""
    parameters: dict[str, Tensor] = dict(network.named_parameters(remove_duplicate=False))
    if hidden := [name for name in names if name not in parameters]:
        raise ValueError(
            f"{hidden} of this layer are pruned or parametrized; make them plain parameters first"
        )
    return parameters
