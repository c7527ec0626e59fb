r"""The Fisher information of generalized linear models, exact and as printed, and of networks.

==================================  ================================================  ====================
name                                what                                              paper
==================================  ================================================  ====================
:func:`kl`                          divergence of two models, expectation over cases  Eq. (8), left side
:func:`fisher`                      the exact matrix, dense                           Eqs. (9), (12)
:func:`printed_eq13`, :func:`chi`   the matrix and its inputs as printed              Eqs. (13), (14)
:class:`FisherOperator`             products, solves, null space without the matrix   ours
:func:`gain_metric`                 length of a step of the gains                     Eqs. (32)-(34)
:func:`standard_magnitude_metric`   the same step without a normalization             Eq. (35)
:class:`GGN`                        a network's matrix by products                    later
==================================  ================================================  ====================

Inside, `linearization` holds the derivative in the structure it has; all others compute with it.
"""

from lnlib.fisher.dense import chi, fisher, kl, printed_eq13
from lnlib.fisher.ggn import GGN
from lnlib.fisher.magnitude import gain_metric, standard_magnitude_metric
from lnlib.fisher.operator import FisherOperator, NullSpace

__all__ = [
    "GGN",
    "FisherOperator",
    "NullSpace",
    "chi",
    "fisher",
    "gain_metric",
    "kl",
    "printed_eq13",
    "standard_magnitude_metric",
]
