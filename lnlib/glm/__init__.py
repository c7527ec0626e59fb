"""Generalized linear models whose summed inputs may be normalized: Eqs. (10) and (11).

===========================  ====================================================================
module                       what it holds
===========================  ====================================================================
:mod:`lnlib.glm.model`       the model: its natural parameters, means, covariances, likelihoods
:mod:`lnlib.glm.families`    the exponential families of its outputs
:mod:`lnlib.glm.covariance`  covariances of the outputs, as structured as the family leaves them
===========================  ====================================================================
"""

from lnlib.glm.model import GLM, NORMS

__all__ = ["GLM", "NORMS"]
