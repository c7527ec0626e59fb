"""What a layer-normalized LSTM does not hear: scales of its weights, loudness of inputs, size of its cell."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.norms.normalize import layer_norm
from lnlib.rnn import LSTM

UNITS, INPUTS = 32, 8


class Unforgetting(NamedTuple):
    """Cells through time, what the output gate sees of them (-1 to 1), and how far each step moves that."""

    cells: Float[Tensor, "T H"]
    shown: Float[Tensor, "T H"]
    moved: Float[Tensor, " T"]


def _draws(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def change(variant: str, seed: int, *, matrices: bool) -> float:
    """Relative change of an LSTM's outputs, without epsilon, as scales and shifts change.

    Each step of the input is made louder or softer by a factor of its own. With `matrices`, both weight
    matrices are scaled, too, by 5 and by 0.2, and a random row is added to all rows of each.
    """
    weights = (4 * UNITS, UNITS), (4 * UNITS, INPUTS), (UNITS,), (INPUTS,)
    states = (1, UNITS), (1, UNITS)
    drawn = _draws(seed, *weights, *states, (50, INPUTS), (50, 1))
    W_h, W_x, shift_h, shift_x, h, c, x, loudness = drawn
    outputs = []
    for changed in (False, True):
        net = LSTM(INPUTS, UNITS, variant=variant, eps=0.0, dtype=torch.float64)
        moved = changed and matrices
        with torch.no_grad():
            net.get_parameter("weight_hh_l0").copy_(5 * W_h + shift_h if moved else W_h)
            net.get_parameter("weight_ih_l0").copy_(0.2 * W_x + shift_x if moved else W_x)
            outputs.append(net(loudness.exp() * x if changed else x, (h, c))[0])
    return float((outputs[1] - outputs[0]).norm() / outputs[0].norm())


def unforgetting(norm: str, seed: int) -> Unforgetting:
    """An LSTM of random weights whose forget gate stays open, on 1,000 random inputs."""
    x, W_h, W_x = _draws(seed, (1000, INPUTS), (4 * UNITS, UNITS), (4 * UNITS, INPUTS))
    net = LSTM(INPUTS, UNITS, norm=norm, dtype=torch.float64)
    with torch.no_grad():
        net.get_parameter("weight_hh_l0").copy_(W_h / UNITS**0.5)
        net.get_parameter("weight_ih_l0").copy_(W_x / INPUTS**0.5)
        for name in ("bias_ih_l0", "bias_hh_l0"):
            net.get_parameter(name).zero_()
        net.get_parameter("bias_ih_l0").chunk(4)[1].fill_(20.0)  # torch's order: i, f, g, o
        cells = net(x, return_cells=True)[-1]
        shown = torch.tanh(layer_norm(cells) if norm == "layer" else cells)
        moved = shown.diff(dim=0, prepend=torch.zeros_like(shown[:1])).norm(dim=1)
    return Unforgetting(cells, shown, moved)
