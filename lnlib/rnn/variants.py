"""What is normalized where in a recurrent network: a table of data, a row for each variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PLAIN", "VARIANTS", "Variant", "variant_of"]


@dataclass(frozen=True)
class Variant:
    """Where one variant normalizes.

    Attributes:
        gates: "separate": the projections of input and state each; "joint": their sum; "none": neither.
        per_gate: statistics of each gate instead of all gates together.
        cell: of an LSTM: "raw" everywhere; "output": normalized on the way to h; "carried": into the next
            step too; "next": into the next step only.
        keeps: what an open update gate of a GRU keeps: the "new" candidate as in Eq. (28), or the "old" state
            as torch.
        inner_bias: one more bias inside a normalization: of the "input"'s projection, of "both", or "" for
            none; with "joint" gates "input" means inside the normalization of the sum.
        unbiased: divide the squares by one less than their number.
        eps: the variant's own epsilon; None leaves it to the layer.
    """

    gates: str
    per_gate: bool = False
    cell: str = "raw"
    keeps: str = "old"
    inner_bias: str = ""
    unbiased: bool = False
    eps: float | None = None


#: One row a variant, by kind of network. Sources: Eqs. (4), (20)-(22), (26)-(28), (29)-(31); "rnmt" is
#: RETURNN's LayerNormVariantsLSTMCell with its flags for RNMT+.
VARIANTS: Mapping[str, Mapping[str, Variant]] = {
    "RNN": {
        "paper": Variant("joint"),
        "joint": Variant("joint"),
        "separate": Variant("separate"),
    },
    "LSTM": {
        "paper": Variant("separate", cell="output"),
        "joint": Variant("joint", cell="output"),
        "draw": Variant("none", cell="output"),
        "released": Variant("separate", cell="output", inner_bias="input", eps=1e-5),
        "per_gate": Variant("joint", per_gate=True, cell="output"),
        "normalized_state": Variant("separate", cell="carried"),
        "rnmt": Variant("joint", per_gate=True, cell="next"),
    },
    "GRU": {
        "paper": Variant("separate", keeps="new"),
        "joint": Variant("joint", keeps="new"),
        "released": Variant("separate", inner_bias="input", eps=1e-5),
        "per_gate": Variant("separate", per_gate=True, keeps="new"),
    },
}

PLAIN = Variant("none")  # what torch.nn computes


def variant_of(kind: str, name: str | Variant, norm: str) -> Variant:
    """The row of that name, or the given one; without a norm, torch's. ValueError for an unknown name."""
    rows = VARIANTS[kind]
    if not isinstance(name, Variant) and name not in rows:
        raise ValueError(f"variant is {name!r}; a layer-normalized {kind} has {', '.join(rows)}")
    if norm in ("none", "weight"):
        return PLAIN
    return name if isinstance(name, Variant) else rows[name]
