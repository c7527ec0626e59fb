r"""The Fisher information of generalized linear models, exact and as printed, and of networks with norms.

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
:func:`norm_block`                  its block of a norm's gain and bias               later
:func:`linear_block`                its block of the layer in front, and K-FAC's      later
:class:`MatrixFree`                 what all operators do: products, a way to SciPy   ours
:func:`gauge`                       directions that no prediction sees, projected on  ours
:func:`canonical`                   one representative of all weights of a function   ours
:func:`log_evidence`                Laplace's evidence of a network                   later
==================================  ================================================  ====================

Inside: `linearization` (the derivative in the structure it has), `moments` (the hot path), `dense`, `factor`,
`solve`, `spectrum`, `nullity`, `operator`, `divergence`, `magnitude`. For networks `matrix_free`, `network`,
`ggn`, `norm_layer`, `norm_block`, `wiring`, `gauge`,
`evidence`.
"""

from lnlib.fisher.dense import chi, fisher, printed_eq13
from lnlib.fisher.divergence import kl
from lnlib.fisher.evidence import log_evidence
from lnlib.fisher.gauge import Gauge, Scale, Shift, canonical, gauge
from lnlib.fisher.ggn import GGN
from lnlib.fisher.magnitude import gain_metric, standard_magnitude_metric
from lnlib.fisher.matrix_free import MatrixFree, Products
from lnlib.fisher.norm_block import LinearBlock, linear_block, norm_block
from lnlib.fisher.operator import FisherOperator
from lnlib.fisher.spectrum import NullSpace

__all__ = [
    "GGN",
    "FisherOperator",
    "Gauge",
    "LinearBlock",
    "MatrixFree",
    "NullSpace",
    "Products",
    "Scale",
    "Shift",
    "canonical",
    "chi",
    "fisher",
    "gain_metric",
    "gauge",
    "kl",
    "linear_block",
    "log_evidence",
    "norm_block",
    "printed_eq13",
    "standard_magnitude_metric",
]
