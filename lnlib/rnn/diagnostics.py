r"""How a recurrent network behaves through time: magnitudes, saturation, Jacobians, Lyapunov exponents.

The state is what a network hands from one step to the next: h of all its layers, and for an LSTM then c of
all its layers, S numbers a case. Every function takes a module of this package and a sequence in the module's
own layout. Parameters and gradients of the module stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from lnlib.rnn.cells import Cell
from lnlib.rnn.forms import Form
from lnlib.rnn.network import Normalized

__all__ = [
    "Diagnosis",
    "Trace",
    "diagnose",
    "gradient_by_lag",
    "jacobians",
    "lyapunov",
    "singular_values",
    "trace",
]

State = tuple[Tensor, ...]  # h, and of an LSTM c: (layers, N, _) each

BEYOND = 0.95  # of its range, where a unit counts as saturated


@dataclass(frozen=True)
class Trace:
    """One layer through time.

    Attributes:
        h: its outputs, (T, N, R).
        c: an LSTM's cells, (T, N, H), before any normalization that only the output sees; else None.
        summed_inputs: $W_{xh}x^t + W_{hh}h^{t-1}$ of all gates, (T, N, G): no bias, no normalization.
        saturation: share of its sigmoids and tanhs beyond 95 % of their range, (T, N); 0 with a rectifier.
    """

    h: Float[Tensor, "T N R"]
    c: Float[Tensor, "T N H"] | None
    summed_inputs: Float[Tensor, "T N G"]
    saturation: Float[Tensor, "T N"]

    @property
    def mean(self) -> Float[Tensor, "T N"]:
        """Mean of the summed inputs over the units."""
        return self.summed_inputs.mean(-1)

    @property
    def std(self) -> Float[Tensor, "T N"]:
        """Standard deviation of the summed inputs over the units, biased as in Eq. (4)."""
        return self.summed_inputs.std(-1, correction=0)


class _Squashed(TorchFunctionMode):
    """Collects which outputs of sigmoids and tanhs lie beyond 95 % of their range."""

    def __init__(self) -> None:
        super().__init__()
        self.beyond: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func in (torch.sigmoid, torch.tanh):
            within = 2 * out - 1 if func is torch.sigmoid else out
            self.beyond.append(within.abs() > BEYOND)
        return out


def trace(module: Normalized, x: Tensor, hx: Any = None, *, layer: int = -1) -> Trace:
    """Follow one layer through a sequence.

    $a^t = W_{xh}x^t + W_{hh}h^{t-1}$.

    *Source* the text above Eq. (4).

    Args:
        module: unidirectional, any norm and variant.
        x: (T, N, D), or as the module's layout has it.
        hx: initial state in torch's forms; zeros where left out.
        layer: which one; the last by default.

    Returns:
        States, summed inputs and saturation of every step.

    Raises:
        ValueError: the module is bidirectional, or the sequence is empty.

    >>> from lnlib.rnn import RNN
    >>> trace(RNN(3, 8), torch.zeros(5, 2, 3)).std.shape
    torch.Size([5, 2])
    """
    cells, x, state = _begin(module, x, hx)
    layer, squashed = range(len(cells))[layer], _Squashed()
    with torch.no_grad():
        states = [state, *_walk(cells, x, state)]
        h, *rest = (torch.stack([s[k] for s in states]) for k in range(len(state)))  # (T + 1, layers, N, .)
        below, cell = h[1:, layer - 1] if layer else x, cells[layer]
        with squashed:
            for t, x_t in enumerate(below):
                cell.step(cell.inputs(x_t, t), tuple(s[layer] for s in states[t]), t)
        summed = below @ cell.p["weight_ih"].mT + h[:-1, layer] @ cell.p["weight_hh"].mT
    beyond = squashed.beyond or [torch.zeros_like(x_t, dtype=torch.bool) for x_t in x]
    saturation = torch.cat(beyond, -1).to(x.dtype).unflatten(-1, (len(x), -1)).mean(-1).mT  # (T, N)
    return Trace(h[1:, layer], rest[0][1:, layer] if rest else None, summed, saturation)


def jacobians(module: Normalized, x: Tensor, hx: Any = None) -> Float[Tensor, "T N S S"]:
    r"""How each state depends on the one before.

    $J_t = \partial s^t/\partial s^{t-1}$ at fixed input; rows are the new state's.

    *Source* ours; the derivative of Eq. (4) and of Eqs. (17)-(31).

    Args and Raises as :func:`trace`. It holds T N S² numbers: give it few cases.

    >>> from lnlib.rnn import LSTM
    >>> jacobians(LSTM(3, 8), torch.zeros(5, 2, 3)).shape
    torch.Size([5, 2, 16, 16])
    """
    cells, x, state = _begin(module, x, hx)
    size = _flat(state).shape[1]
    directions = torch.eye(size, dtype=x.dtype, device=x.device).expand(x.shape[1], size, size)
    steps = []
    for t, x_t in enumerate(x):
        state, columns = _push(cells, x_t, state, t, directions)
        steps.append(columns.mT)
    return torch.stack(steps)


def singular_values(module: Normalized, x: Tensor, hx: Any = None) -> Float[Tensor, "T N S"]:
    """Singular values of :func:`jacobians`, descending: how much one step stretches a change of the state.

    >>> from lnlib.rnn import RNN
    >>> singular_values(RNN(3, 8), torch.zeros(5, 2, 3)).shape
    torch.Size([5, 2, 8])
    """
    return torch.linalg.svdvals(jacobians(module, x, hx))


def lyapunov(
    module: Normalized, x: Tensor, hx: Any = None, exponents: int = 1, skip: int = 0
) -> Float[Tensor, "N exponents"]:
    r"""The largest Lyapunov exponents along a sequence, in nats a step.

    $Q_tR_t = J_tQ_{t-1}$ and $\lambda_k = \frac{1}{T-s}\sum_{t>s}\log|R_t|_{kk}$: positive if neighboring
    states part, negative if they meet.

    *Source* ours; the algorithm is Benettin's (1980), directions kept apart by QR.

    Args:
        module, x, hx: as :func:`trace`.
        exponents: how many, at most S.
        skip: leading steps left out of the mean, for the directions to turn into place.

    Returns:
        Exponents of each case, descending but for fluctuations; -inf where a step deletes a direction.

    Raises:
        ValueError: as :func:`trace`; `exponents` outside 1..S, or `skip` outside 0..T-1.

    >>> from lnlib.rnn import RNN
    >>> half = RNN(1, 2, bias=False, nonlinearity="relu", norm="none")
    >>> with torch.no_grad():
    ...     _ = half.weight_hh_l0.copy_(torch.eye(2) / 2), half.weight_ih_l0.fill_(1)
    >>> lyapunov(half, torch.ones(50, 1, 1))
    tensor([[-0.6931]])
    """
    cells, x, state = _begin(module, x, hx)
    size = _flat(state).shape[1]
    if not 1 <= exponents <= size:
        raise ValueError(f"exponents is {exponents}; the state has {size} directions, ask for 1 to {size}")
    if not 0 <= skip < len(x):
        raise ValueError(
            f"skip is {skip}; the sequence has {len(x)} steps, leave at least one to average over"
        )
    start = torch.randn(size, exponents, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = torch.linalg.qr(start).Q.to(x).expand(x.shape[1], size, exponents)
    total = x.new_zeros(x.shape[1], exponents)
    for t, x_t in enumerate(x):
        state, pushed = _push(cells, x_t, state, t, q.mT)
        q, r = torch.linalg.qr(pushed.mT)
        if t >= skip:
            total += r.diagonal(dim1=-2, dim2=-1).abs().log()
    return total / (len(x) - skip)


def gradient_by_lag(
    module: Normalized, x: Tensor, hx: Any = None, *, probes: int | None = 16
) -> Float[Tensor, " T"]:
    r"""How strongly the last output depends on the input k steps before, for every k.

    $G_k = \sqrt{E_n\lVert\partial h^T_n/\partial x^{T-k}_n\rVert_F^2}$, the mean over the cases.

    *Source* ours. A random vector v with independent entries of unit variance has $E\lVert J^\top v\rVert^2 =
    \lVert J\rVert_F^2$: few backward passes measure the whole Jacobian, without bias in the square.

    Args:
        module, x, hx: as :func:`trace`.
        probes: backward passes; None takes all R outputs one by one, which is exact.

    Returns:
        (T,), lag 0 first.

    Raises:
        ValueError: as :func:`trace`; fewer than one probe.

    >>> from lnlib.rnn import GRU
    >>> gradient_by_lag(GRU(3, 8), torch.zeros(5, 2, 3)).shape
    torch.Size([5])
    """
    if probes is not None and probes < 1:
        raise ValueError(f"probes is {probes}; give at least 1, or None for the exact norm")
    cells, x, state = _begin(module, x, hx)
    x = x.requires_grad_()
    with torch.enable_grad():
        for new in _walk(cells, x, state):
            last = new[0][-1]  # the top layer's h
    if probes is None:
        vectors = torch.eye(last.shape[1]).unsqueeze(1).expand(-1, *last.shape)
    else:
        vectors = torch.randn(probes, *last.shape, generator=torch.Generator().manual_seed(0))
    squares = x.new_zeros(len(x))
    for v in vectors.to(last):
        (gradient,) = torch.autograd.grad(last, x, v, retain_graph=True)
        squares += gradient.square().sum(-1).mean(-1)
    return (squares.flip(0) / (1 if probes is None else probes)).sqrt()


@dataclass(frozen=True)
class Diagnosis:
    """All of this module's measurements of one network on one batch of sequences."""

    trace: Trace
    singular_values: Float[Tensor, "T N S"]
    lyapunov: Float[Tensor, " N"]
    gradient_by_lag: Float[Tensor, " T"]


