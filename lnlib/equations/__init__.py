r"""The paper's numbered equations as literal float64 NumPy: the yardstick of everything else.

One function per equation, as slow and as obvious as the print: no epsilon, no batching, no special
cases. Nothing else in lnlib imports this package. Where the print is wrong, the function computes what
is printed and its docstring carries the erratum.

====================================  =====================================  =============================
module                                what it holds                          paper
====================================  =====================================  =============================
:mod:`lnlib.equations.normalization`  a layer, its statistics, every method  Eqs. (1)-(3), (5), (15), (16)
:mod:`lnlib.equations.invariance`     what layer norm does not see           Eqs. (6), (7)
:mod:`lnlib.equations.geometry`       the metric of (normalized) GLMs        Eqs. (8)-(14)
:mod:`lnlib.equations.recurrent`      recurrent layers, one step             Eqs. (4), (17)-(31)
:mod:`lnlib.equations.magnitude`      learning the magnitude of weights      Eqs. (32)-(35)
====================================  =====================================  =============================

*Source* Ba, Kiros, Hinton, "Layer Normalization", arXiv:1607.06450 (2016). Letters are the paper's:
`a` summed inputs, `g` gain, `b` bias, `mu` and `sigma` the normalization scalars, `w_i` row i of `W`.
"""

from lnlib.equations.geometry import (
    eq8,
    eq9,
    eq10,
    eq11,
    eq12,
    eq13,
    eq14,
    eq14_batch,
    eq14_layer,
    eq14_weight,
)
from lnlib.equations.invariance import eq6, eq7
from lnlib.equations.magnitude import eq32, eq33, eq34, eq35, eq35_left
from lnlib.equations.normalization import eq1, eq2, eq2_statistics, eq3, eq5, eq15, eq16
from lnlib.equations.recurrent import (
    eq4,
    eq17,
    eq18,
    eq19,
    eq20,
    eq21,
    eq22,
    eq23,
    eq24,
    eq25,
    eq26,
    eq27,
    eq28,
    eq29,
    eq30,
    eq31,
)

__all__ = [  # noqa: RUF022 - the paper's order
    "eq1",
    "eq2",
    "eq2_statistics",
    "eq3",
    "eq4",
    "eq5",
    "eq6",
    "eq7",
    "eq8",
    "eq9",
    "eq10",
    "eq11",
    "eq12",
    "eq13",
    "eq14",
    "eq14_batch",
    "eq14_weight",
    "eq14_layer",
    "eq15",
    "eq16",
    "eq17",
    "eq18",
    "eq19",
    "eq20",
    "eq21",
    "eq22",
    "eq23",
    "eq24",
    "eq25",
    "eq26",
    "eq27",
    "eq28",
    "eq29",
    "eq30",
    "eq31",
    "eq32",
    "eq33",
    "eq34",
    "eq35",
    "eq35_left",
]
