r"""The attentive reader: two LSTMs, one for a passage and one for a question about it, and attention between.

Hermann and others (2015), one direction as in Section 6.2. The state after the last word of the question is
u; those after each word of the passage are y(1), ..., y(T). Then

$$m(t) = \tanh(W_{ym}\, y(t) + W_{um}\, u), \qquad s(t) \propto \exp(w_{ms}^\top m(t)), \qquad
r = \sum_t s(t)\, y(t),$$

$$g = \tanh(W_{rg}\, r + W_{ug}\, u), \qquad p(\text{answer } a) \propto \exp(w_a^\top g).$$

Where norms act: "layer" and "batch" in the LSTMs only; "batch everywhere" also on the four terms inside the
tanhs, each with statistics over the words or cases of the batch (Cooijmans and others, 2016). What their code
adds to these equations, all of it or none (`released`):

$$\tilde x = \frac{b \circ x}{1 - p}, \quad b_k \sim \mathrm{Bernoulli}(1 - p) \qquad \text{(dropout)},$$

applied to each word's vector, in passage and question, and to g, in training only;

$$m(t) = \tanh(W_{ym}\, y(t) + W_{um}\, u + \mathbf 1\, (B\,y(t))^\top (B\,u)) \qquad \text{(similarity)},$$

one number per word, the same for all units and never normalized;

$$h(0) = h_0 \text{ trained, from } 0, \qquad c(0) = 0 \qquad \text{(states)},$$

with a separate $h_0$ for the passage's and the question's LSTM (batch norm subtracts what all cases share,
and so ignores it);

$$g = \tanh\Bigl(W_{rg}\, r + W_{ug}\, u + W_{yg}\,\frac1T\sum_{t=1}^T y(t)\Bigr) \qquad \text{(mean)},$$

where the sum is over the T words of the passage; and a bias in each tanh and in the scores (biases).

*Source* The code that Cooijmans and others (2016) published, and the command that the paper's authors
published for layer norm, `--use_dq_sims 1 --learn_h0 1 --use_desc_skip_c_g 1` (given twice; the last counts).
The code has biases, and dropout at 0.5 unless told otherwise; the name of the authors' log says it was on.
"""

from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lnlib.linear import Linear
from lnlib.norms.modules import BatchNorm
from lnlib.rnn import LSTM

STARTS = {"small": 0.05, "unit": 1.0}  # singular values
RELEASED: dict[str, float] = dict.fromkeys(("dropout", "similarity", "states", "mean", "biases"), True)
RELEASED["dropout"] = 0.5
Passages: TypeAlias = Int64[Tensor, "N T"]
Queries: TypeAlias = Int64[Tensor, "N S"]
Lengths: TypeAlias = Int64[Tensor, " N"]  # at least 1
Noise: TypeAlias = torch.Generator | None  # which dropout needs in training
Words: TypeAlias = Float[Tensor, "N T H"]
TERMS = ("attend_passage", "attend_query", "join_passage", "join_query")  # inside the two tanhs


