"""Word vectors: what they say, and the map into another space."""

import numpy as np

from lnbook.pages.sec6_3_skip_thoughts.word_vectors import expansion, factorized, neighbor_counts


def test_words_of_the_same_company_have_similar_vectors_and_a_lonely_word_none() -> None:
    draw = np.random.default_rng(0)
    # words 0-4 stand among 10-14, words 5-9 among 15-19; 3 and 4 never stand together
    sentences = [
        [int(draw.integers(5 * k, 5 * k + 5)), int(draw.integers(10 + 5 * k, 15 + 5 * k))]
        for k in draw.integers(0, 2, 2000)
    ]
    counts = neighbor_counts([*sentences, [20]], 21, window=1)
    vectors, again = (factorized(counts, 4) for _ in range(2))
    np.testing.assert_array_equal(vectors, again)
    alike = vectors @ vectors.T
    assert alike[3, 4] > 0.9
    assert abs(alike[3, 8]) < 0.2  # the negative control: words of the other company
    np.testing.assert_allclose(np.linalg.norm(vectors[:20], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(vectors[20], 0.0)


def test_expansion_is_the_best_linear_map_in_the_mean_square() -> None:
    draw = np.random.default_rng(2)
    known, embeddings = draw.standard_normal((50, 4)), draw.standard_normal((50, 3))
    residual = embeddings - expansion(known, embeddings, known)
    np.testing.assert_allclose(known.T @ residual, 0.0, atol=1e-12)  # the normal equations
