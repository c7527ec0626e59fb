"""Words of data, of a run or of the ledger are text on a page, whatever they hold; none become HTML."""

import json
from pathlib import Path

import ledger
import nbformat
import pytest
import top
from bs4 import BeautifulSoup
from execute import Executed

from lnbook.explore.element import Element
from lnbook.ledger.report import Report
from lnbook.ledger.rules import Rule, Sentence
from lnbook.ledger.sentences import judge_sentence
from lnbook.ledger.tables import Table
from lnbook.ledger.verdicts import Measurement

HOSTILE = "<script>alert(1)</script> & \"two\" 'one' <img src=x onerror=alert(2)> &lt;b&gt;"


def words(html: str) -> str:
    """The text that a browser shows; fails if there is a script or an image in it."""
    found = BeautifulSoup(html, "html.parser")
    assert not found.find_all(["script", "img", "b"]), html
    assert not [e for e in found.find_all() if any(name.startswith("on") for name in e.attrs)], html
    return found.get_text("|")


def top_and_foot(folder: Path) -> str:
    run = dict.fromkeys(("lnlib", "torch", "python", "device", "scale"), HOSTILE)
    run |= {"executed": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "cores": 2}
    notebook = nbformat.from_dict({"metadata": {"lnlib": {"paper": HOSTILE, "run": run}}, "cells": []})
    (folder / HOSTILE.partition("/")[0]).mkdir()
    about = "page", notebook, Executed(folder / "page.ipynb", folder, True)
    return top.badge_line(*about) + top.run_line(*about)


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
        lambda _: ledger.sentence_strip(evidence()[0][1], evidence()[1]),
        lambda _: ledger.rule_strip(evidence()[0][0], evidence()[1]),
        top_and_foot,
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
