r"""Natural gradients for layer-normalized softmax regression, against SGD and Adam.

The model is $z = g\odot\mathrm{LN}(Wx) + b$ with a softmax on top, trained on mini-batches. The natural
step solves $(F+\lambda I)\delta = \nabla L$ with the Fisher matrix of the same mini-batch: exact, as Eq. (13)
prints it, in Kronecker factors, or the empirical one, whose outcomes are the labels in the data and not draws
of the model.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int64
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from lnbook import data
from lnbook.races import arrival
from lnbook.training import Minibatches, Row, generators
from lnlib.fisher import FisherOperator
from lnlib.fisher.linearization import linearize
from lnlib.glm import GLM

Method = Literal["sgd", "adam", "natural", "kfac", "printed", "empirical"]
METHODS: tuple[Method, ...] = get_args(Method)
RATES = (0.3, 1.0, 0.1, 3.0, 0.03, 10.0)  # the middle first: what is slower than the best so far, stops
DAMPINGS = (0.01, 0.03, 0.1)  # the mean eigenvalue of F at the start is 0.07
BATCH = 256
SOLVE = {"rtol": 1e-2, "maxiter": 60}  # of conjugate gradients; a tighter one changes no curve visibly


class Setting(NamedTuple):
    """A learning rate, and a damping where the method has one."""

    rate: float
    damping: float = 0.0


TUNED: dict[Method, Setting] = {  # what `tune` takes for seeds 100 to 102
    "sgd": Setting(3.0),
    "adam": Setting(0.1),
    "natural": Setting(0.3, 0.01),
    "kfac": Setting(0.3, 0.01),
    "printed": Setting(0.1, 0.03),
    "empirical": Setting(3.0, 0.03),
}


@dataclass(frozen=True)
class Task:
    """Cases to learn and cases to be tested on."""

    x: Float[Tensor, "N D"]
    y: Int64[Tensor, " N"]
    test_x: Float[Tensor, "M D"]
    test_y: Int64[Tensor, " M"]


def digits() -> Task:
    """Scikit-learn's 8x8 digits: 1,318 to learn from, 360 by other hands as a test, in float64."""
    images = data.load("digits")
    parts = [torch.from_numpy(part) for name in ("train", "test") for part in images.flat(name)]
    return Task(parts[0].double(), parts[1], parts[2].double(), parts[3])


def start(task: Task, generator: torch.Generator) -> GLM:
    r"""The model before training: $w_{ij}\sim N(0, 1/D)$, gains 1, biases 0."""
    D, H = task.x.shape[1], int(task.y.max()) + 1
    W = torch.randn(H, D, generator=generator, dtype=task.x.dtype) / D**0.5
    return GLM("categorical", W, W.new_zeros(H), norm="layer")


