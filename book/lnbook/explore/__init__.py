"""Interactive figures: a Python builder and one small script each, no network, no kernel."""

from lnbook.explore.axis_flip import axis_flip
from lnbook.explore.case_scale import case_scale
from lnbook.explore.fisher_ellipse import fisher_ellipse
from lnbook.explore.five_reductions import five_reductions
from lnbook.explore.gain_and_bias import gain_and_bias
from lnbook.explore.invariance_playground import invariance_playground
from lnbook.explore.offset import offset
from lnbook.explore.recurrent_drift import recurrent_drift
from lnbook.explore.residual_depth import residual_depth
from lnbook.explore.strokes import strokes
from lnbook.explore.writing import writing

__all__ = [
    "axis_flip",
    "case_scale",
    "fisher_ellipse",
    "five_reductions",
    "gain_and_bias",
    "invariance_playground",
    "offset",
    "recurrent_drift",
    "residual_depth",
    "strokes",
    "writing",
]
