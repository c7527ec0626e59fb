"""Equation numbers: the paper's. The book's own equations have none."""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Give an equation labelled `eq-12` the paper's number, in `{eq}` too, and first in the search."""
    known = app.env.get_domain("math").equations
    for block in list(doctree.findall(nodes.math_block)):
        if label := block.get("label"):
            number = block["number"] = label.removeprefix("eq-")
            known[label] = (app.env.docname, number)
            place = nodes.make_id(f"equation-{label}")
            spelled = f"Equation {number}", f"Equation ({number})", f"Eq. {number}"
            entries = [("single", words, place, "main", None) for words in spelled]
            block.parent.insert(block.parent.index(block), addnodes.index(entries=entries))
