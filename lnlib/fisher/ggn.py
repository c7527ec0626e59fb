r"""The Fisher information of a network: the generalized Gauss-Newton matrix, its products and factor."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import jacrev, vjp, vmap

from lnlib.fisher.matrix_free import MatrixFree
from lnlib.fisher.network import check_outputs, derivable, network
from lnlib.glm.checks import check_case_weights, check_dispersion
from lnlib.glm.families import Family, named_family

__all__ = ["GGN", "case_shares", "likelihood"]

COLUMNS = 64  # directions at a time
FACTOR_NUMBERS = 2**22  # of the factor at a time: 32 MiB in float64


class GGN(MatrixFree):
    r"""The Fisher information matrix of a network, $F = E_n[J_n^\top C_n J_n]$, without forming it.

    $z_n$ are the network's outputs for case n, the natural parameters of an exponential family;
    $J_n = \partial z_n/\partial\theta$ and $C_n = \mathrm{Cov}[y|x_n]/\phi^2$, for a softmax
    $\mathrm{diag}(p_n) - p_np_n^\top$. For such outputs the Fisher information and the generalized
    Gauss-Newton matrix are one. J is taken as the transpose of $u \mapsto J^\top u$, so that layers need
    derivatives of the second order, and none in forward mode.

    *Source* Schraudolph (2002) for the products; Martens (2020) for the equality.
    *Conventions* cases are averaged, as in :func:`lnlib.fisher.fisher`; times N, the Hessian of a sum.

    Args:
        model: maps (N, ...) cases to (N, K) natural parameters, each case by itself, in one floating type.
        X: cases, the first axis.
        family: of the outputs: "categorical" (logits), "gaussian" (means), "bernoulli", "poisson", ...
        parameters: names of those that vary, as in `named_parameters`; all for None.
        weights: of the cases, (N,), normalized to sum 1.
        dispersion: $\phi$; of Gaussian outputs the variance.

    Raises:
        TypeError: parameters of several types, or not of 32 or 64 bits.
        ValueError: batch norm in training mode, active dropout, outputs that are not (N, K), unknown names.

    >>> model = nn.Linear(1, 1)
    >>> F = GGN(model, torch.tensor([[1.0], [3.0]]), "gaussian")
    >>> F @ torch.tensor([1.0, 0.0]), F.shape
    (tensor([5., 2.]), (2, 2))
    """

    def __init__(
        self,
        model: nn.Module,
        X: Shaped[Tensor, "N ..."],
        family: str = "categorical",
        parameters: Sequence[str] | None = None,
        weights: Float[Tensor, " N"] | None = None,
        dispersion: float = 1.0,
    ) -> None:
        self.network = network(model, X, parameters)
        self.share = case_shares(X, weights, self.network.like)
        with torch.no_grad(), derivable():
            self.outputs = self.network.outputs(self.network.values, X)
        check_outputs(self.outputs, len(X), self.network.like)
        self.covariance = likelihood(family, self.outputs, dispersion).scaled_covariance(
            self.outputs, dispersion
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(P, P)."""
        return self.network.size, self.network.size

    @property
    def dtype(self) -> torch.dtype:
        """The parameters' type."""
        return self.network.like.dtype

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.network.like.device

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that vary, in their order in a vector."""
        return tuple(self.network.values)

    def __repr__(self) -> str:
        return f"GGN({type(self.network.model).__name__}, N={len(self.share)}, P={self.shape[0]})"

    @torch.no_grad()
    def matmat(self, V: Float[Tensor, "P K"]) -> Float[Tensor, "P K"]:
        """F V, column by column."""
        self.check_vector(V)
        net = self.network

        def function(values: dict[str, Tensor]) -> Tensor:
            return net.outputs(values, net.X)

        with derivable():
            pull = vjp(function, net.values)[1]
            push = vjp(lambda u: pull(u)[0], self.outputs)[1]  # pull is linear: its transpose is J
            products = [V[:, :0]]
            for some in V.split(COLUMNS, 1):
                (dz,) = vmap(push)(net.unpack(some.mT))
                R = self.covariance.times(dz.movedim(0, 1)) * self.share[:, None, None]
                products.append(net.pack(vmap(pull)(R.movedim(1, 0))[0], axes=1).mT)
        return torch.cat(products, 1)

    def factor(self) -> Iterator[Float[Tensor, "R P"]]:
        r"""B with $F = B^\top B$, some cases at a time: $\sqrt{\omega_n}L_n^\top J_n$, $L_nL_n^\top = C_n$.

        By one backward pass for each case and output: soon cheaper than a product for each parameter. Raises
        ValueError for `torch.nn`'s recurrent layers, which do not run under `torch.vmap`.
        """
        net = self.network
        _check_vectorizable(net.model)

        def one(values: dict[str, Tensor], x: Tensor) -> Tensor:
            return net.outputs(values, x[None])[0]

        N, K = self.outputs.shape
        step = max(1, FACTOR_NUMBERS // (K * net.size))
        for start in range(0, N, step):
            cases = slice(start, min(start + step, N))
            with torch.no_grad(), derivable():
                parts = vmap(jacrev(one), in_dims=(None, 0))(net.values, net.X[cases])
            J = net.pack(parts, axes=2)  # (n, K, P)
            L = self.covariance[cases].factor() * self.share[cases, None, None].sqrt()
            yield (L.mT @ J).flatten(0, 1)

    def to_dense(self) -> Float[Tensor, "P P"]:
        """The matrix, from its factor."""
        F = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        for B in self.factor():
            F.addmm_(B.mT, B)
        return F


def _check_vectorizable(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if type(module) in (nn.RNN, nn.LSTM, nn.GRU):
            kind = type(module).__name__
            raise ValueError(
                f"torch.nn.{kind} {name!r} does not run under torch.vmap, which the factor needs; products "
                f"do not, and lnlib.{kind}(..., norm='none') with load_torch(module) computes the same"
            )


def likelihood(family: str, z: Float[Tensor, "N K"], dispersion: float) -> Family:
    """The family of that name, once outputs and dispersion are known to fit it."""
    distribution = named_family(family)
    check_dispersion(dispersion, z.mT)
    distribution.check_dispersion(dispersion)
    distribution.check_domain(z)
    return distribution


def case_shares(X: Tensor, weights: Tensor | None, like: Tensor) -> Float[Tensor, " N"]:
    """Weights of the cases that sum to 1, in the parameters' type."""
    if weights is None:
        return like.new_full((len(X),), 1 / len(X))
    check_case_weights(X, weights)
    return (weights / weights.sum()).to(like)
