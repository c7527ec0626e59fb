r"""Many small networks whose trained weights are all scale-invariant, trained together, and how they turn.

Hidden layers of layer norm without epsilon and relu, and a readout that stays as it was drawn: each trained
layer has an invisible length. AdamW, that is, Adam with decoupled decay:
$m \leftarrow \beta_1m+(1-\beta_1)G$, $v\leftarrow\beta_2v+(1-\beta_2)G^2$,
$W \leftarrow (1-\eta\lambda)W-\eta\,\hat m/\sqrt{\hat v}$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook import data
from lnbook.training import generators, torch_threads
from lnlib import layer_norm

LAYERS = (64, 32, 32)  # units of the hidden layers
BETA2, EPS = 0.99, 1e-8  # of Adam; 0.99 forgets the start within the runs
READOUT = 3.0  # scale of the readout: at 1 no weights fit random labels
CLASSES = 10
BATCH = 32  # cases of an update


@dataclass(frozen=True)
class Setting:
    r"""One run: its seed, rate $\eta$, decay $\lambda$ and momentum $\beta_1$."""

    seed: int
    rate: float
    decay: float = 0.0
    momentum: float = 0.0
    held: bool = False  # each layer is brought back to its first length after every update
    orthogonal: bool = False  # Muon's steps, without momentum: the gradient's `polar` part


@dataclass(frozen=True)
class Walk:
    """What the runs did: loss before each update, and each layer's length after it.

    `turn` is the root mean square of the tangents by which a layer turns in an update, in the second half of
    the run, where the length has settled.
    """

    loss: Float[Tensor, "R T"]
    length: Float[Tensor, "R T L"]
    turn: Float[Tensor, "R L"]

    def last_losses(self, updates: int) -> Float[Tensor, "R S"]:
        """Mean loss of the last ten updates of each task, which had so many."""
        return self.loss.unflatten(1, (-1, updates))[..., -10:].mean(-1)


def digits(cases: int) -> tuple[Float[Tensor, "N D"], Int64[Tensor, " N"]]:
    """The first training digits of scikit-learn less their mean, without the pixels that are blank in all."""
    x, y = (torch.from_numpy(part[:cases]) for part in data.load("digits").flat("train"))
    x = x[:, x.amax(0) > 0].float()
    return x - x.mean(0), y


def noisy(y: Int64[Tensor, " N"], updates: int, share: float, seed: int) -> Int64[Tensor, "T N"]:
    """Labels of which a share is drawn anew for each update, so that gradients never die out."""
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(CLASSES, (updates, len(y)), generator=g)
    return torch.where(torch.rand(drawn.shape, generator=g) < share, drawn, y)


class Networks:
    """R networks, one a seed, as batched matrices.

    The `weights` of each hidden layer, (R, H, D), have variance 1 / D. The `readout`, (R, 10, H), is not
    trained and has variance 9 / H, so that the logits can fit any labels.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        inputs: int,
        layers: Sequence[int] = LAYERS,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        sizes = (inputs, *layers, CLASSES)
        drawn = []
        for seed in seeds:
            initial = generators(seed)[0]
            pairs = pairwise(sizes)
            drawn.append([torch.randn(H, D, generator=initial) / D**0.5 for D, H in pairs])
        *self.weights, readout = (torch.stack(parts).to(dtype) for parts in zip(*drawn, strict=True))
        self.readout = READOUT * readout

    def outputs(self, weights: Sequence[Float[Tensor, "R _ _"]], x: Float[Tensor, "R N D"]) -> Tensor:
        """Logits, (R, N, 10)."""
        for W in weights:
            x = torch.relu(layer_norm(x @ W.mT, eps=0.0))
        return x @ self.readout.mT

    def slopes(
        self, x: Float[Tensor, "R N D"], y: Int64[Tensor, "R N"]
    ) -> tuple[Float[Tensor, " R"], list[Float[Tensor, "R _ _"]]]:
        """Each network's mean cross-entropy and its gradient for each layer."""
        weights = [W.detach().requires_grad_() for W in self.weights]
        losses = cross_entropy(self.outputs(weights, x).mT, y, reduction="none").mean(1)
        return losses.detach(), list(torch.autograd.grad(losses.sum(), weights))


