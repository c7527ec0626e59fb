"""The index of the book: where each word of the glossary and each equation occurs, by the roles in prose."""

import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from digest import BOOK
from top import title

EQUATIONS = [f"eq-{n}" for n in range(1, 36)]  # the paper's
SAID = {  # role -> where a page uses it: the entry that it means
    "term": r"\{term\}`(?:[^`]*<)?([^`>]+)>?`",
    "eq": r"(?::label: |\{eq\}`(?:[^`]*<)?)(eq-\d+)\b",
}


def words() -> list[str]:
    """The entries of the glossary, sorted."""
    glossary = (BOOK / "glossary.md").read_text(encoding="utf-8").partition(":::{glossary}")[2]
    return sorted(re.findall(r"^(\w.*)$", glossary, flags=re.MULTILINE), key=str.lower)


def prose(source: Path) -> str:
    """The text of a page, without its code cells."""
    if source.suffix == ".md":
        return source.read_text(encoding="utf-8")
    cells = nbformat.read(source, as_version=4).cells
    return "\n".join(c.source for c in cells if c.cell_type == "markdown")


def occurrences(role: str, entries: Iterable[str], sources: Iterable[Path]) -> dict[str, list[str]]:
    """The pages that mention each entry, in the order of the sources."""
    found: dict[str, list[str]] = {entry: [] for entry in entries}
    said = {page.stem: re.findall(SAID[role], prose(page)) for page in sources}
    for page, names in said.items():
        here = {" ".join(name.split()).lower() for name in names}
        for entry in found:
            found[entry] += [page] if entry.lower() in here else []
    return found


def listing(role: str, found: dict[str, list[str]]) -> str:
    """MyST text: a list of the entries, each with links to its pages."""
    lines = []
    for entry, pages in found.items():
        links = ", ".join(f"{{doc}}`{_short(page)} <{page}>`" for page in pages)
        lines.append(
            f"- {'Equation ' if role == 'eq' else ''}{{{role}}}`{entry}`{': ' if links else ''}{links}"
        )
    return "\n".join(lines)


def _short(page: str) -> str:
    """The number of a section; else what the page is about, as in its file's name; else its title."""
    whole = title(page)
    if numbered := re.match(r"\d+(\.\d+)*", whole):
        return numbered[0]
    about = re.match(r"(?:appendix|beyond)_(\w+)", page)
    return about[1].replace("_", " ") if about else whole


class LookupDirective(SphinxDirective):
    """`{lookup} term` or `{lookup} eq`: the words or the equations, each with the pages that mention it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (role,) = self.arguments
        order = [Path(name).name for name in self.config.external_site_map]
        files = (BOOK / f"{page}{suffix}" for page in order for suffix in (".ipynb", ".md"))
        left_out = {"lookup", "glossary"} if role == "term" else {"lookup"}
        sources = [file for file in files if file.is_file() and file.stem not in left_out]
        for source in sources:
            self.env.note_dependency(str(source))
        found = occurrences(role, words() if role == "term" else EQUATIONS, sources)
        return [nodes.container("", *self.parse_text_to_nodes(listing(role, found)), classes=["lookup"])]
