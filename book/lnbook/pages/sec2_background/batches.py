r"""Section 2, measured: what it costs to estimate the expectations of Eq. (2) from a mini-batch."""

import re
from collections.abc import Sequence
from pydoc_data.topics import topics

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

import lnlib
from lnbook.figures import plots
from lnbook.shared.shift import BATCH, Cases, Network, Normalize


def mean_errors(
    A: Float[Tensor, "N H"], sizes: Sequence[int], *, draws: int, generator: torch.Generator
) -> Float[np.ndarray, "draws sizes"]:
    r"""$E_i[(\hat\mu_i-\mu_i)^2/\sigma_i^2]$ of batches without replacement, nested within a draw."""
    sigma, mu = torch.std_mean(A, 0, correction=0)
    errors = []
    for _ in range(draws):
        sample = A[torch.randperm(len(A), generator=generator)[: max(sizes)]]
        errors.append([float(((sample[:B].mean(0) - mu) / sigma).square().mean()) for B in sizes])
    return np.array(errors)


def in_company(
    a: Float[Tensor, " N"], case: int, sizes: Sequence[int], *, draws: int, generator: torch.Generator
) -> dict[int, Float[np.ndarray, " draws"]]:
    """One unit's summed input for one case, normalized by Eq. (2) from random batches that contain it."""
    values = {}
    for B in sizes:
        members = torch.randint(len(a), (B, draws), generator=generator)
        members[0] = case
        values[B] = lnlib.batch_norm(a[members], eps=0.0)[0].numpy()  # one column per batch
    return values


def disagreement(network: Network, x: Float[Tensor, "N D"], test: Float[Tensor, "M D"], batch: int) -> float:
    """Share of test cases answered differently in a batch than with the exact statistics of all cases `x`."""
    stored = {}

    def store(k: int, a: Tensor) -> Tensor:
        stored[k] = torch.std_mean(a, 0, correction=0)
        return lnlib.batch_norm(a)

    def answers(normalize: Normalize, part: Tensor) -> Tensor:
        network.normalize = normalize
        return network(part)[0].argmax(1)

    with torch.no_grad():
        answers(store, x)
        alone = answers(lambda k, a: (a - stored[k][1]) / stored[k][0], test)
        together = [answers(lambda k, a: lnlib.batch_norm(a), part) for part in test.split(batch)]
    return float((torch.cat(together) != alone).double().mean())


def lateness(
    cases: Cases, seed: int, momenta: Sequence[float], *, rate: float, updates: int, units: int
) -> dict[float, list[float]]:
    r"""Root mean square errors of running means of the first layer, in deviations of the batch, by momentum.

    $r \leftarrow (1 - m) r + m \hat\mu$ with the mini-batch mean $\hat\mu$ of the current weights. The truth
    is exact at each update, because the first layer is linear: $\mu_i = w_i^\top E[x]$.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed, lambda k, a: lnlib.batch_norm(a))
    generator = torch.Generator().manual_seed(seed + 1000)
    center, running = x.mean(0), dict.fromkeys(momenta, torch.zeros(0))
    errors: dict[float, list[float]] = {m: [] for m in momenta}
    for _ in range(updates):
        drawn = torch.randint(len(x), (BATCH,), generator=generator)
        with torch.no_grad():
            W = network.layers[0][0]
            a, exact = x[drawn] @ W.T, W @ center
            for m, r in running.items():
                running[m] = (1 - m) * r + m * a.mean(0) if len(r) else a.mean(0)
                error = (running[m] - exact) / a.std(0)
                errors[m].append(float(error.square().mean().sqrt()))
        network.update(x[drawn], y[drawn], rate)
    return errors


def sentences() -> tuple[Int[Tensor, "T N"], Int[Tensor, " N"], int]:
    """Sentences of 3 to 99 words of Python's documentation, padded with 0: words, lengths, vocabulary."""
    found = []
    for topic in topics.values():
        for paragraph in re.split(r"\n\s*\n", topic):
            for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", " ".join(paragraph.split())):
                words = re.findall("[a-z]+", sentence.lower())
                if sentence.endswith(".") and 3 <= len(words) <= 99:
                    found.append(words)
    number = {word: k for k, word in enumerate(sorted({word for words in found for word in words}))}
    columns = [torch.tensor([number[word] for word in words]) for words in found]
    lengths = torch.tensor([len(column) for column in columns])
    return torch.nn.utils.rnn.pad_sequence(columns), lengths, len(number)


def step_errors(
    a: Float[Tensor, "T N H"], lengths: Int[Tensor, " N"], batch: int, draws: int, generator: torch.Generator
) -> tuple[pd.DataFrame, Float[np.ndarray, "draws steps"]]:
    """Errors of a unit's standard deviation, in %, against all sequences that reach a step, if 20 do.

    "shared": one number for all steps, from all sequences; "separate": one for each step, from the sequences
    of a batch that still run. A row a step, with the percentages of sequences that run, and of batches where
    fewer than two do; and "separate" by batch, NaN in those.
    """
    alive = torch.arange(len(a))[:, None] < lengths  # (T, N)
    T = int((alive.sum(1) >= 20).sum())
    pooled = a[alive].std(0)
    shared, separate = np.zeros(T), np.full((draws, T), np.nan)
    batches = [torch.randperm(len(lengths), generator=generator)[:batch] for _ in range(draws)]
    for t in range(T):
        exact = a[t, alive[t]].std(0)
        shared[t] = 100 * (pooled / exact - 1).abs().mean()
        for r, members in enumerate(batches):
            there = members[alive[t, members]]
            if len(there) > 1:
                separate[r, t] = 100 * (a[t, there].std(0) / exact - 1).abs().mean()
    table = {
        "running %": 100 * alive.double().mean(1).numpy()[:T],
        "batches without %": 100 * np.isnan(separate).mean(0),
        "shared %": shared,
        "separate %": np.nanmean(separate, 0),
    }
    return pd.DataFrame(table, index=pd.RangeIndex(1, T + 1, name="step")), separate


def by_step(errors: pd.DataFrame) -> Figure:
    """Who is left to average over at each step, and what shared and separate statistics get wrong."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    color = plots.COLORS["batch"]
    left.plot(errors["running %"], color=plots.COLORS["none"], ls=":", label="sentences that still run")
    left.plot(errors["batches without %"], color=color, ls="--", label="batches of 64 with fewer than 2")
    left.set(xlabel="step $t$", title="share (%)", ylim=(0, 130), yticks=range(0, 101, 20))
    left.legend(loc="upper right")
    right.plot(errors["shared %"], color=plots.INK, label="shared by all steps")
    right.plot(errors["separate %"], color=color, ls="--", label="separate, batches of 64")
    right.set(xlabel="step $t$", title=r"error of a unit's $\sigma$ (%)")
    right.set_ylim(0, 1.3 * errors[["shared %", "separate %"]].to_numpy().max())
    right.legend(loc="upper left")
    return fig
