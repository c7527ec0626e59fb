r"""What a fixed-size vector of a sentence is good for: labelled sentences, and linear readings of vectors.

Two classes: logistic regression, its accuracy on folds that it has not seen. Relatedness of a pair
$(\mathbf{u}, \mathbf{v})$: from the features $|\mathbf{u} - \mathbf{v}|$ and $\mathbf{u} \odot \mathbf{v}$
five probabilities $\hat p$ that are to match a target $p$ whose mean is the score; the prediction is
$\sum_k k\,\hat p_k$ (Tai, Socher, Manning, 2015; Kiros and others, 2015).

Features are standardized by the mean and deviation of the cases that a reading is fitted to. Nothing of a
test case is ever used: not for that, and not for the strength of the penalty.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import stats
from torch import Tensor

from lnbook.data.sentences import load_labelled, load_pairs
from lnbook.data.text import EOS, Vocabulary, pad, tokenize
from lnbook.training import Cases

SETS = "sentence_classification", "sick"  # of classes, of scored pairs
TEMPLATES = "sentence_templates", "sentence_templates"  # what scale "smoke" reads
CLASSES = 5  # of relatedness
STRENGTHS = (0.01, 0.001, 0.1, 1.0)  # scikit-learn's C; the first where none is chosen


def folds_of(
    labels: Int64[np.ndarray, " N"], folds: int, seed: int = 0
) -> Iterator[tuple[Int64[np.ndarray, " train"], Int64[np.ndarray, " test"]]]:
    """Training and test cases of each fold: every case is tested once, each class spread evenly over folds.

    Else a reading that knows nothing but how frequent the classes are would do worse than chance.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    for k in range(folds):
        yield np.delete(order, np.s_[k::folds]), order[k::folds]


def accuracy(
    features: Float[np.ndarray, "N D"],
    labels: Int64[np.ndarray, " N"],
    *,
    folds: int = 10,
    choices: int = 1,
    seed: int = 0,
) -> float:
    """Share of cases whose class, 0 or 1, is read rightly from the vectors by readings fitted to other folds.

    So many `choices` of `STRENGTHS` are tried on folds of each fold's training cases; 1 for none.

    >>> x = np.array([[0.0], [1.0]] * 10)
    >>> accuracy(x, np.array([0, 1] * 10), folds=5)
    1.0
    """
    right = 0
    for train, test in folds_of(labels, folds, seed):
        x, y, strength = features[train], labels[train], STRENGTHS[0]
        if choices > 1:
            inner = list(folds_of(y, folds, seed + 1))
            right_inside = [
                sum(_fitted(x[a], y[a], x[b], y[b], tried) for a, b in inner) for tried in STRENGTHS[:choices]
            ]
            strength = STRENGTHS[int(np.argmax(right_inside))]
        right += _fitted(x, y, features[test], labels[test], strength)
    return right / len(labels)


def _fitted(x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray, strength: float) -> int:
    """How many test cases are read rightly."""
    from sklearn.linear_model import LogisticRegression  # its import takes seconds

    x, test_x = _standardized(x, test_x)
    solver = "newton-cholesky" if x.shape[1] < len(x) else "lbfgs"
    reading = LogisticRegression(C=strength, solver=solver, max_iter=1000).fit(x, y)
    return int((reading.predict(test_x) == test_y).sum())


