r"""Exponential families of outputs: Eqs. (10) and (11), for one case or many.

$\log P(y\mid z) = \frac{z^\top y - \eta(z)}{\phi} + c(y, \phi)$ with natural parameter $z$, log partition
function $\eta$, dispersion $\phi$ and logarithm of the base measure $c$. The mean is $\nabla\eta(z)$ and the
covariance $\phi\nabla^2\eta(z)$.

=================  ==========================================  ==================  =======================
family             outcome `y`                                 dispersion          natural domain
=================  ==========================================  ==================  =======================
gaussian           (N, H) real                                 variance or matrix  all
bernoulli          (N, H) in {0, 1}                            1                   all
binomial           (N, H) counts out of `trials`               1                   all
poisson            (N, H) multiples of the dispersion          positive            all (rate representable)
gamma              (N, H) positive                             1 / shape           z < 0
categorical        (N,) class 0 .. H-1, or 0 .. H with a       1                   all
                   reference class H whose logit is 0
=================  ==========================================  ==================  =======================

*Erratum* below Eq. (11) the paper calls $c$ the log partition function; $\eta$ is.
"""

from lnlib.glm.families.base import Family
from lnlib.glm.families.continuous import Gamma, Gaussian
from lnlib.glm.families.discrete import Bernoulli, Binomial, Categorical, Poisson

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Family",
    "Gamma",
    "Gaussian",
    "Poisson",
    "named_family",
]

#: The names that :func:`named_family` knows.
FAMILIES = ("gaussian", "bernoulli", "binomial", "poisson", "gamma", "categorical")


def named_family(name: str, trials: int = 1, reference: bool = False) -> Family:
    """The family of that name; refuses options that it does not have.

    >>> named_family("binomial", trials=5)
    Binomial(trials=5)
    """
    if name not in FAMILIES:
        raise ValueError(f"family is {name!r}; use one of {', '.join(FAMILIES)}")
    if name == "binomial":
        return Binomial(trials)
    if trials != 1:
        raise ValueError(f"trials is {trials} for {name} outputs; only binomial outcomes count trials")
    if name == "categorical":
        return Categorical(reference)
    if reference:
        raise ValueError(f"reference is set for {name} outputs; only a categorical family has classes")
    families: dict[str, type[Family]] = {
        "gaussian": Gaussian,
        "bernoulli": Bernoulli,
        "poisson": Poisson,
        "gamma": Gamma,
    }
    return families[name]()
