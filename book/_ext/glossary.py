"""Glossary words explain themselves: a link to one carries its definition, which browsers show on it."""

from docutils import nodes
from sphinx.application import Sphinx

PAGE, ENTRY = "book/glossary", "glossary.html#term-"


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
    """Title each link to the glossary with the definition of its word."""
    links = [link for link in doctree.findall(nodes.reference) if ENTRY in link.get("refuri", "")]
    known = definitions(app) if links else {}
    for link in links:
        link["reftitle"] = known[link["refuri"].partition("#")[2]]
