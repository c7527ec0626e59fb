"""Generated scenes: their captions are true, and the order among them is one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data.boxes import featurize
from lnbook.data.scenes import CLASSES, COLORS, SHAPES, SIZES, Text, above, ladder, picture, scenes, words
from lnbook.data.text import tokenize

THINGS = st.sets(st.sampled_from([*SIZES, *COLORS, *SHAPES]), min_size=1).map(frozenset)
TEXTS = st.lists(THINGS, min_size=1, max_size=3).map(tuple)


@given(st.integers(0, 2**31))
def test_every_caption_is_true_of_its_scene_and_the_first_tells_all(seed: int) -> None:
    for scene, captions in scenes(3, np.random.default_rng(seed)):
        assert len(captions) == 5
        assert all(above(caption, scene) for caption in captions)
        assert above(scene, captions[0])


@given(TEXTS, TEXTS, TEXTS)
def test_the_order_is_reflexive_and_transitive(u: Text, v: Text, w: Text) -> None:
    assert above(u, u)
    assert above(u, w) or not (above(u, v) and above(v, w))


@given(TEXTS, THINGS, st.integers(0, 2))
def test_to_say_less_goes_up(text: Text, thing: frozenset[str], at: int) -> None:
    assert above(text, (*text, thing))
    k = at % len(text)
    more = (*text[:k], text[k] | thing, *text[k + 1 :])
    assert above(text, more)


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
    assert vocabulary == {*SIZES, *COLORS, *SHAPES, "a", "and", "something"}


def test_a_picture_shows_its_scene() -> None:
    draw = np.random.default_rng(3)
    for scene, _ in scenes(20, draw):
        shown = picture(scene, draw)
        assert (shown.corners >= 0).all()
        assert (shown.corners <= 1).all()
        for thing, corner, kind in zip(scene, shown.corners, shown.classes, strict=True):
            assert set(CLASSES[kind].split()) < thing
            assert corner[2] - corner[0] == pytest.approx(0.3 if "large" in thing else 0.15)
        overlap = [
            (a[0] < b[2]) and (b[0] < a[2]) for k, a in enumerate(shown.corners) for b in shown.corners[:k]
        ]
        assert not any(overlap)  # each has a third of the width for itself
        assert np.isfinite(featurize(shown, len(CLASSES))).all()


@given(st.integers(0, 2**31))
def test_each_level_of_a_ladder_stands_below_one_of_the_level_before(seed: int) -> None:
    ((scene, _),) = scenes(1, np.random.default_rng(seed))
    levels = ladder(scene)
    for upper, lower in pairwise(levels):
        assert all(any(above(u, v) for u in upper) for v in lower)
    assert all(above(text, scene) for level in levels for text in level)
