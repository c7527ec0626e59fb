"""The top of a page and the notes at its margin: reading time, pages to read first, commands, origin."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import glossary
import nbformat
import pytest
import top
import yaml
from directives import FromRole

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_page_names_the_pages_it_builds_on_and_they_stand_before_it(path):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    order = [Path(c["file"]).name for part in toc["parts"] for c in part["chapters"]]
    lnlib = nbformat.read(path, as_version=4).metadata.lnlib
    assert "needs" in lnlib, f'{path.name}: "needs": [pages to read first] in the metadata of lnlib, or []'
    assert len(lnlib.needs) <= 3, "the pages before these are theirs to name"
    for page in lnlib.needs:
        assert order.index(page) < order.index(path.stem), f"{path.stem} stands before {page}"


def test_a_page_to_read_first_is_called_by_its_title():
    assert top.title("sec3_layer_normalization") == "3 Layer normalization"
    assert top.title("glossary") == "Glossary"


def said(text: str) -> tuple[list, list[str]]:
    """What the role makes of a text, and its warnings."""
    warnings: list[str] = []
    reporter = SimpleNamespace(warning=lambda message, **_: warnings.append(message))
    inliner = SimpleNamespace(reporter=reporter, document=None)
    return FromRole()("from", f"{{from}}`{text}`", text, 1, inliner)[0], warnings


def test_a_note_of_origin_names_its_kind_and_what_exactly_and_an_unknown_one_fails_the_build():
    (note,), warnings = said("paper: Section 3")
    assert note["classes"] == ["origin", "origin-paper"]
    assert note.astext().strip() == "from the paper Section 3"
    assert not warnings
    assert said("derived")[0][0].astext().strip() == "derived here"
    assert said("folklore: everybody") == ([], [ANY])


def test_only_links_to_known_words_of_the_glossary_are_explained():
    link = '<a class="reference internal" href="glossary.html#term-{}">w</a>'
    other = '<a class="reference internal" href="sec2_background.html">w</a>'
    known = {"term-unit": "One row."}
    assert glossary.explain_terms(other + link.format("cell"), known) == other + link.format("cell")
    twice = glossary.explain_terms(link.format("unit") * 2, known)
    assert 'id="term-note-1"' in twice
    assert 'aria-describedby="term-note-2"' in twice
