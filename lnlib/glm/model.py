r"""Generalized linear models with normalized summed inputs: the models whose geometry Section 5.2 studies.

$z_i = g_i\,\frac{w_i^\top x - \mu_i}{\sigma_i} + b_i$ are the natural parameters of an exponential family
(:mod:`lnlib.glm.families`); without a normalization $z = Wx + b$.
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.families import Family, named_family
from lnlib.norms.checks import check_tensor, is_eps
from lnlib.norms.normalize import layer_norm, rms_norm, weight_norm
from lnlib.norms.standardize import affine, over_root

__all__ = ["GLM", "NORMS", "Weights", "check_array", "weighted_mean"]

#: What a GLM may be normalized by.
NORMS = (None, "batch", "weight", "layer", "rms")
#: Of the cases: numbers that are divided by their sum, or equal ones.
Weights = Float[Tensor, " N"] | None


@dataclass(frozen=True, eq=False, repr=False)
class GLM:
    r"""H outputs of one exponential family on D features, with or without a normalization.

    $\log P(y\mid x) = \frac{z^\top y - \eta(z)}{\phi} + c(y,\phi)$, $z = \bar a + b$ and $\bar a$ the
    normalized summed inputs $Wx$ times the gain.

    *Source* Eqs. (10)-(11), and the paragraph above Eq. (13) for the normalized models.

    Args:
        family: "gaussian", "bernoulli", "poisson", "gamma" or "categorical".
        W: weights, (H, D).
        b: biases, (H,).
        dispersion: $\phi$; for Gaussian outputs the variance.
        norm: None, "batch" (Eq. (2) over the given cases), "weight", "layer" (Eq. (3)) or "rms".
        gain: g, (H,); ones where a normalization has none; refused without a normalization.
        eps: added to the variance under the root; the paper prints none.

    Raises:
        TypeError: parameters that are not floating point or of different dtypes.
        ValueError: unknown family or norm, shapes that do not fit, non-finite parameters, a gain without a
            norm, a zero weight vector under weight norm, a dispersion that no distribution of the family has.

    >>> glm = GLM("bernoulli", torch.tensor([[1.0, -1.0]]), torch.tensor([0.0]))
    >>> glm.mean(torch.tensor([[2.0, 2.0]]))
    tensor([[0.5000]])
    """

    family: str
    W: Float[Tensor, "H D"]
    b: Float[Tensor, " H"]
    dispersion: float = 1.0
    norm: str | None = None
    gain: Float[Tensor, " H"] | None = None
    _: KW_ONLY
    eps: float = 0.0
    distribution: Family = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.W, Tensor) or self.W.dtype not in (torch.float32, torch.float64):
            found = self.W.dtype if isinstance(self.W, Tensor) else type(self.W).__name__
            raise TypeError(f"W is of type {found}; give a tensor of torch.float32 or torch.float64")
        if self.W.ndim != 2 or 0 in self.W.shape:
            raise ValueError(f"W has shape {tuple(self.W.shape)}; give it as (H, D) with H, D >= 1")
        if self.norm not in NORMS:
            raise ValueError(f"norm is {self.norm!r}; use None, 'batch', 'weight', 'layer' or 'rms'")
        if self.norm is None and self.gain is not None:
            raise ValueError("a gain was given without a norm; choose one, or multiply the rows of W by it")
        if self.norm is not None and self.gain is None:
            object.__setattr__(self, "gain", torch.ones_like(self.W[:, 0]))
        check_array("W", self.W, self.W, self.W.shape)
        for name, value in (("b", self.b), ("gain", self.gain)):
            if value is not None or name == "b":
                check_array(name, value, self.W, self.W.shape[:1])
        if self.norm == "weight" and bool((self.W == 0).all(1).any()):
            raise ValueError("a row of W is zero, and weight norm divides by its length; start it elsewhere")
        if not is_eps(self.eps):
            raise ValueError(f"eps is {self.eps!r}; it is added to a variance, give a number >= 0")
        if self.eps and self.norm in (None, "weight"):
            raise ValueError(f"eps is {self.eps} with norm {self.norm!r}, which has no variance; leave it 0")
        if isinstance(self.dispersion, bool) or not isinstance(self.dispersion, (int, float)):
            raise TypeError(f"dispersion is of type {type(self.dispersion).__name__}; give a float")
        object.__setattr__(self, "distribution", named_family(self.family))
        self.distribution.check_dispersion(self.dispersion)

    def __repr__(self) -> str:
        units, inputs = self.W.shape
        return f"GLM({self.family}, H={units}, D={inputs}, norm={self.norm}, {self.W.dtype})"

    # --- parameters in the order of Eqs. (12) and (13): [w_1, b_1, g_1, w_2, ...] -----------------

    @property
    def theta(self) -> Float[Tensor, " P"]:
        """All parameters as one vector; P = H (D + 1), or H (D + 2) with a gain."""
        return self.pack(self.W, self.b, self.gain)

    def pack(
        self, W: Float[Tensor, "*K H D"], b: Float[Tensor, "*K H"], g: Float[Tensor, "*K H"] | None
    ) -> Float[Tensor, "*K P"]:
        """Parameter arrays, or directions shaped like them, as vectors."""
        columns = [W, b[..., None]] if self.norm is None else [W, b[..., None], g[..., None]]  # type: ignore[index]
        return torch.cat(columns, -1).flatten(-2)

    def unpack(
        self, theta: Float[Tensor, "*K P"]
    ) -> tuple[Float[Tensor, "*K H D"], Float[Tensor, "*K H"], Float[Tensor, "*K H"] | None]:
        """The inverse of `pack`. Raises ValueError if the length is not that of `theta`."""
        (H, D), extra = self.W.shape, 1 if self.norm is None else 2
        if theta.shape[-1] != H * (D + extra):
            raise ValueError(
                f"the vector has {theta.shape[-1]} entries and the model {H * (D + extra)} parameters: "
                f"H = {H} times (D = {D} plus {'bias' if extra == 1 else 'bias and gain'})"
            )
        rows = theta.unflatten(-1, (H, D + extra))
        return rows[..., :D], rows[..., D], None if extra == 1 else rows[..., D + 1]

    def with_theta(self, theta: Float[Tensor, " P"]) -> "GLM":
        """The same model at other parameters; differentiable in them."""
        W, b, g = self.unpack(theta)
        return replace(self, W=W, b=b, gain=g)

    # --- from features to natural parameters -------------------------------------------------------

    def case_weights(self, X: Float[Tensor, "N D"], weights: Weights) -> Float[Tensor, " N"]:
        """Non-negative weights that sum to 1; equal ones for None. Raises ValueError for any other."""
        self._check_features(X)
        if weights is None:
            return X.new_full((len(X),), 1 / len(X))
        if not isinstance(weights, Tensor):
            found = type(weights).__name__
            raise TypeError(f"weights are of type {found}; give a tensor with one number a case")
        total = weights.sum()
        if weights.shape != X.shape[:1] or not bool((weights >= 0).all() and 0 < total < float("inf")):
            raise ValueError(
                f"weights have shape {tuple(weights.shape)} and sum {total:g}; give {len(X)} finite "
                "numbers >= 0, one a case, not all of them 0"
            )
        weights = weights.to(X.dtype)
        return weights / weights.sum()

    def _check_features(self, X: Tensor) -> None:
        cases = max(1, len(X)) if isinstance(X, Tensor) and X.ndim else 1
        check_array("X", X, self.W, (cases, self.W.shape[1]))

    def moments(
        self, X: Float[Tensor, "N D"], weights: Weights = None
    ) -> tuple[Float[Tensor, " H"], Float[Tensor, " H"]]:
        """Mean and biased variance of each unit over the cases."""
        share = self.case_weights(X, weights)
        a = X @ self.W.mT
        mean = weighted_mean(a, share)
        return mean, share @ (a - mean).square()

    def natural(self, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "N H"]:
        """Natural parameters z of each case; the weights matter to batch norm's statistics only."""
        self._check_features(X)
        if self.norm == "weight":
            z = X @ weight_norm(self.W, self.gain).mT + self.b
        elif self.norm == "batch":
            mean, var = self.moments(X, weights)
            z = affine(over_root(X @ self.W.mT - mean, var + self.eps), self.gain, self.b, 1)
        elif self.norm == "layer":
            z = layer_norm(X @ self.W.mT, self.gain, self.b, self.eps)
        elif self.norm == "rms":
            z = rms_norm(X @ self.W.mT, self.gain, self.eps) + self.b
        else:
            z = X @ self.W.mT + self.b
        self.distribution.check_domain(z.detach())
        return z

    # --- the distribution of the outputs ------------------------------------------------------------

    def mean(self, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "N H"]:
        """$E[y|x]$, Eq. (11); for a categorical family the probabilities."""
        return self.distribution.mean(self.natural(X, weights))

    def covariance(self, X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, "N H H"]:
        r"""$\mathrm{Cov}[y|x]$, Eq. (11); of the classes' indicators for a categorical family."""
        return self.scaled_covariance(X, weights).dense() * self.dispersion**2

    def scaled_covariance(self, X: Float[Tensor, "N D"], weights: Weights = None) -> OutputCovariance:
        r"""$\mathrm{Cov}[y|x]/\phi^2$, the factor of Eq. (12), in the structure it has."""
        return self.distribution.scaled_covariance(self.natural(X, weights), self.dispersion)

    def log_likelihood(
        self, X: Float[Tensor, "N D"], y: Shaped[Tensor, "N *H"], weights: Weights = None
    ) -> Float[Tensor, " N"]:
        r"""$\log P(y|x)$ of each case, Eq. (10), base measure included."""
        z = self.natural(X, weights)
        check_tensor("log_likelihood", "y", y)
        self.distribution.check_outcome(y, z.detach(), self.dispersion)
        return self.distribution.log_likelihood(y, z, self.dispersion)

    def kl(self, other: "GLM", X: Float[Tensor, "N D"], weights: Weights = None) -> Float[Tensor, " N"]:
        r"""$D_{KL}[P(y|x;\theta)\,\|\,P(y|x;\theta')]$ of each case, exactly.

        Raises ValueError for different distributions.
        """
        kinds = [(m.family, m.dispersion, len(m.W)) for m in (self, other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"the divergence of {self!r} from {other!r} needs one family, dispersion and number of units"
            )
        return self.distribution.kl(self.natural(X, weights), other.natural(X, weights), self.dispersion)


def weighted_mean(x: Float[Tensor, "N D"], share: Float[Tensor, " N"]) -> Float[Tensor, " D"]:
    """The mean over the cases by their shares; equal values have exactly themselves as their mean."""
    origin = x[share > 0][0]
    return origin + share @ (x - origin)


def check_array(name: str, value: Any, like: Tensor, shape: tuple[Any, ...]) -> None:
    """Refuse what is no finite tensor of this shape, of the type and on the device of the weights."""
    if not isinstance(value, Tensor) or value.dtype != like.dtype or not value.is_floating_point():
        found = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"{name} is of type {found}; give a tensor like the weights, of {like.dtype}")
    if value.device != like.device:
        raise ValueError(f"{name} is on {value.device}, the weights on {like.device}; move one of them")
    if value.shape != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; give it as {tuple(shape)}")
    if not bool(torch.isfinite(torch.stack(torch.aminmax(value.detach()))).all()):  # no copy, unlike isfinite
        raise ValueError(f"{name} contains NaN or infinity; remove or repair what does")
