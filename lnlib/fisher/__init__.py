r"""The Fisher information of plain and normalized generalized linear models, exact and as printed.

==================================  ================================================  ====================
name                                what                                              paper
==================================  ================================================  ====================
:func:`kl`                          divergence of two models, expectation over cases  Eq. (8), left side
:func:`fisher`                      the exact matrix, dense                           Eqs. (9), (12)
:func:`printed_eq13`, :func:`chi`   the matrix and its inputs as printed              Eqs. (13), (14)
:class:`FisherOperator`             products, solves, null space without the matrix   ours
:func:`nullity_in_theory`           directions it cannot see, counted on paper        ours
:func:`gain_metric`                 length of a step of the gains                     Eqs. (32)-(34)
:func:`standard_magnitude_metric`   the same step without a normalization             Eq. (35)
==================================  ================================================  ====================

Inside: `linearization` (the derivative in the structure it has), `moments` (the hot path), `dense`, `factor`,
`solve`, `spectrum`, `nullity`, `operator`, `divergence`, `magnitude`.
"""

from lnlib.fisher.dense import chi, fisher, printed_eq13
from lnlib.fisher.divergence import kl
from lnlib.fisher.magnitude import gain_metric, standard_magnitude_metric
from lnlib.fisher.nullity import nullity_in_theory
from lnlib.fisher.operator import FisherOperator
from lnlib.fisher.spectrum import NullSpace

__all__ = [
    "FisherOperator",
    "NullSpace",
    "chi",
    "fisher",
    "gain_metric",
    "kl",
    "nullity_in_theory",
    "printed_eq13",
    "standard_magnitude_metric",
]
