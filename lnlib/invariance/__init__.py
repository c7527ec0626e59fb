"""Invariance (Section 5.1): the transformations of Table 1, the table measured, its cells proved.

`table1` computes the table on a random layer, `measure` one cell on a layer of yours, and `prove` decides a
cell for all layers. `eps_factor` says what an epsilon does to the re-scaling cells.
"""

from lnlib.invariance.columns import BEYOND, COLUMNS, PAPER, columns, paper_columns
from lnlib.invariance.epsilon import EPS_DEFAULTS, EpsDefault, eps_factor
from lnlib.invariance.methods import METHODS, normalized, statistics, summed_inputs
from lnlib.invariance.prover import Proof, prove, prove_eps_factor, prove_table1
from lnlib.invariance.table import CLEAR, Row, measure, rounding, table1
from lnlib.invariance.transformations import (
    Transformation,
    affine_data,
    affine_weights,
    mix_units,
    scale_cases,
    scale_rows,
    shift_cases,
    shift_rows,
    shift_summed,
)

__all__ = [
    "BEYOND",
    "CLEAR",
    "COLUMNS",
    "EPS_DEFAULTS",
    "METHODS",
    "PAPER",
    "EpsDefault",
    "Proof",
    "Row",
    "Transformation",
    "affine_data",
    "affine_weights",
    "columns",
    "eps_factor",
    "measure",
    "mix_units",
    "normalized",
    "paper_columns",
    "prove",
    "prove_eps_factor",
    "prove_table1",
    "rounding",
    "scale_cases",
    "scale_rows",
    "shift_cases",
    "shift_rows",
    "shift_summed",
    "statistics",
    "summed_inputs",
    "table1",
]
