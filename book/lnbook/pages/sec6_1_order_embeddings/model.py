r"""Order embeddings: captions and pictures as points, the more general the smaller in every coordinate.

Vendrov, Kiros, Fidler, Urtasun (2016). A GRU reads a caption, its last state is the caption's point; a linear
map takes a picture's features to the picture's. Both are scaled to length 1, then made non-negative:

$$f(\cdot) = \left|\frac{v}{\lVert v\rVert}\right|, \qquad
E(b, a) = \lVert\max(0,\, b - a)\rVert^2, \qquad S(b, a) = -E(b, a).$$

$E$ is 0 where caption $b$ stands above picture $a$, that is, $b_k\le a_k$ for all $k$. With a batch's pairs
$(b_n, a_n)$ the loss is

$$\sum_n\sum_{m\neq n} \max(0, \text{margin} + E(b_n, a_n) - E(b_m, a_n))
+ \max(0, \text{margin} + E(b_n, a_n) - E(b_n, a_m)).$$

Their symmetric baseline leaves out the absolute value and takes the cosine for the score: $E = 1 - b\cdot a$.

Retrieval, from a table of violations (small is good) of captions against pictures, of which each caption has
its own:

- image retrieval: a caption asks; its rank is that of its own picture among all pictures;
- caption retrieval: a picture asks; its rank is that of the best of its own captions among all captions.

Ranks count from 1. What violates as much as the right answer stands before it: a model that gives all pairs
the same number has the worst ranks, not the best. R@K is the percentage of ranks up to K.

*Source* Section 6.1, Table 2, and the evaluation of Vendrov and others (2016).
"""

from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_padded_sequence

from lnlib.linear import Linear
from lnlib.rnn import GRU

Points: TypeAlias = Float[Tensor, "C H"]
Owner: TypeAlias = Int64[Tensor, " C"]  # the picture of each caption
Table: TypeAlias = Float[Tensor, "C I"]
TOP = (1, 5, 10)
MARGINS = {"order": 0.05, "cosine": 0.2}  # of the code of Vendrov and others, by score


class OrderEmbedding(nn.Module):
    """The model, for a vocabulary of `words` and pictures of so many `features`.

    The GRU is that of Eqs. (23)-(25), or with norm "layer" of (26)-(28). First weights are those of the code
    of Vendrov and others: words' and inputs' uniform within 0.1, the recurrent ones orthogonal for each gate,
    the pictures' uniform within sqrt(6 / (features + units)). Gains are 1, biases 0.
    """

    def __init__(
        self,
        words: int,
        features: int,
        *,
        units: int,
        word_size: int,
        norm: str,
        score: str,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.score = score
        self.words = nn.Embedding.from_pretrained(torch.empty(words, word_size), freeze=False)
        self.gru = GRU(word_size, units, norm=norm)
        self.image = nn.utils.skip_init(Linear, features, units)
        p = dict(self.gru.named_parameters())
        for weight in (self.words.weight, p["weight_ih_l0"]):
            nn.init.uniform_(weight, -0.1, 0.1, generator=generator)
        for gate in p["weight_hh_l0"].detach().split(units):
            nn.init.orthogonal_(gate, generator=generator)
        nn.init.xavier_uniform_(self.image.weight, generator=generator)
        for bias in (p["bias_ih_l0"], p["bias_hh_l0"], self.image.bias):
            nn.init.zeros_(bias)

    def captions(self, words: Int64[Tensor, "C T"], lengths: Int64[Tensor, " C"]) -> Points:
        """The points of captions: numbers of words, with padding behind each caption's length."""
        read = self.words(words)
        packed = pack_padded_sequence(read, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return self._point(self.gru(packed)[1][0])

    def images(self, features: Float[Tensor, "I F"]) -> Float[Tensor, "I H"]:
        return self._point(self.image(features))

    def _point(self, v: Tensor) -> Tensor:
        unit = F.normalize(v, dim=-1)
        return unit.abs() if self.score == "order" else unit

    def errors(self, captions: Float[Tensor, "M H"], images: Float[Tensor, "N H"]) -> Float[Tensor, "M N"]:
        """E of all pairs of points: `violations`, or 1 less the cosine."""
        return violations(captions, images) if self.score == "order" else 1 - captions @ images.T

    def forward(
        self, words: Tensor, lengths: Tensor, features: Float[Tensor, "C F"]
    ) -> tuple[Points, Points]:
        return self.captions(words, lengths), self.images(features)


def violations(general: Float[Tensor, "M H"], special: Float[Tensor, "N H"]) -> Float[Tensor, "M N"]:
    r"""$E(b_m, a_n) = \lVert\max(0, b_m - a_n)\rVert^2$ for all pairs, in pieces that a cache holds.

    *Source* Vendrov and others (2016): b are captions, which should not exceed a, pictures, anywhere.
    """
    return _Violations.apply(general, special)


class _Violations(torch.autograd.Function):
    """Makes the differences of all pairs anew in the backward pass: to keep them would take M N H numbers."""

    @staticmethod
    def forward(ctx: Any, general: Tensor, special: Tensor) -> Tensor:
        ctx.save_for_backward(general, special)
        rows = general.split(_rows(special))
        return torch.cat([(b[:, None] - special).clamp_min_(0).square_().sum(-1) for b in rows])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, Tensor]:
        general, special = ctx.saved_tensors
        count = _rows(special)
        to_general, to_special = [], torch.zeros_like(special)
        for b, weight in zip(general.split(count), d.split(count), strict=True):
            over = (b[:, None] - special).clamp_min_(0)
            to_general.append(torch.bmm(weight[:, None], over)[:, 0])
            to_special -= over.mul_(weight[..., None]).sum(0)
        return 2 * torch.cat(to_general), 2 * to_special


def _rows(special: Tensor) -> int:
    """So many that a core's cache holds half a megabyte of differences; more on a GPU."""
    return max(1, (1 << 17 if special.device.type == "cpu" else 1 << 26) // special.numel())


def ranking_loss(table: Float[Tensor, "N N"], margin: float, owner: Owner) -> Float[Tensor, ""]:
    """The module's loss of a table of E, captions by pictures; captions of one picture are no contrast."""
    right = table.diagonal()
    wrong = (margin + right - table).clamp_min(0) + (margin + right[:, None] - table).clamp_min(0)
    return wrong.masked_fill(owner[:, None] == owner, 0).sum()


def ranks(violations: Table, owner: Owner) -> tuple[Int64[Tensor, " I"], Owner]:
    """The ranks of caption retrieval, one a picture, and image retrieval, one a caption; NaN ranks last."""
    violations = violations.nan_to_num(nan=torch.inf, posinf=torch.inf)
    own = violations.gather(1, owner[:, None])
    best = own.new_full(violations.shape[1:], torch.inf).scatter_reduce(0, owner, own[:, 0], "amin")
    others = owner[:, None] != torch.arange(len(best), device=owner.device)
    return 1 + ((violations <= best) & others).sum(0), (violations <= own).sum(1)  # the second counts itself


def retrieval(violations: Table, owner: Owner) -> dict[str, float]:
    """R@1, R@5, R@10 in percent and the mean rank, of caption and of image retrieval, by `ranks`."""
    found = {}
    for direction, place in zip(("caption", "image"), ranks(violations, owner), strict=True):
        for k in TOP:
            found[f"{direction}_r{k}"] = 100 * (place <= k).double().mean().item()
        found[f"{direction}_mean"] = place.double().mean().item()
    return found
