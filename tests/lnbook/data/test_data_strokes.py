"""Lines of handwriting: composed of Omniglot's letters, and generated with a known likelihood."""

import io
import math
import zipfile

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from lnbook.data import omniglot, scribbles, strokes
from lnbook.data.strokes import Wanted, load_lines


def archive() -> bytes:
    """Every letter a bar 10 wide and 30 to 55 high with a dot beside it, 9 points and 1."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for letter in range(1, 27):
            bar = "".join(f"40,{-40 - k * (3 + letter % 4)},{k}\n" for k in range(9))
            for who in range(1, 21):
                name = f"strokes/Latin/character{letter:02d}/{682 + letter:04d}_{who:02d}.txt"
                file.writestr(name, f"START\n{bar}BREAK\n50,-45,0\nBREAK\n")
        file.writestr("strokes/Greek/character01/0500_01.txt", "no letter of ours")
    return packed.getvalue()


DRAWER = omniglot.drawers(archive())[0]


def test_a_composed_line_keeps_the_marks_of_a_lifted_pen() -> None:
    line = omniglot.compose("ab ba", DRAWER, 4, np.random.default_rng(0))
    # points 0, 4, 8 of the bar, then the dot: a mark at the end of each stroke, and only there
    assert line[:, 2].tolist() == [0, 0, 1, 1] * 4
    whole, fifth = (omniglot.compose("a", DRAWER, every, np.random.default_rng(0)) for every in (1, 5))
    assert (len(whole), fifth[:, 2].tolist()) == (10, [0, 0, 1, 1])  # 0, 5 and the last, 8
    gaps = np.diff(line[::4, 0])
    assert np.all(gaps > 10)
    # of letters 10 wide and 50 high, which vary in width by 1 or so and in slant by 6
    assert gaps[1] - gaps[0] == pytest.approx(omniglot.BLANK, abs=20)


def test_letters_stand_on_one_line_and_some_hang_below_it() -> None:
    low = {letter: min(s[:, 1].min() for s in DRAWER[letter]) for letter in DRAWER}
    assert all(low[c] == 0 for c in omniglot.SMALL + omniglot.TALL + "i")
    tops = [max(s[:, 1].max() for s in DRAWER[c]) for c in omniglot.BELOW]
    assert np.ptp(tops) < 1e-9
    assert all(min(s[:, 0].min() for s in DRAWER[c]) == 0 for c in DRAWER)


def test_no_letter_is_drawn_twice_alike_but_all_stand_on_the_line() -> None:
    line = omniglot.compose("a" * 200, DRAWER, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(omniglot.compose("a" * 200, DRAWER, 1, np.random.default_rng(0)), line)
    assert (np.diff(line[:, 0]) == 0).mean() == 0
    line = line.reshape(200, 10, 3)
    height = np.ptp(line[:, :9, 1], axis=1)
    assert np.log(height).std() == pytest.approx(omniglot.SIZE, rel=0.2)  # 200 draws: 5 % standard error
    lean = (line[:, 0, 0] - line[:, 8, 0]) / height
    assert lean.std() == pytest.approx(omniglot.SLANT, rel=0.2)
    np.testing.assert_allclose(line[:, 8, 1], 0, atol=0.5)


def test_composed_lines_come_from_other_people_in_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(omniglot, "drawers", lambda _: list(range(20)))
    monkeypatch.setattr(omniglot, "compose", lambda text, who, *_: seen.append(who) or np.ones((3, 3)))
    parts = strokes._composed(archive(), Wanted(200, 60, 60), np.random.default_rng(0))
    assert [len(part) for part in parts] == [200, 60, 60]
    assert [set(seen[:200]), set(seen[200:260]), set(seen[260:])] == [set(range(16)), {16, 17}, {18, 19}]
    assert all(8 <= len(text) <= 12 for part in parts for text, *_ in part)


def nats(text: str, points: np.ndarray) -> float:
    """The negative log-likelihood of a line, by torch's distributions; points are offsets in pixels."""
    rho, std = torch.from_numpy(scribbles.RHO), torch.from_numpy(scribbles.STD)
    covariance = torch.diag_embed(std**2)
    covariance[..., 0, 1] = covariance[..., 1, 0] = rho * std.prod(-1)
    weights, means = torch.from_numpy(scribbles.WEIGHT), torch.from_numpy(scribbles.MEAN)
    total, character = 0.0, -1
    for k in range(1, len(points)):
        character += int(points[k - 1, 2])  # a lift of the pen: the next character
        c = scribbles.ALPHABET.index(text[character])
        density = MixtureSameFamily(Categorical(weights[c]), MultivariateNormal(means[c], covariance[c]))
        total -= float(density.log_prob(torch.from_numpy(points[k, :2])))
        total -= math.log(scribbles.LIFT if points[k, 2] else 1 - scribbles.LIFT)
    assert character == len(text) - 1
    return total


def test_the_known_likelihood_is_in_the_units_of_the_offsets() -> None:
    lines = load_lines("generated_strokes", Wanted(train=50, valid=4, test=6))
    part, n = lines.train, lines.train.lengths
    assert part.exact is not None
    steps = np.concatenate([p[1 : k + 1] for p, k in zip(part.points, n, strict=True)])
    np.testing.assert_allclose(steps[:, :2].std(0), 1, atol=1e-6)  # float32
    text = "".join(lines.alphabet[k] for k in part.texts[0, : part.letters[0]])
    expected = nats(text, part.points[0, : n[0] + 1] * [*lines.scale, 1]) - n[0] * np.log(lines.scale).sum()
    assert part.exact[0] == pytest.approx(expected, abs=1e-3)  # points are kept in float32


def test_offsets_and_places_undo_each_other() -> None:
    places, _ = scribbles.scribble("abc", np.random.default_rng(0))
    drawn = strokes.places(strokes.offsets(places))
    np.testing.assert_allclose(np.concatenate(drawn), places[:, :2])
    assert [len(s) for s in drawn] == np.diff([0, *np.flatnonzero(places[1:, 2]) + 2]).tolist()


def test_long_lines_are_cut_and_their_likelihood_with_them() -> None:
    whole = load_lines("generated_strokes", Wanted(20, 2, 2, 1, 3)).train
    cut = load_lines("generated_strokes", Wanted(20, 2, 2, 1, 3, points=10)).train
    assert cut.points.shape[1] == 11
    assert cut.lengths.tolist() == np.minimum(whole.lengths, 10).tolist()
    assert whole.exact is not None
    assert cut.exact is not None
    shift = (cut.exact - whole.exact) / whole.lengths  # of lines that are not cut: the units' alone
    assert np.ptp(shift[whole.lengths <= 10]) == pytest.approx(0, abs=1e-9)
    assert np.ptp(shift) > 0.1
