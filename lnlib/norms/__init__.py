"""The normalizations of Sections 2 and 3 and their relatives, as functions and as layers with parameters.

===============================  ========================================================  =================
module                           what it holds                                             paper
===============================  ========================================================  =================
:mod:`lnlib.norms.batch`         batch norm, by the batch's statistics or others           Eq. (2)
:mod:`lnlib.norms.normalize`     layer, weight, RMS, group, instance norm; conventions     Eqs. (3), (5)
:mod:`lnlib.norms.modules`       these as layers, in torch.nn's shape
:mod:`lnlib.norms.standardize`   why they stay accurate at any mean, in a few lines
:mod:`lnlib.norms.checks`        what they refuse, and how they say so
===============================  ========================================================  =================

Where a layer differs from `torch.nn`'s of the same name:

=========================================  ==============================================  ===================
given                                      `torch.nn`                                      here
=========================================  ==============================================  ===================
a mean far from zero                       loses its digits                                keeps them
equal numbers, an epsilon of 0             NaN; BatchNorm: ValueError                      0, or the bias
numbers whose squares overflow             0 or NaN                                        right at epsilon 0
nothing to average, as space of size 0     an empty result                                 ValueError
another shape than it was built for        RuntimeError                                    ValueError
integers, complex numbers, 8 bits          RuntimeError, NotImplementedError; RMSNorm      TypeError
                                           takes complex numbers
float64, by a layer of float32             RuntimeError; instance and RMS norm compute     a float64 result
a negative epsilon                         computed with it; BatchNorm: ValueError         ValueError
BatchNorm: a batch without cases           counted among the batches                       not counted
InstanceNorm: one value a channel          ValueError in training                          0, or the bias
InstanceNorm: no axis of cases             normalized                                      ValueError
InstanceNorm: other channels, no gain      a warning                                       ValueError
InstanceNorm: momentum, running averages   arguments                                       no such arguments
=========================================  ==============================================  ===================
"""

from lnlib.norms import batch, modules, normalize
from lnlib.norms.batch import *
from lnlib.norms.modules import *
from lnlib.norms.normalize import *

__all__ = batch.__all__ + normalize.__all__ + modules.__all__
