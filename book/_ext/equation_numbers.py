"""Equation numbers: the paper's for labels `eq-<number>`; chapter and letter for the book's own."""

import re
from collections import defaultdict
from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Replace Sphinx's running numbers, in the page and where `{eq}` looks them up.

    A label `eq-12` shows as (12), as in the paper. Another label in chapter 3 shows as (3a), (3b), ...
    """
    docname = app.env.docname
    chapter = re.search(r"sec(\d+)", docname)
    letters = iter(ascii_lowercase)
    known = app.env.get_domain("math").equations
    for block in doctree.findall(nodes.math_block):
        if not block.get("label"):
            continue
        of_paper = re.fullmatch(r"eq-(\d+)", block["label"])
        number = of_paper[1] if of_paper else f"{chapter[1] if chapter else ''}{next(letters)}"
        block["number"] = number
        known[block["label"]] = (docname, number)


def let_the_search_find_them(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Enter all equations into the search index, so that it finds each by its number, first.

    Sphinx would take entries from the pages, but forgets those of pages that a build does not write anew, and
    its index has no public way to add any; hence `_index_entries`.
    """
    entries: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for label, (docname, number) in app.env.get_domain("math").equations.items():
        place = nodes.make_id(f"equation-{label}")
        spelled = (f"Equation {number}", f"Equation ({number})", f"Eq. {number}")
        entries[docname] |= {(words, place, "main") for words in spelled}
    if indexer := getattr(app.builder, "indexer", None):
        for docname, found in entries.items():
            indexer._index_entries[docname] = sorted(found.union(indexer._index_entries.get(docname, [])))
    return []