class AttentiveReader(nn.Module):
    """The model; word 0 is padding, whose vector is and stays 0. `gain` is that of every norm at first.

    Weights are the same for every norm, and biases 0: by `start` the square blocks of an LSTM's matrices, and
    B, are orthogonal times 0.05 ("small", as in the public code) or 1 ("unit"), and word vectors uniform as
    below, or standard normal. All else is uniform within sqrt(6 / (inputs + outputs)) (Glorot and Bengio,
    2010), the score within 1 / sqrt(units). For the `longest` passage batch norm keeps its statistics.
    """

    def __init__(
        self,
        words: int,
        entities: int,
        *,
        units: int,
        norm: str,
        generator: torch.Generator,
        gain: float = 1.0,
        start: str = "small",
        longest: int = 200,
        released: bool = False,
    ) -> None:
        super().__init__()
        self.released = released
        self.vectors = nn.Embedding(words, units, padding_idx=0, _weight=torch.empty(words, units))
        inside, steps = norm.split()[0], longest if norm.startswith("batch") else None
        options = {"batch_first": True, "norm": inside, "max_steps": steps}
        self.passage, self.query = (LSTM(units, units, **options) for _ in range(2))
        everywhere = norm == "batch everywhere"  # whose shifts are the biases in the tanhs
        shifted = ("attend_passage", "join_query") if released and not everywhere else ()
        for name in TERMS:
            setattr(self, name, nn.utils.skip_init(Linear, units, units, bias=name in shifted))
        self.score = nn.Parameter(torch.empty(units))
        self.answer = nn.utils.skip_init(Linear, units, entities, bias=released)
        if released:
            self.start_passage, self.start_query = (nn.Parameter(torch.empty(units)) for _ in range(2))
            self.similar = nn.utils.skip_init(Linear, units, units, bias=False)
            self.join_mean = nn.utils.skip_init(Linear, units, units, bias=False)
        # each with a shift, of which one a sum would do
        normed = (*TERMS, "join_mean") if released else TERMS
        self.norms = nn.ModuleDict({name: BatchNorm(units) for name in normed if everywhere})
        for name, parameter in self.named_parameters():
            kind, _, layer = name.rpartition(".")[2].partition("_l")
            if name == "similar.weight" or (layer and kind.startswith("weight")):
                for block in parameter.split(parameter.shape[1]):
                    nn.init.orthogonal_(block, STARTS[start], generator=generator)
            elif kind == "score":
                within = len(parameter) ** -0.5
                nn.init.uniform_(parameter, -within, within, generator=generator)
            elif kind.startswith("weight") and not name.startswith("norms"):
                nn.init.xavier_uniform_(parameter, generator=generator)
            else:
                nn.init.constant_(parameter, gain * kind.startswith(("gain", "weight")))
        with torch.no_grad():
            if start == "unit":
                self.vectors.weight.normal_(generator=generator)
            self.vectors.weight[0] = 0

    def forward(
        self,
        passages: Passages,
        passage_lengths: Lengths,
        queries: Queries,
        query_lengths: Lengths,
        noise: Noise = None,
    ) -> tuple[Float[Tensor, "N E"], Float[Tensor, "N T"]]:
        """The scores of the answers, before a softmax, and the attention over the words of the passage."""
        rate = RELEASED["dropout"] if self.released and self.training else 0.0
        x, asked = (dropped(self.vectors(numbers), rate, noise) for numbers in (passages, queries))
        y = self._states("passage", x, passage_lengths)
        each = torch.arange(len(queries), device=queries.device)
        u = self._states("query", asked, query_lengths)[each, query_lengths - 1]
        real = torch.arange(passages.shape[1], device=passages.device) < passage_lengths[:, None]
        to_query = self._term("attend_query", u)
        inside = self._term("attend_passage", y, real) + to_query[:, None]
        if self.released:
            inside = inside + (self.similar(y) @ self.similar(u)[..., None])
        attention = (torch.tanh(inside) @ self.score).masked_fill(~real, -torch.inf).softmax(-1)
        r = torch.einsum("nt,nth->nh", attention, y)
        joined = self._term("join_passage", r) + self._term("join_query", u)
        if self.released:
            mean = (y * real[..., None]).sum(1) / passage_lengths[:, None]
            joined = joined + self._term("join_mean", mean)
        return self.answer(dropped(torch.tanh(joined), rate, noise)), attention

    def _states(self, name: str, x: Words, lengths: Lengths) -> Words:
        """The states after each word; what comes after a sequence's end is not read."""
        lstm, first = getattr(self, name), None
        if self.released:
            h = getattr(self, f"start_{name}").to(x.dtype).expand(1, len(x), -1).contiguous()
            first = h, torch.zeros_like(h)
        # batch norm needs every case at every step; torch is three times as slow over packed sequences
        if lstm.norm in ("batch", "none"):
            return lstm(x, first)[0]
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(lstm(packed, first)[0], batch_first=True, total_length=x.shape[1])[0]

    def _term(self, name: str, x: Tensor, real: Bool[Tensor, "N T"] | None = None) -> Tensor:
        """W x, normalized everywhere or not; of words only the `real` ones count in statistics."""
        if name not in self.norms:
            return getattr(self, name)(x)
        if real is None:
            return self.norms[name](getattr(self, name)(x))
        return torch.zeros_like(x).masked_scatter(real[..., None], self._term(name, x[real]))


def dropped(x: Tensor, rate: float, noise: Noise) -> Tensor:
    """Entries of x dropped at a rate, by noise of the CPU, which all devices share; none at rate 0."""
    if not rate:
        return x
    kept = torch.empty(x.shape).bernoulli_(1 - rate, generator=noise)
    return x * kept.to(x) / (1 - rate)