def _standardized(train: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    mean, std = train.mean(0), train.std(0)
    scale = np.where(std > 1e-12, std, 1.0)
    return [(x - mean) / scale for x in (train, *others)]


def soft_targets(scores: Float[np.ndarray, " N"]) -> Float[np.ndarray, "N classes"]:
    r"""Probabilities of the classes 1, 2, ... with mean y: $p_{\lfloor y\rfloor} = \lfloor y\rfloor + 1 - y$
    and $p_{\lfloor y\rfloor + 1} = y - \lfloor y\rfloor$.

    >>> soft_targets(np.array([3.25])).tolist()
    [[0.0, 0.0, 0.75, 0.25, 0.0]]
    """
    below = np.clip(np.floor(scores).astype(int), 1, CLASSES - 1)
    found = np.zeros((len(scores), CLASSES))
    rows = np.arange(len(scores))
    found[rows, below - 1] = below + 1 - scores
    found[rows, below] = scores - below
    return found


def relatedness(
    features: Float[np.ndarray, "N D"],
    scores: Float[np.ndarray, " N"],
    part: Int64[np.ndarray, " N"],
    *,
    choices: int = 1,
) -> dict[str, float]:
    """Pearson's and Spearman's correlation and the mean squared error of test scores that are read.

    Scores are from 1 to 5. Cross-entropy to the soft targets differs from Kullback and Leibler's divergence
    by a constant, and equals that of two copies of a case, one a class, weighted by the targets. `part` is 0
    for pairs to fit to, 1 for those that choose among `choices` of `STRENGTHS` by Pearson's correlation, 2
    for those to test.
    """
    from sklearn.linear_model import LogisticRegression

    fit, choose, test = (part == k for k in range(3))
    x, *others = _standardized(features[fit], features[choose], features[test])
    targets = soft_targets(scores[fit])
    rows, classes = np.nonzero(targets)
    found = []
    for strength in STRENGTHS[:choices]:
        reading = LogisticRegression(C=strength, max_iter=1000)
        reading.fit(x[rows], classes + 1, sample_weight=targets[rows, classes])
        found.append([reading.predict_proba(other) @ reading.classes_ for other in others])
    best = max(found, key=lambda read: read_scores(read[0], scores[choose])["pearson"])
    return read_scores(best[1], scores[test])


def read_scores(predicted: Float[np.ndarray, " N"], scores: Float[np.ndarray, " N"]) -> dict[str, float]:
    """Pearson's r, Spearman's rho and the mean squared error. A constant prediction correlates with nothing.

    >>> read_scores(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))["spearman"]
    1.0
    """
    # by rounding alone nothing moves, and scipy would warn of it
    moves = all(np.ptp(values) > 1e-9 * np.abs(values).max() for values in (predicted, scores))
    return {
        "pearson": float(stats.pearsonr(predicted, scores).statistic) if moves else 0.0,
        "spearman": float(stats.spearmanr(predicted, scores).statistic) if moves else 0.0,
        "mse": float(np.mean((predicted - scores) ** 2)),
    }


@lru_cache(maxsize=4)
def tasks(wide: Vocabulary, sets: tuple[str, str], limit: int, seed: int) -> dict[str, Cases]:
    """The sentences to be judged by, in numbers of the wide vocabulary: numbers, lengths and labels; of SICK
    numbers and lengths of both sentences, scores, and 0, 1 or 2 for training, trial and test.

    Of each set and part `limit` cases are drawn at random, half of them of each class; all if that is 0.
    """
    labelled, pairs = load_labelled(sets[0])[0], load_pairs(sets[1])[0]
    draw = np.random.default_rng([seed, 63])
    found: dict[str, Cases] = {}
    for name, held in labelled.items():
        rows = np.arange(len(held.labels))
        if limit:
            kinds = [draw.permutation(np.flatnonzero(held.labels == k))[: limit // 2] for k in (0, 1)]
            rows = np.sort(np.concatenate(kinds))
        ids, lengths = encoded([held.texts[k] for k in rows], wide)
        found[name] = (ids, lengths, torch.from_numpy(held.labels[rows]))
    chosen = [(p, draw.permutation(len(p.scores))[: limit or None]) for p in pairs.values()]
    first = encoded([p.first[k] for p, rows in chosen for k in rows], wide)
    second = encoded([p.second[k] for p, rows in chosen for k in rows], wide)
    scores = np.concatenate([p.scores[rows] for p, rows in chosen])
    part = np.repeat(np.arange(3), [len(rows) for _, rows in chosen])
    found["sick"] = (*first, *second, torch.from_numpy(scores), torch.from_numpy(part))
    return found


def encoded(texts: Sequence[str], wide: Vocabulary) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, " N"]]:
    """Sentences as the encoder reads them, in numbers of the wide vocabulary."""
    return pad([[*wide.encode(tokenize(text)), EOS] for text in texts])
