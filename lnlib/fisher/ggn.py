r"""The Fisher information of a network: the generalized Gauss-Newton matrix, its products and factor."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from lnlib.fisher.linearization import slices
from lnlib.fisher.matrix_free import MatrixFree
from lnlib.glm.families import named_family

__all__ = ["GGN", "predictions"]

COLUMNS = 64  # directions at a time


class GGN(MatrixFree):
    r"""The Fisher information matrix of a network, $F = E_n[J_n^\top C_n J_n]$, without forming it.

    $z_n$ are the network's outputs for case n, the natural parameters of an exponential family;
    $J_n = \partial z_n/\partial\theta$ and $C_n = \mathrm{Cov}[y|x_n]$, for a softmax
    $\mathrm{diag}(p_n) - p_np_n^\top$. For such outputs the Fisher information and the generalized
    Gauss-Newton matrix are one. J is taken as the transpose of $u \mapsto J^\top u$, so that layers need
    derivatives of the second order, and none in forward mode.

    *Source* Schraudolph (2002) for the products; Martens (2020) for the equality.
    *Conventions* cases are averaged, as in :func:`lnlib.fisher.fisher`; times N, the Hessian of a sum.

    Args:
        model: maps (N, ...) cases to (N, K) natural parameters, each case by itself, in one floating type.
        X: cases, the first axis.
        family: of the outputs, of dispersion 1: "categorical" (logits), "gaussian" (means), "poisson", ...
        parameters: names of those that vary, as in `named_parameters`; all for None.

    Attributes:
        values: the parameters that vary, by name, in their order in a vector. outputs: z, (N, K).

    Raises:
        TypeError: parameters of several types, or not of 32 or 64 bits.
        ValueError: batch norm in training mode, a pass that draws at random or changes a tensor of the model,
            backward hooks, outputs that are not (N, K), unknown names.

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
    ) -> None:
        own = {name: p.detach() for name, p in model.named_parameters()}
        unknown = sorted(set(parameters or ()) - own.keys())
        if unknown or not own:
            raise ValueError(
                f"parameters {unknown} are none of the model's; it has {', '.join(own) or 'none'}"
            )
        self.model, self.X = model, X
        self.values = {name: p for name, p in own.items() if parameters is None or name in parameters}
        self.fixed = {name: p for name, p in own.items() if name not in self.values}
        self.outputs = predictions(model, X)
        self.theta = torch.cat([self.outputs.new_empty(0), *(p.flatten() for p in self.values.values())])
        super().__init__(self.outputs, len(self.theta))
        distribution = named_family(family)
        distribution.check_domain(self.outputs)
        self.covariance = distribution.scaled_covariance(self.outputs, 1.0)

    def __repr__(self) -> str:
        return f"GGN({type(self.model).__name__}, N={len(self.X)}, P={self.shape[0]})"

    @torch.no_grad()
    def matmat(self, V: Float[Tensor, "P K"]) -> Float[Tensor, "P K"]:
        """F V, column by column."""
        self.check_vector(V)
        with _derivable():
            pull = vjp(lambda theta: self._outputs(theta, self.X), self.theta)[1]
            push = vjp(lambda u: pull(u)[0], self.outputs)[1]  # pull is linear: its transpose is J
            products = []
            for rows in V.mT.split(COLUMNS):
                (dz,) = vmap(push)(rows)
                (product,) = vmap(pull)(self.covariance.times(dz) / len(self.X))
                products.append(product)
        return torch.cat(products).mT

    @torch.no_grad()
    def factor(self) -> Iterator[Float[Tensor, "R P"]]:
        r"""B with $F = B^\top B$, some cases at a time: $L_n^\top J_n/\sqrt N$ with $L_nL_n^\top = C_n$.

        By one backward pass for each case and output: soon cheaper than a product for each parameter.

        Raises:
            ValueError: a recurrent layer of `torch.nn`, which does not run under `torch.vmap`.
        """
        theirs = [n for n, m in self.model.named_modules() if type(m) in (nn.RNN, nn.LSTM, nn.GRU)]
        if theirs:
            raise ValueError(
                f"{theirs} do not run under torch.vmap; give the model lnlib's with norm='none' (load_torch "
                "copies the weights), or take products, F @ torch.eye(P)"
            )
        jacobian = jacrev(lambda theta, x: self._outputs(theta, x[None])[0])
        for cases in slices(len(self.X), self.outputs.shape[1] * self.shape[0]):
            with _derivable():
                J = vmap(jacobian, in_dims=(None, 0))(self.theta, self.X[cases])
            yield (self.covariance[cases].factor().mT @ J).flatten(0, 1) / len(self.X) ** 0.5

    def to_dense(self) -> Float[Tensor, "P P"]:
        """The matrix, from its factor."""
        F = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        for B in self.factor():
            F.addmm_(B.mT, B)
        return F

    def _outputs(self, theta: Float[Tensor, " P"], X: Shaped[Tensor, "N ..."]) -> Float[Tensor, "N K"]:
        """The model's, where the parameters that vary have other values."""
        parts = theta.split([v.numel() for v in self.values.values()])
        moved = {name: p.view(v.shape) for (name, v), p in zip(self.values.items(), parts, strict=True)}
        return functional_call(self.model, self.fixed | moved, (X,))


