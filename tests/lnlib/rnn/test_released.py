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
EXACT = WAYS["plain double"].close  # in double precision as the arrays
every_archive = pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
as_users_call = pytest.mark.usefixtures("as_users_call")


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


def test_there_are_archives_of_both_networks_with_and_without_padding() -> None:
    masks = {path.stem: arrays_of(path)["mask"] for path in GOLDEN}
    assert {name.split("_")[1] for name in masks} == {"lngru", "lnlstm"}
    assert {name.split("_")[1] for name, mask in masks.items() if (mask == 0).any()} == {"lngru", "lnlstm"}


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


@every_archive
def test_every_cell_state_is_the_authors(path: Path) -> None:
    arrays = arrays_of(path)
    if "out_c" not in arrays:
        assert layer_for(arrays).mode == "GRU"
        return
    layer, x, mask = layer_for(arrays), torch.tensor(arrays["x"]), torch.tensor(arrays["mask"])
    layer.load_released(arrays)
    state = tuple(torch.zeros(1, x.shape[1], layer.hidden_size, dtype=x.dtype) for _ in range(2))
    for t in range(len(x)):  # one step at a time; on padding the state is held
        _, new = layer(x[t : t + 1], state)
        state = tuple(
            torch.where(mask[t].bool().view(1, -1, 1), n, s) for n, s in zip(new, state, strict=True)
        )
        assert_close(state[1][0], torch.tensor(arrays["out_c"])[t], **EXACT)
        assert_close(state[0][0], torch.tensor(arrays["out_h"])[t], **EXACT)


@every_archive
def test_an_archive_a_path_in_text_and_a_dict_without_prefixes_load_alike(path: Path) -> None:
    arrays = arrays_of(path)
    plain = {name.removeprefix("param_"): value for name, value in arrays.items()}
    tensors = {name: torch.tensor(value) for name, value in arrays.items()}
    layers = [layer_for(arrays) for _ in range(4)]
    for layer, given in zip(layers, (path, str(path), plain, tensors), strict=True):
        layer.load_released(given)
    for layer in layers[1:]:
        for name, value in layers[0].state_dict().items():
            assert_close(layer.state_dict()[name], value, rtol=0, atol=0)


@every_archive
def test_loading_keeps_dtype_identity_and_arrays(path: Path) -> None:
    arrays = arrays_of(path)
    before = {name: value.copy() for name, value in arrays.items()}
    layer = layer_for(arrays, dtype=torch.float32)
    parameters = dict(layer.named_parameters())
    layer.load_released(arrays)
    for name, value in layer.named_parameters():
        assert value is parameters[name]
        assert value.dtype == torch.float32
        with torch.no_grad():
            value.zero_()
    assert all((arrays[name] == before[name]).all() for name in before)


@pytest.mark.parametrize("stem", ["released_lnlstm_7x3x5x4", "released_lngru_7x3x5x4"])
def test_the_papers_variant_on_the_same_weights_is_another_function(stem: str) -> None:
    arrays = arrays_of(next(path for path in GOLDEN if path.stem == stem))
    released = layer_for(arrays)
    released.load_released(arrays)
    paper = layer_for(arrays, variant="paper")
    paper.load_state_dict(released.state_dict(), strict=False)
    assert (paper(packed(arrays))[0].data - released(packed(arrays))[0].data).abs().max() > 0.05


# --- what is refused -----------------------------------------------------------------------------


LSTM, GRU = (next(p for p in GOLDEN if p.stem == f"released_ln{k}_7x3x5x4") for k in ("lstm", "gru"))


@as_users_call
@pytest.mark.parametrize(
    "options",
    [
        {"variant": "paper"},
        {"norm": "none"},
        {"norm": "rms"},
        {"num_layers": 2},
        {"bidirectional": True},
        {"bias": False},
        {"proj_size": 2},
    ],
    ids=str,
)
def test_only_one_released_layer_takes_released_weights(options: dict[str, Any]) -> None:
    layer = layer_for(arrays_of(LSTM), **options)
    with pytest.raises(ValueError, match="cannot hold released weights; build it with variant='released'"):
        layer.load_released(LSTM)


def test_plain_networks_do_not_take_released_weights() -> None:
    with pytest.raises(ValueError, match="cannot hold released weights"):
        lnlib.RNN(5, 4).load_released(LSTM)


@pytest.mark.parametrize(("path", "name"), [(LSTM, "U"), (LSTM, "b3"), (GRU, "Ux"), (GRU, "s4")])
def test_a_missing_array_is_named_and_nothing_is_loaded(path: Path, name: str) -> None:
    arrays = arrays_of(path)
    layer = layer_for(arrays)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    del arrays[f"param_{name}"]
    with pytest.raises(ValueError, match=rf"lacks the arrays \['{name}'\]; there are \["):
        layer.load_released(arrays)
    assert all(torch.equal(value, before[key]) for key, value in layer.state_dict().items())


@pytest.mark.parametrize(
    ("path", "name", "words"),
    [
        (LSTM, "W", r"array W has shape \(4, 16\); .* needs \(5, 16\) for its weight_ih"),
        (LSTM, "b3", r"array b3 has shape \(3,\); .* needs \(4,\) for its bias_cell"),
        (GRU, "Ux", r"array Ux has shape \(3, 4\); .* needs \(4, 4\) for its weight_hh"),
        (GRU, "s2", r"array s2 has shape \(3,\); .* needs \(4,\) for its gain_ih"),
    ],
)
def test_a_wrong_shape_is_named_and_nothing_is_loaded(path: Path, name: str, words: str) -> None:
    arrays = arrays_of(path)
    layer = layer_for(arrays)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    arrays[f"param_{name}"] = arrays[f"param_{name}"][:-1]
    with pytest.raises(ValueError, match=words):
        layer.load_released(arrays)
    assert all(torch.equal(value, before[key]) for key, value in layer.state_dict().items())


def test_the_other_networks_weights_are_named_as_what_they_are_not() -> None:
    with pytest.raises(
        ValueError, match=r"the released GRU lacks the arrays \['Ux', 'Wx', 'b4', 'bx', 's4'\]"
    ):
        layer_for(arrays_of(GRU)).load_released(LSTM)
    with pytest.raises(ValueError, match=r"array W has shape \(5, 8\); .* needs \(5, 16\)"):
        layer_for(arrays_of(LSTM)).load_released(GRU)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.npz"):
        layer_for(arrays_of(LSTM)).load_released(tmp_path / "nothing.npz")
