r"""Thirteen layer-normalized LSTMs that people use, and the settings with which `LSTM` computes each.

All of them call themselves the LSTM of this paper. They differ in what is normalized together, where the
biases act, which cell is carried to the next step, and in $\epsilon$. *Source* each project's own code.

>>> theirs = IMPLEMENTATIONS["tf_addons"]
>>> theirs.normalized, theirs.carried
('each projection, all gates', 'normalized')
>>> theirs.settings
{'variant': 'normalized_state', 'eps': 0.001, 'forget_bias': 1.0}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lnlib.rnn.variants import VARIANTS, Variant


@dataclass(frozen=True)
class Implementation:
    """One public implementation."""

    title: str  # what it is called, and by whom
    variant: str | Variant  # the name of ours, or a row where no name has it
    eps: float
    bias: str  # where biases act
    order: str  # the gates as its matrices hold them; g is what others call j, u or c: the candidate
    forget_bias: float = 0.0  # what its forget gate has at first beyond 0, where that has an effect
    note: str = ""  # what else to know
    exact: bool = True  # whether the settings compute the same function; otherwise the note says what differs

    @property
    def row(self) -> Variant:
        """What is normalized where."""
        return VARIANTS["LSTM"][self.variant] if isinstance(self.variant, str) else self.variant

    @property
    def normalized(self) -> str:
        """What shares one mean and one standard deviation, in words."""
        if self.row.gates == "none":
            return "the cell only"
        what = "sum" if self.row.gates == "joint" else "each projection"
        return f"{what}, gate by gate" if self.row.per_gate else f"{what}, all gates"

    @property
    def carried(self) -> str:
        """Which cell the next step starts from."""
        return "normalized" if self.row.cell in ("carried", "next") else "raw"

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords for :class:`lnlib.rnn.LSTM`."""
        return {"variant": self.variant, "eps": self.eps, "forget_bias": self.forget_bias}


IMPLEMENTATIONS: Mapping[str, Implementation] = {
    "paper": Implementation(
        "the paper, Eqs. (20)-(22)",
        "paper",
        0.0,
        bias="b outside, and one after each normalization",
        order="fiog",
        note="No ε: 0/0 from a zero state. Two of the three biases are redundant.",
    ),
    "theano": Implementation(
        "the authors' released Theano layers",
        "released",
        1e-5,
        bias="b inside the input's normalization and again outside, and one after each",
        order="ifog",
        note="The bias inside ends the invariance to a re-scaled input.",
    ),
    "lua": Implementation(
        "the authors' released Lua module",
        "draw",
        1e-10,
        bias="in both linear maps, and after the cell's normalization",
        order="ifog",
        note="Divides by σ + 1e-5, not by a root with ε inside: relative difference at most 1e-5/σ, and its "
        "gradient is NaN where σ = 0.",
        exact=False,
    ),
    "haste": Implementation(
        "haste, LayerNormLSTM",
        "paper",
        1e-5,
        bias="b outside",
        order="igfo",
        forget_bias=1.0,
        note="Leaves out the redundant biases. Takes no packed sequences.",
    ),
    "baselines": Implementation(
        "OpenAI Baselines, lnlstm",
        "paper",
        1e-5,
        bias="b outside, and one after each normalization",
        order="ifog",
        note="The equations as printed, with an ε.",
    ),
    "custom_lstms": Implementation(
        "PyTorch's benchmarks, custom_lstms.py",
        "normalized_state",
        1e-5,
        bias="after each normalization",
        order="ifgo",
    ),
    "tf_addons": Implementation(
        "TensorFlow Addons, LayerNormLSTMCell",
        "normalized_state",
        1e-3,
        bias="b outside, and one after each normalization",
        order="ifgo",
        forget_bias=1.0,
    ),
    "tf_contrib": Implementation(
        "TensorFlow 1, contrib LayerNormBasicLSTMCell",
        Variant("joint", per_gate=True, cell="carried"),
        1e-12,
        bias="after each normalization",
        order="igfo",
        forget_bias=1.0,
        note="Its forget bias is a constant, not a parameter.",
    ),
    "lstms_pth": Implementation(
        "lstms.pth, LayerNormLSTM",
        Variant("separate", cell="carried", inner_bias="both", unbiased=True),
        1e-6,
        bias="inside both projections' normalizations, and one after each",
        order="ifog",
        note="Unbiased variance. Gains start uniform about 0.",
    ),
    "icefall": Implementation(
        "icefall, LayerNormLSTM",
        Variant("joint", per_gate=True, cell="carried", inner_bias="input"),
        1e-5,
        bias="two inside the normalization, and one after it",
        order="ifgo",
        note="Its forget bias of 2 is equal for all units of a gate that is then centered: it has no effect.",
    ),
    "returnn": Implementation(
        "RETURNN, LayerNormVariantsLSTMCell",
        "normalized_state",
        1e-12,
        bias="after each normalization",
        order="igfo",
        note="With its default flags; those for RNMT+ are our variant rnmt.",
    ),
    "supercell": Implementation(
        "supercell, LayerNormLSTMCell",
        "per_gate",
        1e-3,
        bias="after each normalization",
        order="igfo",
        forget_bias=1.0,
        note="Its forget bias is a constant, not a parameter.",
    ),
    "labml": Implementation(
        "labml, LSTM with layer_norm",
        Variant("joint", per_gate=True, cell="output", inner_bias="input"),
        1e-5,
        bias="inside the normalization, and one after it",
        order="ifgo",
    ),
}
