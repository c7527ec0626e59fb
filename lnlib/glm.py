r"""Generalized linear models with normalized summed inputs: the models whose geometry Section 5.2 studies.

$z_i = g_i\,\frac{w_i^\top x - \mu_i}{\sigma_i} + b_i$ are the natural parameters of an exponential family
(:mod:`lnlib.families`); without a normalization $z = Wx + b$.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from lnlib.covariance import OutputCovariance
from lnlib.families import FAMILIES, Bernoulli, Binomial, Categorical, Family, Gamma, Gaussian, Poisson
from lnlib.normalize import batch_norm_by, layer_norm, rms_norm, weight_norm

__all__ = ["GLM", "NORMS"]

NORMS = (None, "batch", "weight", "layer", "rms")


@dataclass(frozen=True, eq=False, repr=False)
class GLM:
    r"""H outputs of one exponential family on D features, with or without a normalization.

    $\log P(y\mid x) = \frac{z^\top y - \eta(z)}{\phi} + c(y,\phi)$, $z = \bar a + b$ and $\bar a$ the
    normalized summed inputs $Wx$ times the gain.

    *Source* Eqs. (10)-(11), and the paragraph above Eq. (13) for the normalized models.

    Args:
        family: "gaussian", "bernoulli", "binomial", "poisson", "gamma" or "categorical".
        W: weights, (H, D); `b`: biases, (H,).
        dispersion: $\phi$; for Gaussian outputs the variance or an (H, H) covariance matrix.
        norm: None, "batch" (Eq. (2) over the given cases), "weight", "layer" (Eq. (3)) or "rms".
        gain: g, (H,); ones where a normalization has none; refused without a normalization.
        trials: of a binomial outcome.
        reference: a categorical family has one more class, H, whose logit is 0.
        eps: added to the variance under the root; the paper prints none.
        frozen: batch norm's statistics are constants: nothing is differentiated through them.
        statistics: mean and variance, (H,) each, that frozen batch norm uses; those of the given cases if None.

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
    dispersion: float | Tensor = 1.0
    norm: str | None = None
    gain: Float[Tensor, " H"] | None = None
    _: KW_ONLY
    trials: int = 1
    reference: bool = False
    eps: float = 0.0
    frozen: bool = False
    statistics: tuple[Float[Tensor, " H"], Float[Tensor, " H"]] | None = None
    distribution: Family = field(init=False)

    def __post_init__(self) -> None:
        _check_parameters(self)
        if self.norm is not None and self.gain is None:
            object.__setattr__(self, "gain", torch.ones_like(self.b))
        object.__setattr__(self, "distribution", _distribution(self.family, self.trials, self.reference))
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

    def with_theta(self, theta: Float[Tensor, " P"]) -> GLM:
        """The same model at other parameters; differentiable in them."""
        W, b, g = self.unpack(theta)
        return replace(self, W=W, b=b, gain=g)

    # --- from features to natural parameters -------------------------------------------------------

    def case_weights(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None
    ) -> Float[Tensor, " N"]:
        """Non-negative weights that sum to 1; equal ones for None. Raises ValueError for any other."""
        _check_features(self, X)
        if weights is None:
            return X.new_full((len(X),), 1 / len(X))
        if weights.shape != X.shape[:1] or not bool(
            (weights >= 0).all() and 0 < weights.sum() < float("inf")
        ):
            raise ValueError(
                f"weights have shape {tuple(weights.shape)} and sum {weights.sum():g}; give {len(X)} finite "
                "numbers >= 0, one a case, not all of them 0"
            )
        weights = weights.to(X.dtype)
        return weights / weights.sum()

    def moments(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> tuple[Float[Tensor, " H"], Float[Tensor, " H"]]:
        """Mean and biased variance of each unit over the cases, or the constants of frozen batch norm."""
        if self.statistics is not None:
            return self.statistics
        share = self.case_weights(X, weights)
        a = X @ self.W.mT
        mean = share @ a
        var = share @ (a - mean).square()
        return (mean.detach(), var.detach()) if self.frozen else (mean, var)

    def freeze(self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None) -> GLM:
        """The model whose batch statistics are constants from now on: those of these cases."""
        if self.norm != "batch":
            raise ValueError(f"norm is {self.norm!r}; only batch norm has statistics to freeze")
        mean, var = self.moments(X, weights)
        return replace(self, frozen=True, statistics=(mean.detach(), var.detach()))

    def natural(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N H"]:
        """Natural parameters z of each case; the weights matter to batch norm's statistics only."""
        _check_features(self, X)
        if self.norm == "weight":
            z = X @ weight_norm(self.W, self.gain).mT + self.b
        elif self.norm == "batch":
            z = batch_norm_by(X @ self.W.mT, *self.moments(X, weights), self.gain, self.b, self.eps)
        elif self.norm == "layer":
            z = layer_norm(X @ self.W.mT, self.gain, self.b, self.eps)
        elif self.norm == "rms":
            z = rms_norm(X @ self.W.mT, self.gain, self.eps) + self.b
        else:
            z = X @ self.W.mT + self.b
        self.distribution.check_domain(z.detach())
        return z

    # --- the distribution of the outputs ------------------------------------------------------------

    def mean(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N H"]:
        """$E[y|x]$, Eq. (11); for a categorical family the probabilities of the first H classes."""
        return self.distribution.mean(self.natural(X, weights))

    def covariance(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N H H"]:
        r"""$\mathrm{Cov}[y|x]$, Eq. (11); of the classes' indicators for a categorical family."""
        C = self.scaled_covariance(X, weights).dense()
        phi = self.dispersion
        return phi @ C @ phi if isinstance(phi, Tensor) else C * phi**2

    def scaled_covariance(
        self, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> OutputCovariance:
        r"""$\mathrm{Cov}[y|x]/\phi^2$, the factor of Eq. (12), in the structure it has."""
        return self.distribution.scaled_covariance(self.natural(X, weights), self.dispersion)

    def log_likelihood(
        self, X: Float[Tensor, "N D"], y: Shaped[Tensor, "N *H"], weights: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, " N"]:
        r"""$\log P(y|x)$ of each case, Eq. (10), base measure included."""
        z = self.natural(X, weights)
        self.distribution.check_outcome(y, z.detach(), self.dispersion)
        return self.distribution.log_likelihood(y, z, self.dispersion)

    def kl(
        self, other: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
    ) -> Float[Tensor, " N"]:
        r"""$D_{KL}[P(y|x;\theta)\,\|\,P(y|x;\theta')]$ of each case, exactly.

        Frozen batch statistics are this model's in both. Raises ValueError for different distributions.
        """
        same = self.distribution == other.distribution and self.W.shape[0] == other.W.shape[0]
        if not same or not _equal(self.dispersion, other.dispersion):
            raise ValueError(
                f"the divergence of {self!r} from {other!r} needs one family, dispersion and number of units"
            )
        if self.norm == other.norm == "batch" and self.frozen and other.frozen and other.statistics is None:
            other = replace(other, statistics=self.moments(X, weights))
        return self.distribution.kl(self.natural(X, weights), other.natural(X, weights), self.dispersion)

    def sample(
        self,
        X: Float[Tensor, "N D"],
        generator: torch.Generator | None = None,
        weights: Float[Tensor, " N"] | None = None,
    ) -> Shaped[Tensor, "N *H"]:
        """One outcome for each case."""
        with torch.no_grad():
            return self.distribution.sample(self.natural(X, weights), self.dispersion, generator)


def _distribution(family: str, trials: int, reference: bool) -> Family:
    plain: Mapping[str, type[Family]] = {
        "gaussian": Gaussian,
        "bernoulli": Bernoulli,
        "poisson": Poisson,
        "gamma": Gamma,
    }
    if family not in FAMILIES:
        raise ValueError(f"family is {family!r}; use one of {', '.join(FAMILIES)}")
    if trials != 1 and family != "binomial":
        raise ValueError(f"trials is {trials} for {family} outputs; only binomial outcomes count trials")
    if reference and family != "categorical":
        raise ValueError(f"reference is set for {family} outputs; only a categorical family has classes")
    if family == "binomial":
        return Binomial(trials)
    return Categorical(reference) if family == "categorical" else plain[family]()


def _equal(one: float | Tensor, two: float | Tensor) -> bool:
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        return torch.equal(one, two)
    return not isinstance(one, Tensor) and not isinstance(two, Tensor) and one == two


def _check_parameters(glm: GLM) -> None:
    W, b = glm.W, glm.b
    if glm.norm not in NORMS:
        raise ValueError(f"norm is {glm.norm!r}; use None, 'batch', 'weight', 'layer' or 'rms'")
    if W.ndim != 2 or 0 in W.shape or b.shape != W.shape[:1]:
        raise ValueError(
            f"W has shape {tuple(W.shape)} and b {tuple(b.shape)}; give W as (H, D), H, D >= 1, and b as (H,)"
        )
    if glm.norm is None and glm.gain is not None:
        raise ValueError(
            "a gain was given without a norm; choose a norm, or multiply the rows of W by the gain"
        )
    named = {"W": W, "b": b} | ({} if glm.gain is None else {"gain": glm.gain})
    for name, value in named.items():
        if not value.is_floating_point() or value.dtype != W.dtype:
            raise TypeError(
                f"{name} is {value.dtype} and W {W.dtype}; give all of them in one floating dtype"
            )
        if name != "W" and value.shape != b.shape:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; give one number a unit: {tuple(b.shape)}"
            )
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} contains NaN or infinity; the model needs finite parameters")
    phi = glm.dispersion
    if isinstance(phi, Tensor) and phi.shape != (len(b), len(b)):
        raise ValueError(
            f"dispersion has shape {tuple(phi.shape)}; a covariance of the outputs is {len(b), len(b)}"
        )
    if glm.norm == "weight" and bool((W == 0).all(1).any()):
        rows = (W == 0).all(1).nonzero().flatten().tolist()
        raise ValueError(
            f"rows {rows} of W are zero; weight norm divides by their length: start them elsewhere"
        )
    if not 0 <= glm.eps < float("inf"):
        raise ValueError(f"eps is {glm.eps}; it is added to a variance, give a number >= 0")
    if (glm.frozen or glm.statistics is not None) and glm.norm != "batch":
        raise ValueError(f"frozen statistics were given with norm {glm.norm!r}; only batch norm has them")
    if glm.statistics is not None and not glm.frozen:
        raise ValueError("statistics were given and frozen is False; set frozen=True, or leave them out")


def _check_features(glm: GLM, X: Tensor) -> None:
    if X.ndim != 2 or X.shape[1] != glm.W.shape[1] or len(X) == 0:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; give one row a case, at least one, of D = {glm.W.shape[1]} features"
        )
    if X.dtype != glm.W.dtype:
        raise TypeError(f"X is {X.dtype} and W {glm.W.dtype}; convert one of them")
    if not bool(torch.isfinite(X).all()):
        bad = int((~torch.isfinite(X)).any(1).sum())
        raise ValueError(f"X contains NaN or infinity in {bad} of {len(X)} cases; remove or repair them")
