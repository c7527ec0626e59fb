"""The reference of lnlib: everything public is there once, by the name that people use, and reads well."""

from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import reference
from bs4 import BeautifulSoup
from built import html

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGES = sorted(BOOK.glob("api*.md"))
# Whose `__all__` a reader may rely on; what several of them export is known by the name that comes first.
PACKAGES = ("norms", "rnn", "rnn.diagnostics", "glm", "glm.families", "fisher", "invariance", "equations")
MODULES = ("lnlib", *(f"lnlib.{package}" for package in PACKAGES))
MARKUP = (":math:", ":eq:", ":func:", ":class:", ":mod:", ":data:", "``", "$", "Args:", "jaxtyping")


@cache
def article(page: str) -> BeautifulSoup:
    return BeautifulSoup((html() / "book" / f"{page}.html").read_text("utf-8"), "html.parser").article


@pytest.mark.pages
def test_the_pages_define_every_public_name_once():
    tags = (tag for page in PAGES for tag in article(page.stem).select("dt[id], [id^='module-']"))
    ids = Counter(tag["id"].removeprefix("module-") for tag in tags)
    public: dict[tuple[str, int], str] = {}
    for module in MODULES:
        exported = import_module(module)
        for name in exported.__all__:
            public.setdefault((name, id(getattr(exported, name))), f"{module}.{name}")
    wanted = {*public.values(), *MODULES}
    assert {"lnlib.layer_norm", "lnlib.LSTM", "lnlib.fisher.fisher", "lnlib.equations.eq35"} <= wanted
    assert {name: ids[name] for name in wanted} == dict.fromkeys(wanted, 1), "list it in book/api_*.md"


@pytest.mark.pages
def test_no_docstring_shows_its_markup():
    for page in PAGES:
        text = article(page.stem).get_text()
        assert not [mark for mark in MARKUP if mark in text], page.stem


@pytest.mark.pages
def test_the_chapters_link_to_the_reference_and_it_to_them():
    assert article("sec3_1_recurrent").select("a[href^='api_rnn.html#']")
    assert article("api_norms").select("a[href='sec3_layer_normalization.html#equation-eq-3']")


def test_a_formula_of_its_own_and_one_over_two_lines_are_formulas():
    assert reference.as_rst("  $$a\n  b$$\n") == "  .. math::\n\n     a\n       b\n"
    assert reference.as_rst("is $a\n  + b$.") == "is :math:`a + b`."
    assert reference.as_rst("Eqs. (32)-(34), Eq. (8), left") == (
        "Equations :eq:`eq-32`-:eq:`eq-34`, Equation :eq:`eq-8`, left"
    )
