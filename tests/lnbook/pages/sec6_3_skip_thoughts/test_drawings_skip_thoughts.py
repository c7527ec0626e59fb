"""Section 6.3's pictures draw what they are given."""

import pandas as pd

from lnbook.pages.sec6_3_skip_thoughts import drawings as skip_thoughts

CURVE = pd.DataFrame({"update": [10, 20], "mean": [0.5, 0.6], "low": [0.4, 0.5], "high": [0.6, 0.7]})
PAIR = {"none": CURVE, "layer": CURVE}
FLAT = {
    "bag": {"mr_accuracy": 0.7, "sick_pearson": 0.4},
    "random": {"mr_accuracy": 0.65, "sick_pearson": 0.3},
}


def test_losses_have_a_panel_for_each_start_and_a_band_for_each_norm() -> None:
    fig = skip_thoughts.losses({"wide": PAIR, "narrow": PAIR})
    assert [ax.get_title() for ax in fig.axes] == ["wide", "narrow"]
    assert all(len(ax.lines) == len(ax.collections) == 2 for ax in fig.axes)
    assert len(skip_thoughts.losses({"wide": PAIR}).axes) == 1


def test_scores_are_per_cent_but_for_the_correlation() -> None:
    fig = skip_thoughts.scores({"sick_pearson": PAIR, "mr_accuracy": PAIR}, FLAT)
    sick, mr, *rest = fig.axes
    assert sick.lines[0].get_ydata()[-1] == 0.6
    assert mr.lines[0].get_ydata()[-1] == 60.0
    assert [line.get_ydata()[0] for line in mr.lines[2:]] == [70.0, 65.0]
    assert not any(ax.axison for ax in rest)
    assert [t.get_text() for t in rest[-1].get_legend().get_texts()] == [
        "no norm",
        "layer norm",
        "bag of words",
        "random encoder",
    ]


def test_the_words_for_scores_name_every_end() -> None:
    told = skip_thoughts.scores_in_words({"sick_pearson": PAIR, "mr_accuracy": PAIR}, FLAT)
    assert "SICK (Pearson) 0.60, 0.60, 0.40, 0.30; MR 0.60, 0.60, 0.70, 0.65." in told
