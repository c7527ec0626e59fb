"""The protocol: metrics by hand, what it makes of easy and impossible data, and that nothing leaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.sec6_3_skip_thoughts import sentence_tasks
from lnbook.pages.sec6_3_skip_thoughts.sentence_tasks import accuracy, folds_of, read_scores, relatedness


@given(st.integers(12, 60), st.integers(2, 12), st.integers(0, 5))
def test_every_case_is_tested_once_and_never_fitted_to_then(cases: int, folds: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 2, cases)
    parts = list(folds_of(labels, folds, seed))
    assert len(parts) == folds
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(cases))
    assert all(not set(train) & set(test) and len(train) + len(test) == cases for train, test in parts)
    ones = [int(labels[test].sum()) for _, test in parts]
    assert max(ones) - min(ones) <= 1


@pytest.mark.parametrize("choices", [1, 3])
def test_separable_classes_are_read_and_what_tells_cases_apart_only_by_themselves_is_not(
    choices: int,
) -> None:
    draw = np.random.default_rng(0)
    y = draw.permutation(np.arange(100) % 2)
    x = draw.standard_normal((100, 5)) + 6 * y[:, None]
    assert accuracy(x, y, folds=5, choices=choices) > 0.99
    # one column a case: whoever looks at a test case's label while fitting reads it perfectly
    assert abs(accuracy(np.eye(100), y, folds=5, choices=choices) - 0.5) < 0.2


def test_the_metrics_are_those_one_computes_by_hand() -> None:
    predicted, scores = np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 1.0, 4.0, 5.0])
    found = read_scores(predicted, scores)
    # deviations: (-1.75, -0.75, 0.25, 2.25) and (-1, -2, 1, 2): 8 over the root of 8.75 times 10
    assert found["pearson"] == pytest.approx(8 / np.sqrt(8.75 * 10))
    # ranks 1234 and 2134: 1 - 6 * 2 / (4 * 15)
    assert found["spearman"] == pytest.approx(0.8)
    assert found["mse"] == pytest.approx(3 / 4)
    still = read_scores(np.array([3.0, 3.0 + 4e-16, 3.0, 3.0]), scores)  # moves by rounding alone
    assert still["pearson"] == still["spearman"] == 0


@pytest.mark.parametrize("choices", [1, 3])
def test_scores_that_follow_from_the_features_are_read_and_those_of_the_test_are_not_used(
    choices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    scores, part = 3 + 1.9 * x[:, 0], np.repeat([0, 1, 2], [250, 50, 100])
    read, plain = list[np.ndarray](), read_scores
    monkeypatch.setattr(sentence_tasks, "read_scores", lambda p, s: (read.append(p), plain(p, s))[1])
    found = relatedness(x, scores, part, choices=choices)
    assert found["pearson"] > 0.95
    assert found.keys() == {"pearson", "spearman", "mse"}
    relatedness(x, np.where(part == 2, 3.0, scores), part, choices=choices)
    np.testing.assert_array_equal(read[choices], read[-1])
