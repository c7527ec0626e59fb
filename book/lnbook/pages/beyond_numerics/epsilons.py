r"""The epsilons of public programs: how large, where they sit, and what follows from that.

The place matters as much as the size. *Inside the root* the divisor is $\sqrt{\sigma^2+\epsilon}$, *outside*
it is $\sigma+\epsilon$. All that follows from size and place alone is computed here.
"""

import math
from html import escape
from pathlib import Path

import pandas as pd
import torch

from lnbook.ledger.tables import Table, html_table
from lnlib.invariance import EPS_DEFAULTS

# Programs' defaults: size, place ("inside" or "outside" of the root), whether the variance is biased. Read in
# the code or the documentation behind each link; PyTorch's and ONNX's are also run by the tests. Where the
# table has no epsilon, the library has it.
_file = Path(__file__).with_name("programs.csv")
_table = pd.read_csv(_file, dtype={"eps": str}, true_values=["yes"], false_values=["no"])
_known = {default.program: default.eps for default in EPS_DEFAULTS}
ATLAS = _table.assign(eps=_table["eps"].astype(float).fillna(_table["name"].map(_known)))


def short_below(eps: float, place: str, by: float = 0.01) -> float:
    r"""The standard deviation s below which outputs are too small by more than a share.

    With $q = 1 - \mathtt{by}$: $s/\sqrt{s^2+\epsilon}=q$ at $\sqrt{\epsilon}\,q/\sqrt{1-q^2}$ inside the
    root; outside, $s/(s+\epsilon)=q$ at $\epsilon q/(1-q)$.
    """
    q = 1 - by
    return math.sqrt(eps) * q / math.sqrt(1 - q * q) if place == "inside" else eps * q / by


def stored(eps: float, dtype: torch.dtype) -> float:
    """An epsilon as a dtype stores it: 0 up to half of its smallest number."""
    return float(torch.tensor(eps, dtype=torch.float64).to(dtype))


class AtlasTable(Table):
    """Programs and what their epsilons do, in the order given; in a page each name is a link."""

    def __init__(self, programs: pd.DataFrame) -> None:
        header = ("program", "epsilon", "of the root", "1 % short below", "gain at zero", "in float16")
        self.links, rows = programs["link"], []
        for p in programs.itertuples():
            gain = 1 / (math.sqrt(p.eps) if p.place == "inside" else p.eps)  # of tiny differences
            half = f"{stored(p.eps, torch.float16):.3g}"
            rows.append(
                (p.name, f"{p.eps:g}", p.place, f"{short_below(p.eps, p.place):.1e}", f"{gain:,.0f}", half)
            )
        super().__init__(header, rows)

    def _repr_html_(self) -> str:
        rows = [list(map(escape, row)) for row in self.rows]
        for row, link in zip(rows, self.links, strict=True):
            row[0] = f'<a href="{escape(link)}">{row[0]}</a>'
        return html_table("", self.header, rows)
