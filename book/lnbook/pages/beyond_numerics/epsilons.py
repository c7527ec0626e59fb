r"""The epsilons of public programs: how large, where they sit, and what follows from that.

The place matters as much as the size. *Inside the root* the divisor is $\sqrt{\sigma^2+\epsilon}$, *outside*
it is $\sigma+\epsilon$. All that follows from size and place alone is computed here.
"""

import csv
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import torch

from lnbook.ledger.tables import Table, html_table
from lnlib.invariance import EPS_DEFAULTS

Place = str  # "inside" or "outside" of the root


class Program(NamedTuple):
    """A program's default: its size, its place, whether the variance is biased, and where that is written."""

    name: str
    eps: float
    place: Place
    link: str
    biased: bool = True


# Read in the code or the documentation behind each link; PyTorch's and ONNX's are also run by the tests.
# Where the table has no epsilon, the library has it.
def _program(name: str, eps: str, biased: str, **rest: Any) -> Program:
    known = {default.program: default.eps for default in EPS_DEFAULTS}
    return Program(name, float(eps or known[name]), biased=biased == "yes", **rest)


with Path(__file__).with_name("programs.csv").open(encoding="utf-8") as _file:
    ATLAS = tuple(_program(**row) for row in csv.DictReader(_file))


def short_below(eps: float, place: Place, by: float = 0.01) -> float:
    r"""The standard deviation below which outputs are too small by more than the share `by`.

    A standard deviation s comes out as $s/\sqrt{s^2+\epsilon}$ inside the root and as $s/(s+\epsilon)$
    outside. That is $q = 1 - \mathtt{by}$ at $\sqrt{\epsilon}\,q/\sqrt{1-q^2}$ and at $\epsilon\,q/(1-q)$.
    """
    q = 1 - by
    return math.sqrt(eps) * q / math.sqrt(1 - q * q) if place == "inside" else eps * q / by


def gain_at_zero(eps: float, place: Place) -> float:
    r"""By how much tiny differences are multiplied: $1/\sqrt\epsilon$ inside the root, $1/\epsilon$ outside.

    It bounds the gradient of a quiet case; in float16 it is infinite for an epsilon below 2.3e-10 inside the
    root, or 1.5e-5 outside.
    """
    return 1 / (math.sqrt(eps) if place == "inside" else eps)


def stored(eps: float, dtype: torch.dtype) -> float:
    """An epsilon as a dtype stores it: 0 up to half of its smallest number."""
    return float(torch.tensor(eps, dtype=torch.float64).to(dtype))


class AtlasTable(Table):
    """Programs and what their epsilons do, in the order given; in a page each name is a link.

    >>> AtlasTable([Program("Mine", 1e-12, "inside", "https://example.org")])
    | program | epsilon | of the root | 1 % short below | gain at zero | in float16 |
    | --- | --- | --- | --- | --- | --- |
    | Mine | 1e-12 | inside | 7.0e-06 | 1,000,000 | 0 |
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        header = ("program", "epsilon", "of the root", "1 % short below", "gain at zero", "in float16")
        self.links = [p.link for p in programs]
        rows = [
            (
                p.name,
                f"{p.eps:g}",
                p.place,
                f"{short_below(p.eps, p.place):.1e}",
                f"{gain_at_zero(p.eps, p.place):,.0f}",
                f"{stored(p.eps, torch.float16):.3g}",
            )
            for p in programs
        ]
        super().__init__(header, rows)

    def _repr_html_(self) -> str:
        rows = [list(map(escape, row)) for row in self.rows]
        for row, link in zip(rows, self.links, strict=True):
            row[0] = f'<a href="{escape(link)}">{row[0]}</a>'
        return html_table("", self.header, rows)