def gradient(glm: GLM, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"]) -> Float[Tensor, " P"]:
    r"""Gradient of the mean negative log-likelihood: $E_n[J_n^\top(p_n - e_{y_n})]$."""
    return glm.pack(*linearize(glm, x).pull(glm.mean(x) - one_hot(y, len(glm.b))))


def direction(
    method: Method, glm: GLM, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"], damping: float
) -> Float[Tensor, " P"]:
    r"""The step of a method without memory: the gradient, or $(F+\lambda I)^{-1}$ times it.

    "natural" and "printed" run conjugate gradients on the matrix-free operator. "kfac" solves exactly with
    Kronecker factors for the weights and a block each for biases and gains; "empirical" exactly on the side
    of the cases, $F_{emp} = \frac1N\sum_n\nabla\ell_n\nabla\ell_n^\top$ being of rank N.
    """
    g = gradient(glm, x, y)
    if method == "sgd":
        return g
    if method == "kfac":
        return _factored(glm, x, g, damping)
    if method == "empirical":
        B = _case_gradients(glm, x, y) / len(x) ** 0.5
        K = B @ B.mT
        K.diagonal().add_(damping)
        solution = torch.cholesky_solve((B @ g)[:, None], torch.linalg.cholesky(K)).squeeze(1)
        return (g - B.mT @ solution) / damping
    F = FisherOperator(glm, x, printed=method == "printed")

    def damped(v: np.ndarray) -> np.ndarray:
        w = torch.from_numpy(v)
        return (F @ w + damping * w).numpy()

    solution, _ = cg(LinearOperator(F.shape, matvec=damped, dtype=np.float64), g.numpy(), **SOLVE)
    return torch.from_numpy(solution)


def _factored(
    glm: GLM, x: Float[Tensor, "N D"], g: Float[Tensor, " P"], damping: float
) -> Float[Tensor, " P"]:
    r"""The damped solve with $E_n[S_n]\otimes E_n[x_nx_n^\top]$ for the weights, none between groups."""
    lin, C = linearize(glm, x), glm.covariance(x)
    (s, U), (a, V) = (torch.linalg.eigh(m) for m in (lin.sandwich(C)[1].mean(0), x.mT @ x / len(x)))
    W, b, gain = glm.unpack(g)
    W = U @ (U.mT @ W @ V / (s[:, None] * a + damping)) @ V.mT
    blocks = C.mean(0), (lin.unit[:, :, None] * C * lin.unit[:, None]).mean(0)
    damped = damping * torch.eye(len(b), dtype=x.dtype)
    b, gain = (torch.linalg.solve(F + damped, v) for F, v in zip(blocks, (b, gain), strict=True))
    return glm.pack(W, b, gain)


def _case_gradients(glm: GLM, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"]) -> Float[Tensor, "N P"]:
    lin, r = linearize(glm, x), glm.mean(x) - one_hot(y, len(glm.b))
    A = lin.project(r * lin.scale)
    return glm.pack(A[:, :, None] * x[:, None, :], r, r * lin.unit)


def train(task: Task, method: Method, setting: Setting, seed: int, steps: int, every: int) -> list[Row]:
    """One run: loss of all training cases and test error (%) every so many steps.

    `seconds` are the processor's, and count the steps alone, not the measurements. Two methods of one seed
    start from the same weights and see the same mini-batches.
    """
    weights, order = generators(seed)
    glm, seconds, rows = start(task, weights), 0.0, []
    theta = glm.theta.clone()
    adam = torch.optim.Adam([theta], lr=setting.rate)
    batches = Minibatches((task.x, task.y), BATCH, order)
    for step in range(steps + 1):
        if step % every == 0:
            loss = float(cross_entropy(glm.natural(task.x), task.y))
            wrong = (glm.natural(task.test_x).argmax(1) != task.test_y).double()
            row = {"step": step, "seconds": seconds, "loss": loss, "error": 100 * float(wrong.mean())}
            rows.append({"method": method, "seed": seed} | row)
        x, y = next(batches)
        began = time.process_time()
        if method == "adam":
            theta.grad = gradient(glm, x, y)
            adam.step()
        else:
            theta = theta - setting.rate * direction(method, glm, x, y, setting.damping)
        glm = glm.with_theta(theta)
        seconds += time.process_time() - began
    return rows


def tune(
    task: Task,
    method: Method,
    seeds: Sequence[int],
    steps: int,
    goal: float,
    settings: Sequence[Setting] | None = None,
) -> tuple[Setting, tuple[float, float]]:
    """The setting that reaches a training loss soonest on its worst seed; and when, and its worst last loss.

    The worst and not the mean: a step that is too long fails on some seeds only. Settings that miss the goal
    are told apart by their last loss, and no run goes on once it is later than the best setting's worst.
    """
    dampings = (0.0,) if method in ("sgd", "adam") else DAMPINGS
    best, lowest = None, (np.inf, np.inf)
    for setting in settings or [Setting(rate, damping) for rate in RATES for damping in dampings]:
        worst = (0.0, 0.0)
        for seed in seeds:
            last = min(steps, lowest[0] + 2)  # measured every other step
            rows = train(task, method, setting, seed, int(last), every=2)
            score = float(reach(rows, method, goal, "step")[0]), rows[-1]["loss"]
            if not score < lowest:
                break
            worst = max(worst, score)
        else:
            best, lowest = setting, worst
    assert best is not None
    return best, lowest


def runs_of(rows: Sequence[Row], method: Method, key: str) -> Float[np.ndarray, "seeds times"]:
    """One column of a method's rows, one line per seed."""
    frame = pd.DataFrame(rows)
    return frame[frame["method"] == method].pivot(index="seed", columns="step", values=key).to_numpy(float)


def reach(
    rows: Sequence[Row], method: Method, goal: float, clock: Literal["step", "seconds"]
) -> Float[np.ndarray, " seeds"]:
    """When each seed's training loss first falls to a goal, by either clock; infinite if it never does."""
    columns = (runs_of(rows, method, key).tolist() for key in ("loss", clock))
    times = zip(*columns, strict=True)
    return np.array([arrival(pd.DataFrame({"time": at, "level": loss}), goal) for loss, at in times])
