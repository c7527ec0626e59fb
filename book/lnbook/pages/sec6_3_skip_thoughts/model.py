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
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from lnbook.data.text import PAD
from lnlib.linear import Linear
from lnlib.rnn import GRU

PAPER = (620, 2400)  # numbers of a word, units
DECODERS = ("article", "code")  # a thought at each step, or as the first state alone
SPREAD = 0.1  # of the paper's initial weights that are not recurrent


class SkipThoughts(nn.Module):
    """The model, for a vocabulary of `words`, the special ones too, with vectors of this `size`.

    `norm` is that of the GRUs, "none" or "layer"; `initial` says how wide the first weights are
    (`initialize`), the same for both norms; the `decoder` is "article" or "code".
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
        initialize(self, generator, initial)

    def encode(
        self, ids: Int64[Tensor, "N T"], lengths: Int64[Tensor, " N"], table: Tensor | None = None
    ) -> Float[Tensor, "N H"]:
        """Thoughts: the encoder's state behind each sentence's last word, zeros behind the end.

        Words are looked up in a table, by default the model's own, which holds its vocabulary alone.
        """
        packed = _pack(ids, lengths)
        vectors = F.embedding(packed.data, self.words.weight if table is None else table)
        _, state = self.encoder(packed._replace(data=vectors))
        thoughts: Tensor = state[-1]
        return thoughts

    def forward(
        self,
        before: Int64[Tensor, "N A"],
        here: Int64[Tensor, "N B"],
        after: Int64[Tensor, "N C"],
        lengths: Int64[Tensor, "N 3"],
    ) -> Float[Tensor, "N 2"]:
        r"""Nats of the sentence before and of the one after, given the one between:
        $-\sum_t \log P(w_t \mid w_{<t}, \mathbf{h})$.
        """
        thoughts = self.encode(here, lengths[:, 1])
        sides = ((before, lengths[:, 0]), (after, lengths[:, 2]))
        pairs = zip(self.decoders, sides, strict=True)
        return torch.stack([self._nats(decoder, thoughts, *side) for decoder, side in pairs], 1)

    def _nats(
        self, decoder: nn.Module, thoughts: Float[Tensor, "N H"], ids: Tensor, lengths: Tensor
    ) -> Float[Tensor, " N"]:
        # the word before each word; before the first there is padding, whose vector counts as zero
        words, previous = _pack(ids, lengths), _pack(F.pad(ids[:, :-1], (1, 0), value=PAD), lengths)
        owner = _pack(torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids), lengths).data
        seen = F.embedding(previous.data, self.words.weight) * (previous.data != PAD).unsqueeze(1)
        if self.shown_each_step:
            states, _ = decoder(words._replace(data=torch.cat([seen, thoughts[owner]], 1)))
        else:
            states, _ = decoder(words._replace(data=seen), thoughts[None])
        nats = F.cross_entropy(self.output(states.data), words.data, reduction="none")
        return nats.new_zeros(len(ids)).index_add(0, owner, nats)


def _pack(x: Tensor, lengths: Tensor) -> PackedSequence:
    """Sequences without their padding: nothing is computed on it."""
    return pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)


def initialize(model: SkipThoughts, generator: torch.Generator, initial: str) -> None:
    r"""Recurrent matrices orthogonal, gate by gate; words' vectors uniform within 0.1; biases 0, gains 1; all
    other matrices uniform within 0.1 ("printed"), or within $0.1\sqrt{n_0/n}$ for their n inputs ("scaled").

    *Source* Kiros and others (2015), their Section 3. Ours: the scale, where $n_0$ is what n is in the paper,
    620 for words and 2400 for states; so a smaller network's summed inputs begin as wide as the paper's.

    Gains and biases draw nothing: both norms of one seed have the same weights.
    """
    inputs = (model.words.embedding_dim, model.encoder.hidden_size)
    of_word, of_state = (
        SPREAD * ((full / own) ** 0.5 if initial == "scaled" else 1.0)
        for full, own in zip(PAPER, inputs, strict=True)
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            kind = name.rpartition(".")[2]
            if kind.startswith("weight_hh"):
                for gate in parameter.chunk(3):
                    nn.init.orthogonal_(gate, generator=generator)
            elif kind.startswith("weight_ih"):
                nn.init.uniform_(parameter[:, : inputs[0]], -of_word, of_word, generator=generator)
                nn.init.uniform_(parameter[:, inputs[0] :], -of_state, of_state, generator=generator)
            elif kind == "weight":
                spread = SPREAD if name.startswith("words") else of_state
                nn.init.uniform_(parameter, -spread, spread, generator=generator)
            else:
                nn.init.constant_(parameter, float(kind.startswith("gain")))
