"""The reference of lnlib: its docstrings made ready for Sphinx's autodoc.

A docstring writes formulas between dollar signs and equations of the paper as "Eq. (3)"; autodoc reads
reStructuredText. Types in signatures are shown as the code has them, and link where they are ours.
"""

import re
from pkgutil import resolve_name
from textwrap import indent
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

CITED = r"\bEqs?\. (?=\(\d)((?:(?:-|, and |, | and )?\(\d+\))+)"


def as_rst(docstring: str) -> str:
    r"""Formulas and citations of equations as reStructuredText has them.

    >>> as_rst(r"Eqs. (3) and (5): $\bar a$.")
    'Equations :eq:`eq-3` and :eq:`eq-5`: :math:`\\bar a`.'
    """

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}.. math::\n\n" + indent(found[2], found[1] + "   ")

    def cited(found: re.Match[str]) -> str:
        word = "Equations " if found[0].startswith("Eqs") else "Equation "
        return word + re.sub(r"\((\d+)\)", r":eq:`eq-\1`", found[1])

    text = re.sub(r"^( *)\$\$(.+?)\$\$", block, docstring, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\$([^$]+)\$", lambda found: f":math:`{' '.join(found[1].split())}`", text)
    return re.sub(CITED, cited, text)


def prepare_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring ready for autodoc."""
    lines[:] = as_rst("\n".join(lines)).splitlines()


def skip_member(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a named tuple says of its fields."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None


def resolve(app: Sphinx, env: Any, node: addnodes.pending_xref, shown: nodes.Node) -> nodes.Node | None:
    """A type, or a part of lnlib or torch that has no entry, is shown without a link.

    Another name that does not exist stays unresolved, which fails the build.
    """
    if node.get("refdomain") != "py":
        return None
    if node["reftype"] != "class":
        try:
            resolve_name(node["reftarget"])
        except (ImportError, AttributeError, ValueError):
            return None
    return shown


def flat_signatures(body: str) -> str:
    """Write the lines of a signature, which Sphinx makes a list inside a term, as lines.

    >>> flat_signatures('(<dl>\\n<dd><em class="sig-param">a</em>, </dd>\\n</dl>\\n)')
    '(<span class="sig-line"><em class="sig-param">a</em>, </span>)'
    """
    listed = r'<dl>\s*((?:<dd><em class="sig-param">.*?</dd>\s*)+)</dl>\s*'
    line = re.compile(r"<dd>(.*?)</dd>\s*", re.DOTALL)
    return re.sub(listed, lambda found: line.sub(r'<span class="sig-line">\1</span>', found[1]), body)
