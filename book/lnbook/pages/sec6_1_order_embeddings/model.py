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
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_padded_sequence

from lnlib.linear import Linear
from lnlib.rnn import GRU

MARGINS = {"order": 0.05, "cosine": 0.2}  # of the code of Vendrov and others, by score


class OrderEmbedding(nn.Module):
    """The model, for a vocabulary of `words` and pictures of so many `features`.

    The norm is that of the GRU: "none" for Eqs. (23)-(25), "layer" for (26)-(28). The score is "order", or
    "cosine" for the symmetric baseline. The generator draws the weights, the same for both norms, as the code
    of Vendrov and others does: words' and inputs' uniform within 0.1, the recurrent ones orthogonal for each
    gate, the pictures' uniform within sqrt(6 / (features + units)). Gains are 1, biases 0.

    >>> model = OrderEmbedding(9, 6, units=4, word_size=3, norm="layer", generator=torch.Generator())
    >>> captions = model.captions(torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([3, 1]))
    >>> captions.shape, bool((captions >= 0).all())
    (torch.Size([2, 4]), True)
    """

    def __init__(
        self,
        words: int,
        features: int,
        *,
        units: int,
        word_size: int,
        norm: str,
        generator: torch.Generator,
        score: str = "order",
    ) -> None:
        super().__init__()
        self.score = score
        self.words = nn.Embedding.from_pretrained(torch.empty(words, word_size), freeze=False)
        self.gru = GRU(word_size, units, norm=norm)
        self.image = nn.utils.skip_init(Linear, features, units)
        p = dict(self.gru.named_parameters())
        with torch.no_grad():
            nn.init.uniform_(self.words.weight, -0.1, 0.1, generator=generator)
            nn.init.uniform_(p["weight_ih_l0"], -0.1, 0.1, generator=generator)
            for gate in p["weight_hh_l0"].split(units):
                nn.init.orthogonal_(gate, generator=generator)
            nn.init.xavier_uniform_(self.image.weight, generator=generator)
            for bias in (p["bias_ih_l0"], p["bias_hh_l0"], self.image.bias):
                bias.zero_()

    def captions(self, words: Int64[Tensor, "C T"], lengths: Int64[Tensor, " C"]) -> Float[Tensor, "C H"]:
        """The points of captions: numbers of words, with padding behind each caption's length."""
        packed = pack_padded_sequence(
            self.words(words), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
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
        self, words: Int64[Tensor, "N T"], lengths: Int64[Tensor, " N"], features: Float[Tensor, "N F"]
    ) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
        return self.captions(words, lengths), self.images(features)


def violations(general: Float[Tensor, "M H"], special: Float[Tensor, "N H"]) -> Float[Tensor, "M N"]:
    r"""$E(b_m, a_n) = \lVert\max(0, b_m - a_n)\rVert^2$ for all pairs, in pieces that a cache holds.

    *Source* Vendrov and others (2016): b are captions, which should not exceed a, pictures, anywhere.

    >>> violations(torch.tensor([[1.0, 0.0], [0.6, 0.8]]), torch.tensor([[0.6, 0.8]])).T
    tensor([[0.1600, 0.0000]])
    """
    found: Tensor = _Violations.apply(general, special)
    return found


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


def ranking_loss(
    table: Float[Tensor, "N N"], margin: float, same: Bool[Tensor, "N N"] | None = None
) -> Float[Tensor, ""]:
    """The sum over all contrastive pairs of a batch, both ways: see the module's text.

    `table` has E of each caption (row) and picture (column), pairs on the diagonal belong together; `same`
    marks those that are no contrast although off the diagonal, captions of one picture.

    >>> ranking_loss(torch.tensor([[0.0, 0.03], [0.5, 0.01]]), margin=0.05)
    tensor(0.0500)
    """
    right = table.diagonal()
    wrong = (margin + right - table).clamp_min(0) + (margin + right[:, None] - table).clamp_min(0)
    none = torch.eye(len(table), dtype=torch.bool, device=table.device)
    return wrong.masked_fill(none if same is None else none | same, 0).sum()
