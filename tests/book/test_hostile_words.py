"""Words of data, of a run or of the ledger are text on a page, whatever they hold; none become HTML."""

import io
import json
from pathlib import Path

import ledger
import nbformat
import numpy as np
import pytest
import top
from bs4 import BeautifulSoup
from execute import Executed

from lnbook.data.boxes import Boxes
from lnbook.explore.element import Element
from lnbook.ledger.report import Report
from lnbook.ledger.rules import Rule, Sentence
from lnbook.ledger.sentences import judge_sentence
from lnbook.ledger.tables import Table
from lnbook.ledger.verdicts import Measurement
from lnbook.pages.sec6_1_order_embeddings import drawings as order
from lnbook.pages.sec6_2_attentive_reader import drawings as reader
from lnbook.pages.sec6_5_handwriting import drawings as handwriting

HOSTILE = "<script>alert(1)</script> & \"two\" 'one' <img src=x onerror=alert(2)> &lt;b&gt;"


def words(html: str) -> str:
    """The text that a browser shows; fails if there is a script or an image in it."""
    found = BeautifulSoup(html, "html.parser")
    assert not found.find_all(["script", "img", "b"]), html
    assert not [e for e in found.find_all() if any(name.startswith("on") for name in e.attrs)], html
    return found.get_text("|")


def badge_line(folder: Path) -> str:
    """The line under a title, with nothing but hostile words."""
    run = dict.fromkeys(("lnlib", "torch", "python", "device", "scale"), HOSTILE)
    run |= {"executed": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "cores": 2}
    notebook = nbformat.from_dict({"metadata": {"lnlib": {"paper": HOSTILE, "run": run}}, "cells": []})
    (folder / HOSTILE.partition("/")[0]).mkdir()
    return top.badge_line("page", notebook, Executed(folder / "page.ipynb", folder, True))


def evidence() -> tuple[list, Report]:
    name = HOSTILE.replace(" ", "")
    held = Rule(name, "3", HOSTILE, HOSTILE, "faq", HOSTILE, "< 1", "computed", sentence=HOSTILE)
    found = {name: Measurement(name, 1, 0.5, 1.5)}
    judged = judge_sentence(Sentence(HOSTILE, "3", HOSTILE, HOSTILE), [held], found)
    return [held, judged], Report((judged,), (held,), found, {name: HOSTILE})


@pytest.mark.parametrize(
    "html",
    [
        lambda _: Table([HOSTILE, "b"], [[HOSTILE, "1"]])._repr_html_(),
        lambda _: ledger.html_table(HOSTILE, "abc", [ledger.sentence_row(evidence()[0][1], evidence()[1])]),
        lambda _: ledger.html_table(HOSTILE, "abcd", [ledger.rule_row(evidence()[0][0], evidence()[1])]),
        badge_line,
    ],
)
def test_a_helper_that_makes_html_shows_the_words_as_they_are(tmp_path: Path, html) -> None:
    assert HOSTILE in words(html(tmp_path))


def test_an_interactive_figure_carries_words_as_text_and_state_as_data() -> None:
    element = Element("axis_flip", {"words": HOSTILE}, HOSTILE, [HOSTILE], [[HOSTILE, HOSTILE]])
    shown, script = element.to_html().split("<main>")[1].rsplit("<script>(function", 1)
    assert words(shown).count(HOSTILE) == 4
    assert "alert" not in script
    state = json.loads(BeautifulSoup(shown, "html.parser").find(class_="lnlib-figure")["data-state"])
    assert state == {"words": HOSTILE}


DOLLARS = r"$\foo$ and 5"


def test_dollars_in_data_are_no_formulas() -> None:
    box = Boxes(4, 4, np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([0]))
    stroke = np.array([[0.0, 0.0], [1.0, 1.0]])
    for figure in (
        order.pictures([box], ["dog"], [DOLLARS]),
        reader.attention([(DOLLARS, DOLLARS.split(), [0.2] * len(DOLLARS.split()))]),
        handwriting.written([(DOLLARS, [stroke])]),
    ):
        figure.savefig(io.BytesIO(), format="svg")