def seen(W: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R H D"]:
    """What layer norm sees of the weights: all but the mean row."""
    return W - W.mean(-2, keepdim=True)


def length(W: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R 1 1"]:
    """Each matrix's Frobenius norm."""
    return torch.linalg.vector_norm(W, dim=(-2, -1), keepdim=True)


def angles(one: Float[Tensor, "*R H D"], two: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R 1 1"]:
    """Angles between two arrays, by the half angle: accurate for small ones."""
    u, v = one / length(one), two / length(two)
    return 2 * torch.atan2(length(u - v), length(u + v))


def polar(G: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R H D"]:
    r"""$UV^\top$ of the gradient $U\Sigma V^\top$: its singular values above rounding all set to 1.

    >>> G = torch.tensor([[3.0, 0.0], [0.0, 0.1]])
    >>> polar(G)
    tensor([[1., 0.],
            [0., 1.]])
    """
    U, s, Vh = torch.linalg.svd(G, full_matrices=False)
    kept = s > 1e-5 * s[..., :1]
    return (U * kept[..., None, :].to(U)) @ Vh


def train(
    settings: Sequence[Setting],
    x: Float[Tensor, "N D"],
    labels: Int64[Tensor, "S M"],
    updates: int,
    layers: Sequence[int] = LAYERS,
) -> Walk:
    """Train every setting on one task after the other, each with so many updates and a row of the labels."""
    networks = Networks([s.seed for s in settings], x.shape[1], layers)
    order = {s.seed: generators(s.seed)[1] for s in settings}
    rate, decay, momentum = (column(settings, name) for name in ("rate", "decay", "momentum"))
    held = column(settings, "held").bool()
    some_held = bool(held.any())
    straight = column(settings, "orthogonal").bool()
    visible = [seen(W) for W in networks.weights]
    first = [length(W) for W in visible]
    m, v = ([torch.zeros_like(W) for W in networks.weights] for _ in range(2))
    losses, lengths, turns, whole = [], [], [], len(labels) * updates
    with torch_threads(1), torch.no_grad():
        for t in range(whole):
            drawn = {seed: torch.randint(len(x), (BATCH,), generator=g) for seed, g in order.items()}
            cases = torch.stack([drawn[s.seed] for s in settings])
            with torch.enable_grad():
                loss, slopes = networks.slopes(x[cases], labels[t // updates][cases])
            before = list(visible)
            for k, (W, G) in enumerate(zip(networks.weights, slopes, strict=True)):
                m[k].mul_(momentum).add_((1 - momentum) * G)
                v[k].mul_(BETA2).addcmul_(G, G, value=1 - BETA2)
                step = m[k] / (1 - momentum ** (t + 1)) / ((v[k] / (1 - BETA2 ** (t + 1))).sqrt() + EPS)
                if straight.any():
                    step = torch.where(straight, polar(G), step)
                W.mul_(1 - rate * decay).sub_(rate * step)
                if some_held:
                    W.mul_(torch.where(held, first[k] / length(seen(W)), 1))
                visible[k] = seen(W)
            losses.append(loss)
            lengths.append(torch.stack([length(W).flatten() for W in visible], 1))
            if t >= whole // 2:
                turned = [angles(*pair).flatten().tan() for pair in zip(before, visible, strict=True)]
                turns.append(torch.stack(turned, 1).double())
    turn = torch.stack(turns, 1).square().mean(1).sqrt()
    return Walk(torch.stack(losses, 1).double(), torch.stack(lengths, 1).double(), turn)


def column(settings: Sequence[Setting], name: str) -> Float[Tensor, "R 1 1"]:
    """One field of all settings, to multiply weights with."""
    return torch.tensor([float(getattr(s, name)) for s in settings])[:, None, None]
