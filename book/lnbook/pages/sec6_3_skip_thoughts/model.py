r"""Skip-thoughts: a sentence is encoded so that its two neighbors can be predicted from its code.

Kiros, Zhu, Salakhutdinov, Zemel, Urtasun, Torralba, Fidler (2015). An encoder GRU reads the words
$x^1, \dots, x^T$ of a sentence; its last state $\mathbf{h}$ is the thought vector. Two decoder GRUs, one for
the sentence before and one for the sentence after, see the word before and the thought at each step:

$$\begin{pmatrix} \mathbf{z}_t \\ \mathbf{r}_t \end{pmatrix}
= \mathbf{W}_x \mathbf{x}_{t-1} + \mathbf{C}\mathbf{h} + \mathbf{W}_h \mathbf{s}_{t-1}, \quad
\hat{\mathbf{s}}_t = \tanh\big(\mathbf{W}\mathbf{x}_{t-1} + \mathbf{C}'\mathbf{h}
+ \sigma(\mathbf{r}_t) \odot \mathbf{U}\mathbf{s}_{t-1}\big), \quad
P(w_t \mid \cdot) \propto \exp(\mathbf{v}_{w_t}^\top \mathbf{s}_t).$$

So the decoders are GRUs whose input is the pair $[\mathbf{x}_{t-1}, \mathbf{h}]$. With norm "layer" all three
are those of Eqs. (26)-(28): the input's side, $\mathbf{W}_x\mathbf{x} + \mathbf{C}\mathbf{h}$, is one summed
input. That is the article's decoder. The published code's, which the paper of layer normalization used, has
no $\mathbf{C}$: its first state is the thought, $\mathbf{s}_0 = \mathbf{h}$.

Sentences' vectors are thoughts, of words that the network need not know, or those of two that never learned.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from lnbook.data.text import PAD
from lnlib.linear import Linear
from lnlib.rnn import GRU

PAPER = (620, 2400)  # numbers of a word, units
DECODERS = ("article", "code")  # a thought at each step, or as the first state alone
SPREAD = 0.1  # of the paper's initial weights that are not recurrent
Ids: TypeAlias = Int64[Tensor, "N _"]
Lengths: TypeAlias = Int64[Tensor, " N"]
Thoughts: TypeAlias = Float[Tensor, "N H"]
Encoder: TypeAlias = Callable[[Ids, Lengths], Tensor]


class SkipThoughts(nn.Module):
    r"""The model, for a vocabulary of `words`, the special ones too. At first the recurrent matrices are
    orthogonal, gate by gate, words' vectors uniform within 0.1, biases 0, gains 1; all other matrices uniform
    within 0.1 (`initial` is "printed"), or within $0.1\sqrt{n_0/n}$ for their n inputs ("scaled").

    *Source* Kiros and others (2015), their Section 3. Ours: the scale, where $n_0$ is what n is in the paper,
    620 for words and 2400 for states; so a smaller network's summed inputs begin as wide as the paper's.
    """

    def __init__(
        self,
        words: int,
        size: int,
        units: int,
        *,
        norm: str,
        generator: torch.Generator,
        initial: str = "scaled",
        decoder: str = "article",
    ) -> None:
        super().__init__()
        self.shown_each_step = decoder == "article"
        self.words = nn.Embedding.from_pretrained(torch.empty(words, size), freeze=False)
        self.encoder = GRU(size, units, norm=norm)
        seen = size + units if self.shown_each_step else size
        self.decoders = nn.ModuleList([GRU(seen, units, norm=norm) for _ in range(2)])
        self.output = nn.utils.skip_init(Linear, units, words)
        wider = np.sqrt(np.divide(PAPER, (size, units))) if initial == "scaled" else np.ones(2)
        of_word, of_state = SPREAD * wider
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                kind = name.rpartition(".")[2]
                if kind.startswith("weight_hh"):
                    for gate in parameter.chunk(3):
                        nn.init.orthogonal_(gate, generator=generator)
                elif kind.startswith("weight_ih"):
                    nn.init.uniform_(parameter[:, :size], -of_word, of_word, generator=generator)
                    nn.init.uniform_(parameter[:, size:], -of_state, of_state, generator=generator)
                elif kind == "weight":
                    spread = SPREAD if name.startswith("words") else of_state
                    nn.init.uniform_(parameter, -spread, spread, generator=generator)
                else:
                    nn.init.constant_(parameter, float(kind.startswith("gain")))

    def encode(self, ids: Ids, lengths: Lengths, table: Tensor | None = None) -> Thoughts:
        """Thoughts: the encoder's state behind each sentence's last word; a `table` may hold more words."""
        packed = _pack(ids, lengths)
        vectors = F.embedding(packed.data, self.words.weight if table is None else table)
        return self.encoder(packed._replace(data=vectors))[1][-1]

    def forward(
        self, before: Ids, here: Ids, after: Ids, lengths: Int64[Tensor, "N 3"]
    ) -> Float[Tensor, "N 2"]:
        r"""Nats of the sentence before and of the one after, given the one between:
        $-\sum_t \log P(w_t \mid w_{<t}, \mathbf{h})$.
        """
        thoughts = self.encode(here, lengths[:, 1])
        sides = zip(self.decoders, (before, after), lengths[:, ::2].T, strict=True)
        return torch.stack([self._nats(decoder, thoughts, *side) for decoder, *side in sides], 1)

    def _nats(self, decoder: nn.Module, thoughts: Thoughts, ids: Ids, lengths: Lengths) -> Tensor:
        # the word before each word; before the first there is padding, whose vector counts as zero
        words, previous = _pack(ids, lengths), _pack(F.pad(ids[:, :-1], (1, 0), value=PAD), lengths)
        owner = _pack(torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids), lengths).data
        seen = F.embedding(previous.data, self.words.weight) * (previous.data != PAD).unsqueeze(1)
        if self.shown_each_step:
            seen = torch.cat([seen, thoughts[owner]], 1)
        states, _ = decoder(words._replace(data=seen), None if self.shown_each_step else thoughts[None])
        nats = F.cross_entropy(self.output(states.data), words.data, reduction="none")
        return nats.new_zeros(len(ids)).index_add(0, owner, nats)


def _pack(x: Tensor, lengths: Tensor) -> PackedSequence:
    """Sequences without their padding: nothing is computed on it."""
    return pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)


def thoughts(model: SkipThoughts, vectors: Float[np.ndarray, "W k"]) -> Encoder:
    r"""The model's encoder, its table of words continued by what vectors say of those that it lacks:
    $v \mapsto Wv$ with $W = \arg\min \sum_{w} \|W v_w - e_w\|^2$ over the words that both hold.

    *Source* Kiros and others (2015), their Section 2.3. Vectors are of the model's words in their order, then
    of the others. The first three are the special ones, which no map is fitted to.
    """
    known = model.words.weight.detach()
    table = known.double().cpu().numpy()
    solution, *_ = np.linalg.lstsq(vectors[3 : len(table)], table[3:], rcond=None)
    wider = torch.cat([known, torch.from_numpy(vectors[len(table) :] @ solution).to(known)])
    return lambda ids, lengths: model.encode(ids.to(wider.device), lengths, wider)


def bag_of_words(vectors: Float[np.ndarray, "W k"]) -> Encoder:
    """The mean of the words' vectors, whatever their order."""
    table = torch.from_numpy(vectors)
    return lambda ids, lengths: table[ids].sum(1) / lengths[:, None]  # padding's vector is zero


def random_states(vectors: Float[np.ndarray, "W k"], units: int, generator: torch.Generator) -> Encoder:
    r"""The greatest value over time of each unit of a GRU that reads word vectors and has never learned.

    *Source* the random recurrent encoder of Wieting and Kiela (2019): word vectors that know something,
    weights uniform within $1/\sqrt{k}$, a maximum over the states.
    """
    size = vectors.shape[1]
    gru = GRU(size, units, norm="none", batch_first=True, dtype=torch.float64)
    for weight in gru.parameters():
        nn.init.uniform_(weight.detach(), -(size**-0.5), size**-0.5, generator=generator)
    table = torch.from_numpy(vectors)

    def pooled(ids: Tensor, lengths: Tensor) -> Tensor:
        packed = _pack(ids, lengths)
        states = gru(packed._replace(data=table[packed.data]))[0]
        return pad_packed_sequence(states, batch_first=True, padding_value=-torch.inf)[0].amax(1)

    return pooled
