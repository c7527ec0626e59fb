"""Section 6.2's pictures."""

import numpy as np
import pandas as pd

from lnbook.figures import plots
from lnbook.pages.sec6_2_attentive_reader import drawings


def curve(level: float) -> pd.DataFrame:
    update = np.array([10.0, 20.0, 30.0])
    mean = level - update / 10
    return pd.DataFrame({"update": update, "mean": mean, "low": mean - 1, "high": mean + 1})


def test_each_norm_has_a_line_of_its_own_in_its_color() -> None:
    norms = ("none", "batch", "batch everywhere", "layer")
    ax = drawings.errors({norm: curve(60) for norm in norms}, {"guess": 58.0}).axes[0]
    labelled = {str(line.get_label()): line for line in ax.lines}
    labelled = {label: line for label, line in labelled.items() if label[0] != "_"}
    assert list(labelled) == [drawings.LABELS[norm] for norm in norms]
    assert labelled["layer norm"].get_color() == plots.COLORS["layer"]
    batch, everywhere = (labelled[drawings.LABELS[n]] for n in ("batch", "batch everywhere"))
    assert batch.get_color() == everywhere.get_color()
    assert drawings.LINES["batch"] != drawings.LINES["batch everywhere"]
    assert [text.get_text() for text in ax.texts] == ["guess"]


def test_gains_have_a_panel_a_norm() -> None:
    fig = drawings.gains({n: {1.0: curve(60), 0.1: curve(50)} for n in ("batch", "layer")})
    assert [ax.get_title() for ax in fig.axes] == ["batch norm", "layer norm"]
    for ax in fig.axes:
        legend = ax.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["gain 1", "gain 0.1"]


def test_words_stand_in_their_order_within_the_width_and_the_most_attended_is_the_darkest() -> None:
    tokens = ["@entity3", "went", "to", "the", "@entity1", ".", "it", "rained", "."]
    weights = [0.5, 0, 0, 0.1, 0.3, 0, 0, 0.1, 0]
    (ax,) = drawings.attention([("a title", tokens, weights)], width=20).axes
    assert [text.get_text() for text in ax.texts] == tokens
    assert ax.get_title(loc="left") == "a title"
    places = [text.get_position() for text in ax.texts]
    assert [y for _, y in places] == sorted(y for _, y in places)
    for (x, _), token in zip(places, tokens, strict=True):
        assert len(token) / 2 <= x <= 20 - len(token) / 2
    shades = [patch.get_alpha() or 0.0 for patch in ax.patches]
    assert int(np.argmax(shades)) == 0
    assert shades[4] == 0.65 * 0.3 / 0.5
    assert shades[1] == 0
