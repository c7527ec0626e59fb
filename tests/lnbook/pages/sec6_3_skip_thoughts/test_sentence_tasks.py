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
def test_separable_classes_are_read_and_shuffled_labels_are_not(choices: int) -> None:
    y = np.arange(200) % 2
    x = np.random.default_rng(0).standard_normal((200, 5)) + 6 * y[:, None]
    assert accuracy(x, y, folds=5, choices=choices) > 0.99
    shuffled = np.random.default_rng(3).permutation(y)
    # 200 coins: half, four standard deviations of 0.035
    assert abs(accuracy(x, shuffled, folds=5, choices=choices) - 0.5) < 0.14


def test_a_feature_that_tells_cases_apart_only_by_themselves_is_worth_nothing() -> None:
    # one column a case: whoever looks at a test case's label while fitting reads it perfectly
    y = np.random.default_rng(0).integers(0, 2, 100)
    assert abs(accuracy(np.eye(100), y, folds=10) - 0.5) < 0.2


def test_the_metrics_are_those_one_computes_by_hand() -> None:
    predicted, scores = np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 1.0, 4.0, 5.0])
    found = read_scores(predicted, scores)
    # deviations: (-1.75, -0.75, 0.25, 2.25) and (-1, -2, 1, 2): 8 over the root of 8.75 times 10
    assert found["pearson"] == pytest.approx(8 / np.sqrt(8.75 * 10))
    # ranks 1234 and 2134: 1 - 6 * 2 / (4 * 15)
    assert found["spearman"] == pytest.approx(0.8)
    assert found["mse"] == pytest.approx(3 / 4)
    still = np.array([3.0, 3.0 + 4e-16, 3.0, 3.0])  # moves by rounding alone, of which scipy would warn
    assert (read_scores(still, scores)["pearson"], read_scores(still, scores)["spearman"]) == (0.0, 0.0)


@pytest.mark.parametrize("choices", [1, 3])
def test_scores_that_follow_from_the_features_are_read_and_others_are_not(choices: int) -> None:
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (400, 3))
    scores = 3 + 1.9 * x[:, 0]
    part = np.repeat([0, 1, 2], [250, 50, 100])
    found = relatedness(x, scores, part, choices=choices)
    assert found["pearson"] > 0.95
    assert found.keys() == {"pearson", "spearman", "mse"}
    lost = relatedness(x, draw.permutation(scores), part, choices=choices)["pearson"]
    assert abs(lost) < 0.4  # 100 pairs: four standard deviations of 0.1


def test_test_scores_are_not_used_to_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    x, scores = draw.standard_normal((120, 3)), draw.uniform(1, 5, 120)
    part = np.repeat([0, 1, 2], [60, 20, 40])
    seen: list[np.ndarray] = []
    plain = read_scores
    monkeypatch.setattr(sentence_tasks, "read_scores", lambda p, s: (seen.append(p), plain(p, s))[1])
    for changed in (scores, np.where(part == 2, 3.0, scores)):
        relatedness(x, changed, part, choices=2)
    np.testing.assert_array_equal(seen[2], seen[5])
