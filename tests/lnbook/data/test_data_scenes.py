"""Generated scenes: captions that are true, an order that is one, features that are those of the boxes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import captions
from lnbook.data.captions import CLASSES, Boxes, Text, above, featurize, picture, scenes, words
from lnbook.data.text import tokenize

WORDS = (*captions.SIZES, *captions.COLORS, *captions.SHAPES)
THINGS = st.sets(st.sampled_from(WORDS), min_size=1).map(frozenset)
TEXTS = st.lists(THINGS, min_size=1, max_size=3).map(tuple)


@given(TEXTS, TEXTS, TEXTS, THINGS, st.integers(0, 2))
def test_the_order_is_reflexive_and_transitive_and_to_say_less_goes_up(
    u: Text, v: Text, w: Text, thing: frozenset[str], at: int
) -> None:
    assert above(u, u)
    assert above(u, w) or not (above(u, v) and above(v, w))
    k = at % len(u)
    assert above(u, (*u, thing))
    assert above(u, (*u[:k], u[k] | thing, *u[k + 1 :]))


def test_a_thing_serves_one_description_only() -> None:
    ball, red = frozenset({"ball"}), frozenset({"red"})
    assert not above((ball, red), (frozenset({"red", "ball"}),))
    assert above((ball, red), (frozenset({"red", "ball"}), frozenset({"red", "box"})))
    assert above((red, ball), (frozenset({"red", "ball"}), frozenset({"red", "box"})))  # not the greedy match


def test_words_are_english_and_few() -> None:
    assert words((frozenset({"large", "blue", "cone"}),)) == "a large blue cone"
    assert words((frozenset({"red"}), frozenset({"star"}))) == "something red and a star"
    texts = [caption for _, captions in scenes(200, np.random.default_rng(0)) for caption in captions]
    vocabulary = {token for text in texts for token in tokenize(words(text))}
    assert vocabulary == {*WORDS, "a", "and", "something"}


def test_a_picture_shows_its_scene() -> None:
    draw = np.random.default_rng(3)
    for scene, _ in scenes(20, draw):
        shown = picture(scene, draw)
        assert ((shown.corners >= 0) & (shown.corners <= 1)).all()
        for thing, corner, kind in zip(scene, shown.corners, shown.classes, strict=True):
            assert set(CLASSES[kind].split()) < thing
            assert corner[2] - corner[0] == pytest.approx(0.3 if "large" in thing else 0.15)
        left_to_right = shown.corners[shown.corners[:, 0].argsort()]
        assert (left_to_right[1:, 0] >= left_to_right[:-1, 2]).all()  # each has a third of the width


# On 200 x 100: two of class 2, at the left and at the right, and a larger one of class 0 below the middle.
CORNERS = np.array([[0.0, 0.0, 40.0, 20.0], [160.0, 0.0, 200.0, 20.0], [60.0, 50.0, 140.0, 100.0]])
PICTURE = Boxes(200, 100, CORNERS, np.array([2, 2, 0]))


def test_the_features_of_a_picture_by_hand() -> None:
    counts = [np.log(2), 0, np.log(3), 0]
    areas = [np.log(1 + 100 * 0.4 * 0.5), 0, np.log(1 + 100 * 2 * 0.2 * 0.2), 0]
    across, down = [0, 0, 0, 0], [0.75 - 0.5, 0, 0.1 - 0.5, 0]
    largest = [1, 0, 0, 0, 0, 0.75 - 0.5, 0.4, 0.5]
    expected = np.array([*counts, *areas, *across, *down, *largest])
    found = featurize(PICTURE, 4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-7)  # float32
    larger = Boxes(600, 300, 3 * CORNERS[::-1], PICTURE.classes[::-1].copy())
    np.testing.assert_allclose(featurize(larger, 4), found, atol=1e-7)
