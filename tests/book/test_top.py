"""The top of a page and the notes at its margin: reading time, pages to read first, commands, origin."""

from pathlib import Path
from types import SimpleNamespace

import glossary
import nbformat
import pytest
import top
import yaml
from origin import KINDS, FromRole

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


def reading(*cells) -> int:
    return top.minutes(nbformat.v4.new_notebook(cells=list(cells)))


def test_reading_takes_longer_with_words_shown_code_equations_and_figures_but_not_with_folded_code():
    words = nbformat.v4.new_markdown_cell("word " * 400)
    code = nbformat.v4.new_code_cell("\n".join(["x = 1"] * 40))
    folded = nbformat.v4.new_code_cell("\n".join(["x = 1"] * 40), metadata={"tags": ["hide-input"]})
    equations = nbformat.v4.new_markdown_cell("```{math}\n:label: eq-1\na = b\n```\n" * 8)
    drawing = nbformat.v4.new_output("display_data", metadata={"lnlib": {"name": "a"}})
    figures = nbformat.v4.new_code_cell("draw()", outputs=[drawing] * 3, metadata={"tags": ["hide-input"]})
    assert reading(words) == 2
    assert reading(words, code) == 4
    assert reading(words, folded) == 2
    assert reading(words, equations) == 4
    assert reading(words, figures) == 3
    assert reading() == 1


def test_a_page_to_read_first_is_called_by_its_title():
    assert top.title("sec3_layer_normalization") == "3 Layer normalization"
    assert top.title("glossary") == "Glossary"


def test_the_commands_that_run_a_page_name_files_that_exist():
    text = top.run_line("sec2_background")
    for file in ("book/_ext/execute.py", "book/sec2_background.ipynb"):
        assert file in text
        assert (ROOT / file).is_file()


def said(text: str) -> tuple[list, list[str]]:
    """What the role makes of a text, and its warnings."""
    warnings: list[str] = []
    inliner = SimpleNamespace(
        reporter=SimpleNamespace(warning=lambda message, **_: warnings.append(message)),
        document=SimpleNamespace(settings=SimpleNamespace(env=None)),
    )
    found, _ = FromRole()("from", f"{{from}}`{text}`", text, 1, inliner)
    return found, warnings


@pytest.mark.parametrize("kind", KINDS)
def test_a_note_of_origin_names_its_kind_and_what_exactly(kind):
    (note,), warnings = said(f"{kind}: Section 3")
    assert note["classes"] == ["origin", f"origin-{kind}"]
    assert note.astext().strip() == f"{KINDS[kind]} Section 3"
    assert not warnings
    assert said(kind)[0][0].astext().strip() == KINDS[kind]


def test_an_unknown_origin_is_a_warning_which_fails_the_build():
    found, warnings = said("folklore: everybody")
    assert not found
    assert "folklore" in warnings[0]


def test_only_links_to_known_words_of_the_glossary_are_explained():
    link = '<a class="reference internal" href="glossary.html#term-{}">w</a>'
    other = '<a class="reference internal" href="sec2_background.html">w</a>'
    known = {"term-unit": "One row."}
    assert glossary.explain_terms(other + link.format("cell"), known) == other + link.format("cell")
    twice = glossary.explain_terms(link.format("unit") * 2, known)
    assert 'id="term-note-1"' in twice
    assert 'aria-describedby="term-note-2"' in twice
