r"""Section 2, measured: what it costs to estimate the expectations of Eq. (2) from a mini-batch.

How far the estimates are off (`sampling_errors`), what that does to one case (`in_company`) and to the
answers of a trained network (`disagreement`), how far stored means lag behind (`lateness`), and what is left
to average over late in a sequence (`sentences`, `step_errors`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pydoc_data.topics import topics

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

import lnlib
from lnbook.shared.shift import BATCH, Cases, Network, Normalize

GROUPS = 10  # of draws, each of which gives a number


@dataclass(frozen=True)
class SamplingErrors:
    r"""Mini-batch statistics against those of all cases, averaged over the units, one row per draw.

    `mean` is $E_i[(\hat\mu_i-\mu_i)^2/\sigma_i^2]$, `variance` is $E_i[\hat\sigma_i^2/\sigma_i^2]$; variances
    are biased, as in Eq. (2).
    """

    sizes: list[int]
    cases: int
    mean: Float[np.ndarray, "draws sizes"]
    variance: Float[np.ndarray, "draws sizes"]

    @property
    def theory(self) -> Float[np.ndarray, " sizes"]:
        r"""Standard error of the mean in units of sigma: $\sqrt{(N-B)/(N-1)}/\sqrt B$."""
        B = np.array(self.sizes)
        return np.sqrt((self.cases - B) / (self.cases - 1) / B)

    def powers(self) -> list[float]:
        """The power of B by which the mean's error falls, one fit a group; corrected for finite N."""
        B = np.array(self.sizes)
        correction = self.theory * np.sqrt(B)
        parts = np.sqrt(self.mean.reshape(GROUPS, -1, len(B)).mean(1)) / correction
        return [float(np.polyfit(np.log(B), np.log(part), 1)[0]) for part in parts]


def sampling_errors(
    A: Float[Tensor, "N H"], sizes: Sequence[int], *, draws: int, generator: torch.Generator
) -> SamplingErrors:
    """Batches without replacement against all N cases; those of one draw are nested."""
    sigma, mu = torch.std_mean(A, 0, correction=0)
    squares = np.zeros((2, draws, len(sizes)))
    for r in range(draws):
        sample = A[torch.randperm(len(A), generator=generator)[: max(sizes)]]
        for k, B in enumerate(sizes):
            std, mean = torch.std_mean(sample[:B], 0, correction=0)
            for q, value in enumerate(((mean - mu) / sigma, std / sigma)):
                squares[q, r, k] = float(value.square().mean())
    return SamplingErrors(list(sizes), len(A), *squares)


def in_company(
    a: Float[Tensor, " N"], case: int, sizes: Sequence[int], *, draws: int, generator: torch.Generator
) -> dict[int, Float[np.ndarray, " draws"]]:
    """One unit's normalized summed input for one case, in random batches that contain it.

    *Source* Eq. (2), estimated from each batch. The other members are drawn with replacement.
    """
    values = {}
    for B in sizes:
        members = torch.randint(len(a), (B, draws), generator=generator)
        members[0] = case
        values[B] = lnlib.batch_norm(a[members], eps=0.0)[0].numpy()  # one column per batch
    return values


def disagreement(
    network: Network, x: Float[Tensor, "N D"], test: Float[Tensor, "M D"], sizes: Sequence[int]
) -> list[float]:
    """Share of test cases answered differently in a batch than with the exact statistics of all cases `x`."""
    own, stored = network.normalize, {}

    def store(k: int, a: Tensor) -> Tensor:
        stored[k] = torch.std_mean(a, 0, correction=0)
        return lnlib.batch_norm(a)

    def answers(normalize: Normalize, part: Tensor) -> Tensor:
        network.normalize = normalize
        return network(part)[0].argmax(1)

    with torch.no_grad():
        answers(store, x)
        alone = answers(lambda k, a: (a - stored[k][1]) / stored[k][0], test)
        together = [
            torch.cat([answers(lambda k, a: lnlib.batch_norm(a), part) for part in test.split(B)])
            for B in sizes
        ]
    network.normalize = own
    return [float((answer != alone).double().mean()) for answer in together]


def lateness(
    cases: Cases,
    seed: int,
    normalize: Normalize,
    momenta: Sequence[float],
    *,
    rate: float,
    updates: int,
    units: int = 100,
) -> dict[float, list[float]]:
    r"""The error of running averages of the first layer's means while the network learns.

    $r \leftarrow (1 - m) r + m \hat\mu$ with the mini-batch mean $\hat\mu$ of the current weights; momentum
    m = 1 is the last batch alone. The truth is exact at each update, because the first layer is linear:
    $\mu_i = w_i^\top E[x]$.

    For each momentum it gives the root mean square error over the units at each update, in units of each
    unit's standard deviation in the batch.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed, normalize)
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
    """Sentences of 3 to 99 words of Python's documentation: numbers of words, lengths, how many words.

    One column per sentence, padded with 0 at the end.
    """
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


@dataclass(frozen=True)
class StepErrors:
    """Errors of a unit's standard deviation at each step, in percent, averaged over the units.

    `shared`: one number for all steps, from all sequences. `separate`: one for each step, from the
    sequences of a batch that still run; one row per batch, NaN where fewer than two do. `running`: share of
    all sequences that still run, in percent.
    """

    shared: Float[np.ndarray, " T"]
    separate: Float[np.ndarray, "draws T"]
    running: Float[np.ndarray, " T"]

    @property
    def average(self) -> Float[np.ndarray, " T"]:
        """The error of separate statistics at each step, over the batches that have any."""
        return np.nanmean(self.separate, 0)

    @property
    def missing(self) -> Float[np.ndarray, " T"]:
        """Percent of the batches that have no statistics at a step."""
        return 100 * np.isnan(self.separate).mean(0)

    def reached_by(self, percent: float) -> int:
        """The last step, counted from 1, that so many percent of the sequences reach."""
        return int((self.running >= percent).sum())

    def growth(self, step: int) -> list[float]:
        """Separate statistics: the error at a step (from 1) over that at the first, for groups of batches."""
        parts = self.separate.reshape(GROUPS, -1, len(self.running))
        return [float(np.nanmean(part[:, step - 1]) / np.nanmean(part[:, 0])) for part in parts]


def step_errors(
    a: Float[Tensor, "T N H"],
    lengths: Int[Tensor, " N"],
    *,
    batch: int,
    draws: int,
    generator: torch.Generator,
    least: int = 20,
) -> StepErrors:
    """What both get wrong at each step that `least` sequences reach, against all sequences that reach it."""
    alive: Bool[Tensor, "T N"] = torch.arange(len(a))[:, None] < lengths
    T = int((alive.sum(1) >= least).sum())
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
    return StepErrors(shared, separate, 100 * alive.double().mean(1).numpy()[:T])
