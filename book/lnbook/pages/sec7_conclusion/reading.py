"""Reading the ledger of recorded evidence: by section, all races of Section 6 together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean, median

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from scipy.special import stdtrit

from lnbook import curves, races
from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.sentences import Judged
from lnbook.ledger.verdicts import LEVEL, TWO_SIDED, Measurement

RECURRENT = ("6.1", "6.2", "6.3", "6.4", "6.5")
GROUPS = {  # of verdicts, as the page counts them
    "Holds": ("verified", "verified if", "implemented as described", "supported"),
    "Read in sources": ("read",),
    "Error in print": ("error in print",),
    "Against the paper": ("contradicted", "smaller than claimed", "below what counts here"),
    "Undecided": ("undecided",),
    "Stand-in only": ("not tested at the paper's size",),
    "Not measured": ("not measured",),
}
# The rules on no norm's updates over layer norm's: with each network's own step size, and with one for both.
RACES = {
    "6.1": ("Order embeddings", "s61-own-step", "s61-speedup"),
    "6.2": ("Question answering", "s62-own-step", "s62-faster"),
    "6.3": ("Skip-thoughts", "s63-own-step", "s63-faster"),
    "6.4": ("DRAW", "s64-own-step", "s64-faster"),
    "6.5": ("Handwriting", "s65-own-step", "s65-faster"),
    "6.6": ("MNIST", "s66-own-none", "s66-none"),
    "6.7": ("ConvNets", "s67-own-step", "s67-updates"),
}
Factors = tuple[Measurement, Measurement]  # at each network's own step size, and at one for both
Pooled = tuple[curves.Mean, tuple[float, float], float]


def by_section(sentences: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Judged sentences by the section of the paper that makes them."""
    found: dict[str, list[Judged]] = {}
    for judged in sentences:
        found.setdefault(judged.sentence.section, []).append(judged)
    return found


def counted(sentences: Iterable[Judged]) -> dict[str, int]:
    """How many of the sentences have a verdict of each column of the page's table."""
    words = Counter(judged.verdict.word for judged in sentences)
    return {title: sum(words[word] for word in group) for title, group in GROUPS.items()}


def of_both(found: Mapping[str, Measurement]) -> dict[str, Factors]:
    """The factors of the experiments that are recorded at both, by section."""
    there = {rule for rule, measured in found.items() if measured.values}
    return {s: (found[own], found[one]) for s, (_, own, one) in RACES.items() if {own, one} <= there}


def by_size() -> pd.DataFrame:
    """Section 6.5's factors at own step sizes: a row a seed, a column a pair of points and batch size."""
    race, found = races.RACES["6.5"], {}
    for size, rows in curves.recorded("handwriting_sizes")[0].groupby(["points", "batch_size"]):
        own = races.at_own_steps(races.tidy(rows, race), race.chosen["lowest loss"])
        found[size] = races.factors(own)
    return pd.DataFrame(found)


def advantage(found: Mapping[str, Factors]) -> curves.Mean:
    r"""How much larger the recurrent networks' factors are than the others', each at its own step size.

    $$\exp\Big(\frac1K\sum_k \ell_k - \frac1M\sum_m \ell_m\Big)$$

    with the logarithms $\ell$ of the factors, and the 95 % interval of Welch and Satterthwaite over the
    experiments of each kind.
    """
    own = {section: log(factor.value) for section, (factor, _) in found.items()}
    logs = [[x for s, x in own.items() if (s in RECURRENT) == kind] for kind in (True, False)]
    difference = fmean(logs[0]) - fmean(logs[1])
    low, high = stats.ttest_ind(*logs, equal_var=False).confidence_interval(1 - LEVEL)
    return curves.Mean(exp(difference), exp(float(low)), exp(float(high)), len(found))


