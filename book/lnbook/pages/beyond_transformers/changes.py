"""Norms and what has replaced them: which changes of weights, inputs and sequences each sees."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.normalize import layer_norm, rms_norm

# Which of the four changes in `relatives` a kind of layer is predicted not to see.
BLIND = {
    "layer norm": (True, True, True, False),
    "RMSNorm": (True, True, False, False),
    "QK-norm": (True, True, False, False),
    "dynamic tanh": (False,) * 4,
    "none": (False,) * 4,
}


class SequenceBatchNorm(nn.BatchNorm1d):
    """Batch norm of vectors at positions, which count as cases."""

    def forward(self, a: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        return super().forward(a.flatten(0, -2)).view(a.shape)


def relatives(generator: torch.Generator) -> dict[str, dict[str, float]]:
    r"""By how much each kind of layer changes, relative to its largest output, at each of four changes.

    Of $a = Wx$; for "QK-norm" the attention logits of queries a and of keys that stay, both RMS-normalized.
    """
    shapes = (7, 20), (32, 20), (32, 20), (20,)
    x, W, V, row = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    keys = rms_norm(x @ V.T, eps=0.0)
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "layer norm": lambda a: layer_norm(a, eps=0.0),
        "RMSNorm": lambda a: rms_norm(a, eps=0.0),
        "QK-norm": lambda a: rms_norm(a, eps=0.0) @ keys.T / 32**0.5,
        "dynamic tanh": lambda a: torch.tanh(a / 2),
        "none": lambda a: a,
    }
    sums = {
        "all weights times 3": x @ (3 * W).T,
        "one case times 3": torch.cat([3 * x[:1], x[1:]]) @ W.T,
        "a row added to all rows of W": x @ (W + row).T,
        "one unit's weights times 3": x @ torch.cat([3 * W[:1], W[1:]]).T,
    }

    def change(layer: Callable[[Tensor], Tensor], a: Tensor) -> float:
        before = layer(x @ W.T)
        return float((layer(a) - before).abs().max() / before.abs().max())

    return {n: {what: change(layer, a) for what, a in sums.items()} for n, layer in layers.items()}


def mispredicted(seen_by: dict[str, dict[str, float]]) -> int:
    """How many changes of `relatives` a kind of layer sees against `BLIND`, or does not see."""
    return sum(
        (change < 1e-12) != blind
        for name, guess in BLIND.items()
        for change, blind in zip(seen_by[name].values(), guess, strict=True)
    )


@torch.no_grad()
def sequence_changes(generator: torch.Generator) -> dict[str, dict[str, float]]:
    """How the outputs of layers for sequences change when something happens that should not matter to them.

    Outputs of the steps that are there before and after; 8 sequences of 12 steps of 16 units, float32.
    """
    s = torch.randn(8, 12, 16, generator=generator)
    stored = SequenceBatchNorm(16)
    for _ in range(50):
        stored(s)
    layers = {
        "layer norm": nn.LayerNorm(16),
        "batch norm, evaluation": stored.train(mode=False),
        "batch norm, training": SequenceBatchNorm(16),
    }
    padded, later = torch.cat([s, torch.zeros(8, 6, 16)], 1), torch.cat([s[:, :-1], 5 + s[:, -1:]], 1)
    probes: dict[str, Callable[[nn.Module], Tensor]] = {
        "alone, or in company": lambda f: f(s[:1]) - f(s)[:1],
        "blank steps appended": lambda f: f(padded)[:, :12] - f(s),
        "halves apart": lambda f: torch.cat([f(s[:, :6]), f(s[:, 6:])], 1) - f(s),
        "a later step changed": lambda f: (f(later) - f(s))[:, :-1],
    }
    return {n: {p: float(d(f).abs().max()) for p, d in probes.items()} for n, f in layers.items()}