@torch.no_grad()
def predictions(model: nn.Module, X: Shaped[Tensor, "N ..."]) -> Float[Tensor, "N K"]:
    """The outputs for all cases, from a pass that leaves the model as it is.

    Raises:
        TypeError, ValueError: where the prediction for a case is no function of that case and of the
            parameters alone; as :class:`GGN`.
    """
    own = dict(model.named_parameters()) | dict(model.named_buffers())
    types = {p.dtype for p in model.parameters()}
    if len(types) != 1 or not types <= {torch.float32, torch.float64}:
        raise TypeError(
            f"the parameters are {', '.join(sorted(map(str, types)))}; the curvature needs one type, "
            "torch.float64 or torch.float32: model.double()"
        )
    hooked = [n for n, m in model.named_modules() if m._backward_hooks or m._backward_pre_hooks]
    if hooked:
        raise ValueError(f"torch.func takes no backward hooks, which {hooked} have; remove them")
    endless = [name for name, t in own.items() if not bool(t.isfinite().all())]
    if endless:
        raise ValueError(f"{endless} contain NaN or infinity; load finite ones")
    copies = {name: t.detach().clone() for name, t in own.items()}
    with _derivable(), torch.random.fork_rng([X.device] if X.is_cuda else []):
        before = _random_states(X)
        z = functional_call(model, copies, (X,))
        random = not all(map(torch.equal, before, _random_states(X)))
    if random:
        raise ValueError("the model draws at random (dropout, zoneout); call model.eval()")
    moved = [name for name, t in own.items() if not torch.equal(t, copies[name])]
    batch = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    norms = ((name, m) for name, m in model.named_modules() if isinstance(m, batch))
    moved += [name for name, m in norms if m.training or m.running_mean is None]
    if moved:
        raise ValueError(
            f"a pass changes {moved} or normalizes there by the statistics of the batch, so that the cases "
            "are coupled; call model.eval(), with running statistics"
        )
    if not isinstance(z, Tensor) or z.ndim != 2 or len(z) != len(X) or 0 in z.shape:
        found = f"shape {tuple(z.shape)}" if isinstance(z, Tensor) else f"type {type(z).__name__}"
        raise ValueError(
            f"the model's output has {found}; it must be (N, K) with N = {len(X)} cases: "
            "wrap the model so that it returns the K natural parameters of each case"
        )
    if not types <= {z.dtype}:
        raise TypeError(f"the outputs are {z.dtype} and the parameters are not; compute in one type")
    return z


def _random_states(X: Tensor) -> list[Tensor]:
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(X.device)] if X.is_cuda else states


@contextmanager
def _derivable() -> Iterator[None]:
    """Attention on the paths of torch that have derivatives of all kinds; the fused ones lack some."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
