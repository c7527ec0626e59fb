"""The authors' published layers: arrays that they computed, and what loading them refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paths import WAYS, Way
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

import lnlib

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("released_*.npz"))
LSTM, GRU = (next(p for p in GOLDEN if p.stem == f"released_ln{k}_7x3x5x4") for k in ("lstm", "gru"))
every_archive = pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def layer_for(arrays: dict[str, np.ndarray], **options: Any) -> Any:
    """An untrained layer of their sizes."""
    options = {"variant": "released", "dtype": torch.float64} | options
    if "param_Wx" in arrays:
        return lnlib.GRU(arrays["x"].shape[-1], arrays["param_Wx"].shape[1], **options)
    return lnlib.LSTM(arrays["x"].shape[-1], arrays["param_U"].shape[0], **options)


def packed(arrays: dict[str, np.ndarray], dtype: torch.dtype = torch.float64) -> PackedSequence:
    """The sequences without their padding, of which the mask knows."""
    lengths = torch.tensor(arrays["mask"]).sum(0).long()
    return pack_padded_sequence(torch.tensor(arrays["x"]).to(dtype), lengths)


def held(output: Tensor, mask: Tensor) -> Tensor:
    """Padded outputs, with each sequence's last one in place of what follows it."""
    last = mask.sum(0).long() - 1
    return torch.where(mask.bool().unsqueeze(2), output, output[last, torch.arange(len(last))])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@every_archive
def test_every_hidden_state_is_the_authors(path: Path, way: Way) -> None:
    arrays = arrays_of(path)
    layer = layer_for(arrays, dtype=way.dtype)
    layer.load_released(path)
    mask, expected = torch.tensor(arrays["mask"]), torch.tensor(arrays["out_h"]).to(way.dtype)
    with way.path():
        output, state = layer(packed(arrays, way.dtype))
    final = state if layer.mode == "GRU" else state[0]
    assert_close(held(pad_packed_sequence(output)[0], mask), expected, **way.close)
    assert_close(final[0], expected[-1], **way.close)
    if layer.mode == "LSTM":
        assert_close(state[1][0], torch.tensor(arrays["out_c"])[-1].to(way.dtype), **way.close)


def test_an_archive_in_text_and_a_dict_of_tensors_without_prefixes_load_alike() -> None:
    arrays = arrays_of(LSTM)
    tensors = {name.removeprefix("param_"): torch.tensor(value) for name, value in arrays.items()}
    layers = [layer_for(arrays) for _ in range(2)]
    for layer, given in zip(layers, (str(LSTM), tensors), strict=True):
        layer.load_released(given)
    assert_close(dict(layers[0].named_parameters()), dict(layers[1].named_parameters()), rtol=0, atol=0)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("options", [{"variant": "paper"}, {"norm": "rms"}, {"num_layers": 2}], ids=str)
def test_only_one_released_layer_takes_released_weights(options: dict[str, Any]) -> None:
    layer = layer_for(arrays_of(LSTM), **options)
    with pytest.raises(ValueError, match="cannot hold released weights; build it with variant='released'"):
        layer.load_released(LSTM)


@pytest.mark.parametrize(
    ("path", "name", "words"),
    [
        (LSTM, "b3", r"array b3 has shape \(3,\); .* needs \(4,\) for its bias_cell"),
        (GRU, "Ux", r"array Ux has shape \(3, 4\); .* needs \(4, 4\) for its weight_hh"),
        (GRU, None, r"lacks the arrays \['s4'\]; there are \["),
    ],
)
def test_wrong_arrays_are_named_and_nothing_is_loaded(path: Path, name: str | None, words: str) -> None:
    arrays = arrays_of(path)
    layer = layer_for(arrays)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    if name is None:
        del arrays["param_s4"]
    else:
        arrays[f"param_{name}"] = arrays[f"param_{name}"][:-1]
    with pytest.raises(ValueError, match=words):
        layer.load_released(arrays)
    assert all(torch.equal(value, before[key]) for key, value in layer.state_dict().items())
