"""Norms and what has replaced them: which changes of weights, inputs and sequences each sees."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lnlib.norms.normalize import layer_norm, rms_norm

Layer = Callable[[Tensor], Tensor]


def mispredicted(generator: torch.Generator) -> int:
    """How often a kind of layer sees, or does not see, one of four changes against prediction."""
    shapes = (7, 20), (32, 20), (32, 20), (20,)
    x, W, V, row = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    keys = rms_norm(x @ V.T, eps=0.0)  # of QK-norm's logits; they stay
    layers: dict[str, tuple[Layer, set[str]]] = {  # and what each does not see
        "layer norm": (lambda a: layer_norm(a, eps=0.0), {"all weights", "one case", "a row"}),
        "RMSNorm": (lambda a: rms_norm(a, eps=0.0), {"all weights", "one case"}),
        "QK-norm": (lambda a: rms_norm(a, eps=0.0) @ keys.T / 32**0.5, {"all weights", "one case"}),
        "dynamic tanh": (lambda a: torch.tanh(a / 2), set()),
        "none": (lambda a: a, set()),
    }
    sums = {
        "all weights": x @ (3 * W).T,
        "one case": torch.cat([3 * x[:1], x[1:]]) @ W.T,
        "a row": x @ (W + row).T,  # added to all rows of W
        "one unit's weights": x @ torch.cat([3 * W[:1], W[1:]]).T,
    }
    wrong = 0
    for layer, blind in layers.values():
        before = layer(x @ W.T)
        same = {what for what, a in sums.items() if torch.allclose(layer(a), before, 1e-12, 1e-12)}
        wrong += len(same ^ blind)
    return wrong


@torch.no_grad()
def sequence_changes(generator: torch.Generator) -> dict[str, dict[str, float]]:
    """How outputs of the same steps of sequences change by what should not matter to them."""
    s = torch.randn(8, 12, 16, generator=generator)
    training, stored = nn.BatchNorm1d(16), nn.BatchNorm1d(16)
    for _ in range(50):
        stored(s.mT)  # positions count as cases
    stored.eval()
    layers: dict[str, Layer] = {
        "layer norm": nn.LayerNorm(16),
        "batch norm, evaluation": lambda a: stored(a.mT).mT,
        "batch norm, training": lambda a: training(a.mT).mT,
    }
    padded, later = torch.cat([s, torch.zeros(8, 6, 16)], 1), torch.cat([s[:, :-1], 5 + s[:, -1:]], 1)
    probes: dict[str, Callable[[Layer], Tensor]] = {
        "alone, or in company": lambda f: f(s[:1]) - f(s)[:1],
        "blank steps appended": lambda f: f(padded)[:, :12] - f(s),
        "halves apart": lambda f: torch.cat([f(s[:, :6]), f(s[:, 6:])], 1) - f(s),
        "a later step changed": lambda f: (f(later) - f(s))[:, :-1],
    }
    return {n: {p: float(d(f).abs().max()) for p, d in probes.items()} for n, f in layers.items()}
