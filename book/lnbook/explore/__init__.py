"""Interactive figures: a Python builder and one small script each, no network, no kernel."""

from lnlib.explore.axis_flip import axis_flip
from lnlib.explore.case_scale import case_scale
from lnlib.explore.fisher_ellipse import fisher_ellipse
from lnlib.explore.five_reductions import five_reductions
from lnlib.explore.gain_and_bias import gain_and_bias
from lnlib.explore.invariance_playground import invariance_playground
from lnlib.explore.offset import offset
from lnlib.explore.recurrent_drift import recurrent_drift
from lnlib.explore.residual_depth import residual_depth
from lnlib.explore.strokes import strokes
from lnlib.explore.writing import writing

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
