"""Equation numbers: the paper's for labels `eq-<number>`; chapter and letter for the book's own."""

import re
from string import ascii_lowercase

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Replace Sphinx's running numbers, in the page and where `{eq}` looks them up.

    A label `eq-12` shows as (12), as in the paper. Another label in chapter 3 shows as (3a), (3b), ...
    The search finds each by its number, first.
    """
    docname = app.env.docname
    chapter = re.search(r"sec(\d+)", docname)
    letters = iter(ascii_lowercase)
    known = app.env.get_domain("math").equations
    for block in list(doctree.findall(nodes.math_block)):
        if not block.get("label"):
            continue
        of_paper = re.fullmatch(r"eq-(\d+)", block["label"])
        number = of_paper[1] if of_paper else f"{chapter[1] if chapter else ''}{next(letters)}"
        block["number"] = number
        known[block["label"]] = (docname, number)
        place = nodes.make_id(f"equation-{block['label']}")
        spelled = (f"Equation {number}", f"Equation ({number})", f"Eq. {number}")
        found = addnodes.index(entries=[("single", words, place, "main", None) for words in spelled])
        block.parent.insert(block.parent.index(block), found)