def pooled(experiments: Sequence[Sequence[float]]) -> Pooled:
    r"""Several experiments' factors together, each with a true factor of its own: a random-effects summary.

    Their geometric mean with its 95 % interval; where the true factor of one more experiment lies (95 %
    prediction interval); and I squared, the share of the spread that seeds do not explain.

    With $y_k$ the mean log factor of experiment k of K, $v_k$ its squared standard error over seeds, and
    $w_k=1/v_k$: DerSimonian and Laird's $\tau^2=\max(0,(Q-K+1)/(\sum w-\sum w^2/\sum w))$ with
    $Q=\sum w(y-\bar y_w)^2$ is the variance between experiments. The mean has weights $1/(v_k+\tau^2)$, its
    interval is Hartung and Knapp's, of Student's t over K - 1, and that of the next experiment adds
    $\tau^2$ and has K - 2.

    *Source* DerSimonian and Laird (1986); Hartung and Knapp (2001); Higgins and others (2009).

    Takes factors above 0, one a seed, of at least three experiments of two seeds.

    >>> all_alike, _, heterogeneity = pooled([[2.0, 2.1, 1.9], [2.0, 2.2, 1.8], [2.0, 1.9, 2.1]])
    >>> round(all_alike.value, 1), heterogeneity
    (2.0, 0.0)
    """
    logs = [np.log(np.asarray(one, dtype=float)) for one in experiments]
    y = np.array([one.mean() for one in logs])
    v = np.array([one.var(ddof=1) / len(one) for one in logs])
    w, K = 1 / v, len(y)
    Q = float(w @ (y - w @ y / w.sum()) ** 2)
    between = max(0.0, (Q - K + 1) / (w.sum() - (w**2).sum() / w.sum()))
    w = 1 / (v + between)
    mean = float(w @ y / w.sum())
    error2 = float(w @ (y - mean) ** 2 / (K - 1) / w.sum())
    half = stdtrit(K - 1, TWO_SIDED) * sqrt(error2)
    ahead = stdtrit(K - 2, TWO_SIDED) * sqrt(between + error2)
    value, low, high, next_low, next_high = (exp(mean + x) for x in (0, -half, half, -ahead, ahead))
    heterogeneity = max(0.0, 1 - (K - 1) / Q) if Q > 0 else 0.0
    return curves.Mean(value, low, high, K), (next_low, next_high), heterogeneity


def ratios() -> list[float]:
    """Layer norm's own step size over that without a norm, medians over seeds, in Sections 6.1 to 6.6."""
    found = []
    for section, race in races.RACES.items():
        if section < "6.7":
            rows = races.tidy(curves.recorded(race.experiment)[0], race)
            own = races.own_steps(rows, next(iter(race.chosen.values())))
            found.append(median(own["layer"].values()) / median(own["none"].values()))
    return found


def seen(
    without: Mapping[str, float], normed: Mapping[str, float], items: Mapping[str, float]
) -> dict[str, tuple[float, float, float]]:
    r"""By result of two models, in %: points gained, its number n of test items, standard errors gained.

    Of shares p, q on n independent items each, $\sqrt{(p(1-p) + q(1-q))/n}$ is the error of $p - q$.
    """
    found = {}
    for name in [name for name in items if name in without]:
        p, q, n = normed[name] / 100, without[name] / 100, items[name]
        error = sqrt((p * (1 - p) + q * (1 - q)) / n)
        found[name] = 100 * (p - q), n, (p - q) / error
    return found


def forest(
    experiments: Mapping[str, Factors], summaries: Mapping[str, Pooled], printed: Mapping[str, float]
) -> Figure:
    """The factors at both step sizes and as printed; their means with the range of another experiment."""
    fig, ax = plots.subplots(figsize=(7.0, 0.9 + 0.29 * (len(experiments) + len(summaries))))
    looks = [{"mfc": plots.COLORS["layer"]}, {"mfc": "white"}]
    common = {"color": plots.COLORS["layer"], "lw": 1.6, "marker": "o", "ms": 6}
    for y, (section, pair) in enumerate(experiments.items()):
        for found, look, shift in zip(pair, looks, (-0.13, 0.13), strict=True):
            ax.plot([found.low, found.high], [y + shift] * 2, color=plots.COLORS["layer"], lw=1.6)
            ax.plot(found.value, y + shift, **(common | look))
        if section in printed:
            ax.plot(printed[section], y, color=plots.INK, marker="x", ms=7, mew=1.8)
    below = zip(summaries.values(), looks, strict=True)
    for y, ((mean, ahead, _), look) in enumerate(below, start=len(experiments)):
        ax.plot(ahead, [y, y], color=plots.COLORS["none"], lw=7, alpha=0.5)
        ax.plot([mean.low, mean.high], [y, y], color=plots.INK, lw=1.8)
        ax.plot(mean.value, y, **(common | look | {"color": plots.INK, "marker": "D"}))
    ax.axvline(1, color=plots.INK, lw=1)
    ax.set(xscale="log", xlabel="updates without a norm over those with layer norm", xlim=(0.24, 4.2))
    names = [f"{section} {RACES[section][0]}" for section in experiments]
    names += [f"mean, {name}" for name in summaries]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    on.exactly(ax.xaxis, [0.25, 0.5, 0.7, 1, 1.4, 2, 4])
    return fig
