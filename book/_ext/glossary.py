"""Glossary words explain themselves: their definition shows while the pointer or the focus is on them.

It is written into the page when the page is made. No script shows it; lnlib.css does, and lnlib.js lets the
Escape key put it away.
"""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

PAGE = "book/glossary"
LINK = r'<a class="reference internal" href="glossary\.html#(term-[\w-]+)">.*?</a>'


def definitions(app: Sphinx) -> dict[str, str]:
    """The definition of each word, by the id of its entry: one run of HTML without links or paragraphs."""
    found = {}
    for item in app.env.get_doctree(PAGE).findall(nodes.definition_list_item):
        definition = next(item.findall(nodes.definition))
        for link in list(definition.findall(pending_xref)):
            link.replace_self(nodes.inline("", link.astext()))
        paragraphs = (app.builder.render_partial(p)["fragment"] for p in definition.findall(nodes.paragraph))
        text = " ".join(re.sub(r"</?p[^>]*>", "", p).strip() for p in paragraphs)
        found |= {name: text for term in item.findall(nodes.term) for name in term["ids"]}
    return found


def explain_terms(body: str, known: Mapping[str, str]) -> str:
    """Put the definition beside each link to the glossary in a page's HTML.

    >>> link = '<a class="reference internal" href="glossary.html#term-unit">unit</a>'
    >>> explain_terms(link, {"term-unit": "One row."}).removesuffix("</span>").split("</a>")[1]
    '<span class="term-note" id="term-note-1" role="tooltip">One row.</span>'
    """
    numbers = count(1)

    def with_note(link: re.Match[str]) -> str:
        name = f"term-note-{next(numbers)}"
        described = link[0].replace("<a ", f'<a aria-describedby="{name}" ', 1)
        note = f'<span class="term-note" id="{name}" role="tooltip">{known[link[1]]}</span>'
        return f'<span class="term">{described}{note}</span>'

    return re.sub(LINK, with_note, body, flags=re.DOTALL)


def add_definitions(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
    """Explain the glossary words of one page."""
    if "body" in context and page != PAGE and "glossary.html#term-" in context["body"]:
        if not hasattr(app, "lnlib_definitions"):
            app.lnlib_definitions = definitions(app)
        context["body"] = explain_terms(context["body"], app.lnlib_definitions)
        if 'class="math' in context["body"]:  # a definition may bring the only formulas of a page
            app.env.get_domain("math").data["has_equations"][page] = True
