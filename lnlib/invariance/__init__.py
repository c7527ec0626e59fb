"""Invariance (Section 5.1): the transformations of Table 1, the table measured, its cells proved.

`table1` computes the table on a random layer, `measure` one cell on a layer of yours, and `prove` decides a
cell for all layers. `eps_factor` says what an epsilon does to the re-scaling cells.
"""

from lnlib.invariance import methods, prover, table, transformations
from lnlib.invariance.methods import *
from lnlib.invariance.prover import *
from lnlib.invariance.table import *
from lnlib.invariance.transformations import *

__all__ = table.__all__ + prover.__all__ + methods.__all__ + transformations.__all__