def diagnose(module: Normalized, x: Tensor, hx: Any = None) -> Diagnosis:
    """Every measurement of this module at once; arguments as :func:`trace`, a handful of cases is enough.

    >>> from lnlib.rnn import RNN
    >>> diagnose(RNN(3, 8), torch.zeros(5, 2, 3)).lyapunov.shape
    torch.Size([2])
    """
    found = trace(module, x, hx)
    exponent = lyapunov(module, x, hx, skip=len(found.h) // 4)[:, 0]
    return Diagnosis(found, singular_values(module, x, hx), exponent, gradient_by_lag(module, x, hx))


# A network as one map from state to state, and the derivative of that map along directions.


def _begin(module: Normalized, x: Tensor, hx: Any) -> tuple[list[Cell], Tensor, State]:
    """The layers' cells as in evaluation, x as (T, N, D), the state before the first step: all detached."""
    if not isinstance(module, Normalized) or not isinstance(x, Tensor):
        raise TypeError(
            f"the diagnostics follow a network of lnlib.rnn through a tensor, and were given "
            f"{type(module).__name__} and {type(x).__name__}; for torch.nn's networks take "
            f"norm='none' and load_torch, for packed sequences one call a length"
        )
    if module.bidirectional:
        raise ValueError(f"{module} also runs backward in time, where no state follows from the one before")
    training = module.training
    with torch.no_grad():
        try:
            cells = module.train(mode=False).cells()
        finally:
            module.train(training)
        form, x = Form.of(x.detach(), module.batch_first)
        state = form.initial(x, hx, module.num_layers, module.widths)
    if not form.steps or not form.cases:
        raise ValueError(
            f"the sequence has {form.steps} steps and {form.cases} cases; give at least one of each"
        )
    fixed = [replace(cell, p={name: value.detach() for name, value in cell.p.items()}) for cell in cells]
    return fixed, x.transpose(0, form.time), tuple(s.detach() for s in state)


def _advance(cells: list[Cell], x: Float[Tensor, "N D"], state: State, t: int) -> State:
    """Step t of all layers, counted from 0."""
    new: list[State] = []
    for layer, cell in enumerate(cells):
        new.append(cell.step(cell.inputs(x, t), tuple(s[layer] for s in state), t))
        x = new[-1][0]
    return tuple(torch.stack(s) for s in zip(*new, strict=True))


def _walk(cells: list[Cell], x: Float[Tensor, "T N D"], state: State) -> Iterator[State]:
    """The state after each step."""
    for t, x_t in enumerate(x):
        state = _advance(cells, x_t, state, t)
        yield state


def _push(
    cells: list[Cell], x: Float[Tensor, "N D"], state: State, t: int, v: Float[Tensor, "N k S"]
) -> tuple[State, Float[Tensor, "N k S"]]:
    r"""The state after step t, and $J v$ for k directions v of each case.

    $J = \partial s^t/\partial s^{t-1}$ at fixed input. $J^\top u$ is linear in u; its derivative along v is
    $J v$: reverse mode twice, on k copies of the case.
    """
    cases, k, _ = v.shape
    flat = _flat(state).repeat_interleave(k, 0).requires_grad_()
    with torch.enable_grad():
        out = _flat(_advance(cells, x.repeat_interleave(k, 0), _split(flat, state), t))
        u = torch.zeros_like(out, requires_grad=True)
        (pulled,) = torch.autograd.grad(out, flat, u, create_graph=True)
        (pushed,) = torch.autograd.grad(pulled, u, v.flatten(0, 1))
    return _split(out.detach()[::k], state), pushed.unflatten(0, (cases, k))


def _flat(state: State) -> Float[Tensor, "N S"]:
    """h of all layers, then c of all layers."""
    return torch.cat([s.transpose(0, 1).flatten(1) for s in state], 1)


def _split(flat: Float[Tensor, "N S"], like: State) -> State:
    """The way back, to states of these layers and widths."""
    shapes = [(len(s), s.shape[2]) for s in like]
    parts = zip(flat.split([layers * width for layers, width in shapes], 1), shapes, strict=True)
    return tuple(part.unflatten(1, shape).transpose(0, 1) for part, shape in parts)
