"""Laplace's evidence by laplace-torch, for a network whose prior has one precision.

Needs the extra `laplace`: pip install -c constraints.txt -e '.[laplace]'
"""

import warnings

import torch
from torch import Tensor, nn
from torch.func import jvp
from torch.utils.data import DataLoader, TensorDataset

# A dependency of laplace-torch imports torchvision. Where torch is built for the CPU and torchvision is not,
# that import stops at the first of these operators unless they are declared. Nothing here calls them.
OPERATORS = ("nms", "qnms")
SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
DECLARED = torch.library.Library("torchvision", "FRAGMENT")
try:
    import torchvision  # noqa: F401 - to see whether it can be
except RuntimeError:
    for operator in OPERATORS:
        DECLARED.define(operator + SCHEMA)

# A dependency of laplace-torch and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from laplace import Laplace

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))


def log_evidence(model: nn.Module, X: Tensor, y: Tensor, prior_precision: float = 1.0) -> float:
    """The log marginal likelihood of the class labels, in nats, with the full Gauss-Newton matrix.

    laplace-torch makes some constants in torch's default dtype; set it to the model's for full precision.
    """
    posterior = Laplace(
        model,
        "classification",
        subset_of_weights="all",
        hessian_structure="full",
        prior_precision=prior_precision,
    )
    posterior.fit(DataLoader(TensorDataset(X, y), batch_size=len(X)))
    return float(posterior.log_marginal_likelihood())
