"""Equation numbers: the paper's for labels `eq-<number>`; chapter and letter for the book's own."""

import re
from string import ascii_lowercase

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
