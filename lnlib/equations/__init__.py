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

from lnlib.equations import geometry, invariance, magnitude, normalization, recurrent
from lnlib.equations.geometry import *
from lnlib.equations.invariance import *
from lnlib.equations.magnitude import *
from lnlib.equations.normalization import *
from lnlib.equations.recurrent import *

# Each module lists its names; here they stand in the order of the table above.
__all__ = (
    normalization.__all__ + invariance.__all__ + geometry.__all__ + recurrent.__all__ + magnitude.__all__
)
