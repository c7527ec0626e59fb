r"""The Fisher information of plain and normalized generalized linear models, exact and as printed.

=====================================  ===================================================  ===================
name                                   what                                                 paper
=====================================  ===================================================  ===================
:func:`kl`                             divergence of two models, expectation over cases     Eq. (8), left side
:func:`fisher`                         the exact matrix, dense                              Eqs. (9), (12)
:func:`printed_eq13`, :func:`chi`      the matrix and its inputs as printed                 Eqs. (13), (14)
:class:`FisherOperator`                products, solves, null space without the matrix      ours
=====================================  ===================================================  ===================

Inside: `linearization` (the derivative in the structure it has), `moments` (the hot path), `dense`, `factor`,
`solve`, `spectrum`, `operator`, `divergence`.
"""

from lnlib.fisher.dense import chi, fisher, printed_eq13
from lnlib.fisher.divergence import kl
from lnlib.fisher.operator import FisherOperator
from lnlib.fisher.spectrum import NullSpace

__all__ = ["FisherOperator", "NullSpace", "chi", "fisher", "kl", "printed_eq13"]
