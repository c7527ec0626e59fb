r"""What a fixed-size vector of a sentence is good for: linear readings of two classes, and of scores.

Two classes: logistic regression, its accuracy on folds that it has not seen. Relatedness of a pair
$(\mathbf{u}, \mathbf{v})$: from the features $|\mathbf{u} - \mathbf{v}|$ and $\mathbf{u} \odot \mathbf{v}$
five probabilities $\hat p$ that are to match a target $p$ whose mean is the score; the prediction is
$\sum_k k\,\hat p_k$ (Tai, Socher, Manning, 2015; Kiros and others, 2015).

Features are standardized by the mean and deviation of the cases that a reading is fitted to. Nothing of a
test case is ever used: not for that, and not for the strength of the penalty.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int64
from scipy import stats

Vectors: TypeAlias = Float[np.ndarray, "N D"]
Labels: TypeAlias = Int64[np.ndarray, " N"]
Scores: TypeAlias = Float[np.ndarray, " N"]
STRENGTHS = (0.01, 0.001, 0.1, 1.0)  # scikit-learn's C; the first where none is chosen


def folds_of(labels: Labels, folds: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test cases of each fold, each class spread evenly over folds.

    Else a reading that knows nothing but how frequent the classes are would do worse than chance.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    for k in range(folds):
        yield np.delete(order, np.s_[k::folds]), order[k::folds]


def accuracy(x: Vectors, labels: Labels, *, folds: int = 10, choices: int = 1, seed: int = 0) -> float:
    """Share of cases whose class is read rightly by fits to the other folds.

    So many `choices` of `STRENGTHS` are tried on folds of each fold's training cases; 1 for none.
    """
    from sklearn.linear_model import LogisticRegression  # its import takes seconds
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    outer = list(folds_of(labels, folds, seed))
    solver = "newton-cholesky" if x.shape[1] < len(outer[0][0]) else "lbfgs"
    reading = LogisticRegression(C=STRENGTHS[0], solver=solver, max_iter=1000)
    fit = make_pipeline(StandardScaler(), reading)
    if choices > 1:
        inner = StratifiedKFold(folds, shuffle=True, random_state=seed + 1)
        fit = GridSearchCV(fit, {"logisticregression__C": STRENGTHS[:choices]}, cv=inner)
    return float((cross_val_predict(fit, x, labels, cv=outer) == labels).mean())


def relatedness(x: Vectors, scores: Scores, part: Labels, *, choices: int = 1) -> dict[str, float]:
    r"""Pearson's and Spearman's correlation and the mean squared error of test scores that are read.

    Targets are $p_k = \max(0, 1 - |y - k|)$ for scores y from 1 to 5. Cross-entropy to them differs from
    Kullback and Leibler's divergence by a constant, and equals that of two copies of a case, one a class,
    weighted by the targets. `part` is 0 for pairs to fit to, 1 to choose the strength by, 2 to test.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    fit, choose, test = (part == k for k in range(3))
    x = StandardScaler().fit(x[fit]).transform(x)
    targets = np.maximum(0, 1 - np.abs(scores[fit][:, None] - np.arange(1, 6)))
    rows, classes = np.nonzero(targets)
    found = []
    for strength in STRENGTHS[:choices]:
        reading = LogisticRegression(C=strength, max_iter=1000)
        reading.fit(x[fit][rows], classes + 1, sample_weight=targets[rows, classes])
        found.append([reading.predict_proba(x[some]) @ reading.classes_ for some in (choose, test)])
    best = max(found, key=lambda read: read_scores(read[0], scores[choose])["pearson"])
    return read_scores(best[1], scores[test])


def read_scores(predicted: Scores, scores: Scores) -> dict[str, float]:
    """Pearson's r, Spearman's rho, the mean squared error. A constant prediction correlates with nothing."""
    # by rounding alone nothing moves, and scipy would warn of it
    moves = all(np.ptp(values) > 1e-9 * np.abs(values).max() for values in (predicted, scores))
    kinds = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    found = {kind: float(of(predicted, scores).statistic) if moves else 0.0 for kind, of in kinds.items()}
    return found | {"mse": float(np.mean((predicted - scores) ** 2))}
