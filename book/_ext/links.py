"""What leads from running text to a definition: words of the glossary, equations' numbers, names of lnlib."""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PAGE, ENTRY = "book/glossary", "glossary.html#term-"
LINKED = (nodes.reference, nodes.title, addnodes.pending_xref)  # where a link of ours would be too much


def definitions(app: Sphinx) -> dict[str, str]:
    """The definition of each word as plain text, by the id of its entry."""
    entries = app.env.get_doctree(PAGE).findall(nodes.definition_list_item)
    return {
        name: " ".join(next(entry.findall(nodes.definition)).astext().split())
        for entry in entries
        for term in entry.findall(nodes.term)
        for name in term["ids"]
    }


def explain_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Title each link to the glossary with the definition of its word, which browsers show on it."""
    links = [link for link in doctree.findall(nodes.reference) if ENTRY in link.get("refuri", "")]
    known = definitions(app) if links else {}
    for link in links:
        link["reftitle"] = known[link["refuri"].partition("#")[2]]


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Give an equation labelled `eq-12` the paper's number, in `{eq}` too, and first in the search.

    The book's own equations have no number.
    """
    known = app.env.get_domain("math").equations
    for block in list(doctree.findall(nodes.math_block)):
        if label := block.get("label"):
            number = block["number"] = label.removeprefix("eq-")
            known[label] = (app.env.docname, number)
            place = nodes.make_id(f"equation-{label}")
            spelled = f"Equation {number}", f"Equation ({number})", f"Eq. {number}"
            entries = [("single", words, place, "main", None) for words in spelled]
            block.parent.insert(block.parent.index(block), addnodes.index(entries=entries))


def find_all_entries(app: Sphinx) -> list[tuple[str, dict, str]]:
    """Index again the pages that a build does not write: of these Sphinx forgets the entries."""
    for page in sorted(app.env.found_docs - app.builder.indexer._index_entries.keys()):
        app.builder.index_page(page, app.env.get_doctree(page), app.env.longtitles[page].astext())
    return []


def link_names(doctree: nodes.document, page: str) -> None:
    """Link names like `lnlib.layer_norm`, written as code in running text, to the reference."""
    for code in list(doctree.findall(nodes.literal)):
        name = code.astext().removesuffix("()")
        if re.fullmatch(r"lnlib(\.\w+)+", name) and not isinstance(code.parent, LINKED):
            link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=name, refdoc=page)
            code.replace_self(link)
            link += code
