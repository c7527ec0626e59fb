"""Word vectors: counts by hand, what the vectors say, and the map into another space."""

import numpy as np
import pytest

from lnbook.pages.sec6_3_skip_thoughts.word_vectors import expansion, neighbor_counts, word_vectors


def test_neighbors_are_counted_within_a_sentence_and_a_window() -> None:
    found = neighbor_counts([[0, 1, 2], [2, 0]], 3, window=2).toarray()
    np.testing.assert_array_equal(found, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    near = neighbor_counts([[0, 1, 2], [2, 0]], 3, window=1).toarray()
    np.testing.assert_array_equal(near, [[0, 1, 1], [1, 0, 1], [1, 1, 0]])


def test_words_of_the_same_company_have_similar_vectors() -> None:
    draw = np.random.default_rng(0)
    # words 0-4 stand among 10-14, words 5-9 among 15-19; 3 and 4 never stand together
    sentences = [
        [int(draw.integers(5 * k, 5 * k + 5)), int(draw.integers(10 + 5 * k, 15 + 5 * k))]
        for k in draw.integers(0, 2, 2000)
    ]
    vectors = word_vectors(sentences, 20, 4, window=1)
    alike = vectors @ vectors.T
    assert alike[3, 4] > 0.9
    assert abs(alike[3, 8]) < 0.2  # the negative control: words of the other company
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-12)


def test_vectors_are_the_same_each_time_and_zero_for_a_lonely_word() -> None:
    sentences = [[0, 1, 2, 3], [3, 2, 0], [1, 3], [4]]
    one, other = (word_vectors(sentences, 5, 2) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[4], 0.0)
    with pytest.raises(ValueError, match="at most 4 dimensions here, not 5"):
        word_vectors(sentences, 5, 5)


def test_expansion_recovers_a_linear_map() -> None:
    draw = np.random.default_rng(1)
    known, new, truth = (draw.standard_normal(shape) for shape in ((200, 7), (30, 7), (7, 5)))
    found = expansion(known, known @ truth, new)
    np.testing.assert_allclose(found, new @ truth, rtol=1e-10, atol=1e-12)


def test_expansion_of_noise_is_the_best_in_the_mean_square() -> None:
    draw = np.random.default_rng(2)
    known, embeddings = draw.standard_normal((50, 4)), draw.standard_normal((50, 3))
    residual = embeddings - expansion(known, embeddings, known)
    np.testing.assert_allclose(known.T @ residual, 0.0, atol=1e-12)  # the normal equations
